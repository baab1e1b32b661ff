#include "measurement/input/line_reader.hpp"

#include <utility>

namespace prophecy::measurement {

void LineReader::on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) {
  const std::string_view all = bytes;
  while (!bytes.empty()) {
    const auto taken = static_cast<std::uint64_t>(bytes.data() - all.data());
    if (line_.empty() && !skipping_) line_offset_ = offset + (moves ? taken : 0);
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!skipping_ && line_.size() + piece.size() > kLineBytesMax) {
      on_line_damage({line_offset_, "a line has more than 64 KiB"});
      line_.clear();
      skipping_ = true;
    }
    if (end == std::string_view::npos) {
      if (!skipping_) line_.append(piece);
      return;
    }
    bytes.remove_prefix(end + 1);
    if (skipping_) {
      skipping_ = false;
    } else if (line_.empty()) {
      take_line(piece, line_offset_);
    } else {
      line_.append(piece);
      take_line(line_, line_offset_);
      line_.clear();
    }
  }
}

void LineReader::take_line(std::string_view line, std::uint64_t offset) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.empty()) on_line(line, offset);
}

void LineReader::on_gap(Damage damage) {
  on_line_damage(std::move(damage));
  line_.clear();
  skipping_ = true;
}

void LineReader::finish() {
  if (!line_.empty()) on_line_damage({line_offset_, "the last line has no end"});
  line_.clear();
}

}  // namespace prophecy::measurement
