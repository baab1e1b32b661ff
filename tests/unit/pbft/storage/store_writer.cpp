// A process that can be killed: it commits a numbered stream to a store, and writes each number
// that is complete to its standard output, as 8 bytes.
//
// usage: store_writer FOLDER kept FIRST    numbers from FIRST on, until it is killed
//        store_writer FOLDER limited       with files of at most 256 KiB, until commits have failed
//        store_writer FOLDER hold          opens it, says 0, and waits to be killed
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>

#include <sys/resource.h>
#include <unistd.h>

#include "pbft/storage/store.hpp"
#include "writer_stream.hpp"

namespace prophecy::pbft::test {
namespace {

void tell(std::uint64_t number) {
  if (::write(STDOUT_FILENO, &number, sizeof number) != sizeof number) std::abort();
}

class Stream {
 public:
  Stream(Store& store, std::uint64_t first) : store_(store), next_(first) {}

  void begin() {
    for (int i = 0; i < kInFlight; ++i)
      commit();
  }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  static constexpr int kInFlight = 8;

  void commit() {
    const std::uint64_t number = next_++;
    store_.commit(numbered(number, kKept, size_of(number)), [this, number](Result<> outcome) {
      if (outcome) {
        // After a failure no commit may succeed.
        if (failed_ > 0) std::abort();
        tell(number);
      } else {
        ++failed_;
      }
      if (failed_ < 3 * kInFlight) commit();
    });
  }

  Store& store_;
  std::uint64_t next_;
  int failed_ = 0;
};

int run(const std::string& folder, const std::string& what, std::uint64_t first) {
  if (what == "limited") {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{256 * 1024, 256 * 1024};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  }
  boost::asio::io_context io;
  auto store = Store::open({folder, SyncPolicy::always}, identity_of(1), io.get_executor());
  if (!store) {
    std::cerr << store.error().message << "\n";
    return 1;
  }
  if (what == "hold") {
    tell(0);
    ::pause();
  }
  Stream stream(**store, first);
  stream.begin();
  io.run();
  return stream.failed() > 0 ? 0 : 1;
}

}  // namespace
}  // namespace prophecy::pbft::test

int main(int count, char** arguments) {
  if (count < 3) return 2;
  return prophecy::pbft::test::run(arguments[1], arguments[2],
                                   count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 1);
}
