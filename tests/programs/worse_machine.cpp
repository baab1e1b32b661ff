// Preloaded into a program by tests (LD_PRELOAD), gives it a worse machine:
//
//   PROPHECY_LOSS_PERCENT  so many of the segments that reach its TCP sockets are dropped, by a
//                          filter in the kernel, as a network would lose them: TCP sends them again
//   PROPHECY_STALL_FILE    while this file exists, nothing reaches the disk: fsync() and its kin
//                          return only when it is gone
//
// In place of netem and of a disk that hangs, which need modules of the kernel, and root.
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));  // NOLINT
}

// Accepted sockets inherit the filter of the one that listens.
void lose_segments(int socket) {
  static const char* const percent = std::getenv("PROPHECY_LOSS_PERCENT");
  if (percent == nullptr) return;
  const auto below = static_cast<__u32>(std::atof(percent) / 100 * 4294967296.0);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<__u32>(SKF_AD_OFF + SKF_AD_RANDOM)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, below, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  };
  const sock_fprog filter{4, program};
  if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) std::abort();
}

void wait_for_disk() {
  static const char* const file = std::getenv("PROPHECY_STALL_FILE");
  if (file == nullptr) return;
  const timespec pause{0, 2'000'000};
  while (access(file, F_OK) == 0)
    nanosleep(&pause, nullptr);
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) {
  static auto* const real = next<int(int, int, int)>("socket");
  const int made = real(domain, type, protocol);
  const bool is_tcp = domain == AF_INET && (type & 0xf) == SOCK_STREAM;
  if (made >= 0 && is_tcp) lose_segments(made);
  return made;
}

int fsync(int file) {
  static auto* const real = next<int(int)>("fsync");
  wait_for_disk();
  return real(file);
}

int fdatasync(int file) {
  static auto* const real = next<int(int)>("fdatasync");
  wait_for_disk();
  return real(file);
}

int syncfs(int file) {
  static auto* const real = next<int(int)>("syncfs");
  wait_for_disk();
  return real(file);
}

int sync_file_range(int file, off64_t offset, off64_t count, unsigned flags) {
  static auto* const real = next<int(int, off64_t, off64_t, unsigned)>("sync_file_range");
  wait_for_disk();
  return real(file, offset, count, flags);
}

}  // extern "C"
