// `Damage` says where an input is not what its format promises. Readers report it and go on with
// the next record; what is damaged never becomes an answer, so that no transition comes of it.
#pragma once

#include <cstdint>
#include <string>

namespace prophecy::measurement {

struct Damage {
  // In the file as it lies on the disk. Inside a compressed file: where the gzip member begins.
  std::uint64_t offset = 0;
  std::string problem;  // one line, without a final full stop
};

}  // namespace prophecy::measurement
