// `ContentReader` reads the content of one input from its beginning to its end.
#pragma once

#include <cstdint>

#include "measurement/input/archive_bytes.hpp"

namespace prophecy::measurement {

class ContentReader : public ArchiveSink {
 public:
  // The input is at its end.
  virtual void finish() = 0;
  // Records, lines or entries so far, with those that are damaged or no answers.
  [[nodiscard]] virtual std::uint64_t records() const = 0;
};

}  // namespace prophecy::measurement
