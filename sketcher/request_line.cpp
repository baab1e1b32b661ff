#include "sketcher/request_line.hpp"

namespace prophecy::sketcher {
namespace {

// Everything up to `end`, which is taken away as well.
std::string_view take(std::string_view& text, std::string_view end) {
  const std::size_t size = text.find(end);
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size == std::string_view::npos ? text.size() : size + end.size());
  return taken;
}

}  // namespace

RequestLine parse_request_line(std::string_view head) {
  RequestLine line;
  std::string_view first = take(head, "\r\n");
  line.method = take(first, " ");
  line.target = take(first, " ");
  constexpr std::string_view kHost = "host: ";
  while (!head.empty()) {
    const std::string_view field = take(head, "\r\n");
    if (field.empty()) break;
    if (field.starts_with(kHost)) line.authority = field.substr(kHost.size());
  }
  return line;
}

}  // namespace prophecy::sketcher
