#include "consistency/origins/bodies.hpp"

namespace prophecy::consistency {

std::string large_body(std::string_view text) {
  std::string body;
  body.reserve(kLargeBytes + text.size() + 1);
  while (body.size() < kLargeBytes) {
    body += text;
    body += '|';
  }
  body.resize(kLargeBytes);
  return body;
}

std::optional<std::string> text_of_part(std::string_view part, std::uint64_t first) {
  std::size_t begin = 0;
  if (first > 0) {
    begin = part.find('|');
    if (begin == std::string_view::npos) return std::nullopt;
    ++begin;
  }
  const std::size_t end = part.find('|', begin);
  if (end == std::string_view::npos) return std::nullopt;
  std::string text(part.substr(begin, end - begin));
  if (first > kLargeBytes || large_body(text).compare(first, part.size(), part) != 0) {
    return std::nullopt;
  }
  return text;
}

}  // namespace prophecy::consistency
