#include "pbft/services/state/last_words.hpp"

#include <unistd.h>

namespace prophecy::pbft {

bool LastWords::take(int fd) {
  char room[4096];
  for (std::size_t taken = 0; taken < kBytesAtOnceMax;) {
    const ssize_t size = ::read(fd, room, sizeof room);
    if (size < 0) return true;  // nothing more yet
    if (size == 0) return false;
    taken += static_cast<std::size_t>(size);
    last_.append(room, static_cast<std::size_t>(size));
    if (last_.size() > kBytesMax) last_.erase(0, last_.size() - kBytesMax);
  }
  return true;
}

std::string LastWords::text() const {
  std::string line = last_;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
    line.pop_back();
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace prophecy::pbft
