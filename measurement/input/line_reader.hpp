// `LineReader` cuts an input into lines for the class that derives from it. A line that is too long
// is damage, and so is a last one without an end, which may be cut anywhere.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "measurement/input/content_reader.hpp"

namespace prophecy::measurement {

constexpr std::size_t kLineBytesMax = 64 << 10;

class LineReader : public ContentReader {
 public:
  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override;
  void on_gap(Damage damage) override;
  void finish() override;

 protected:
  // Without its end, and not empty.
  virtual void on_line(std::string_view line, std::uint64_t offset) = 0;
  virtual void on_line_damage(Damage damage) = 0;

 private:
  void take_line(std::string_view line, std::uint64_t offset);

  std::string line_;  // what came of it, if it is in several pieces
  std::uint64_t line_offset_ = 0;
  bool skipping_ = false;  // the rest of a line that is too long, or cut
};

}  // namespace prophecy::measurement
