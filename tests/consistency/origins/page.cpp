#include "consistency/origins/page.hpp"

#include <algorithm>
#include <charconv>

#include "base/assert.hpp"
#include "consistency/origins/bodies.hpp"

namespace prophecy::consistency {
namespace {

// Of large answers, so that one agent alone sends the result (pbft/core/state/always_full.hpp).
constexpr std::size_t kPaddingBytes = 200;

std::string_view field_of(std::string_view head, std::string_view name) {
  const std::size_t begin = head.find(name);
  if (begin == std::string_view::npos) return {};
  const std::size_t value = begin + name.size();
  return head.substr(value, head.find('\r', value) - value);
}

std::optional<PageRequest::Range> parse_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit)) return std::nullopt;
  PageRequest::Range range;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data() + kUnit.size(), end, range.first);
  ASSERT(first.ec == std::errc{} && first.ptr != end);
  const auto last = std::from_chars(first.ptr + 1, end, range.last);
  ASSERT(last.ec == std::errc{} && range.first <= range.last);
  return range;
}

}  // namespace

PageRequest parse_page_request(std::string_view wire) {
  const std::size_t head_end = wire.find("\r\n\r\n");
  ASSERT(head_end != std::string_view::npos);
  const std::string_view head = wire.substr(0, head_end + 2);
  const std::size_t space = head.find(' ');
  const std::string_view target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  PageRequest request;
  request.is_head = head.starts_with("HEAD ");
  request.is_write = !request.is_head && !head.starts_with("GET ");
  request.agent = field_of(head, "user-agent: ");
  request.address = field_of(head, "x-forwarded-for: ");
  request.value = wire.substr(head_end + 4);
  request.range = parse_range(field_of(head, "\r\nrange: "));
  const auto named =
      std::find(kPageTargets.begin() + 1, kPageTargets.end(), target.substr(0, target.find('?')));
  if (named != kPageTargets.end()) {
    request.page = static_cast<Page>(named - kPageTargets.begin());
  } else {
    std::from_chars(target.data() + 1, target.data() + target.size(), request.key);
  }
  return request;
}

http::Response PageAnswer::head(const PageRequest& request) const {
  http::Response response;
  response.status = status;
  response.fields.add("content-type", "text/plain");
  if (!cookie.empty()) response.fields.add("set-cookie", cookie);
  if (varies) response.fields.add("vary", "User-Agent");
  if (request.is_head) response.fields.add("x-text", text);
  if (is_large) response.fields.add("x-padding", std::string(kPaddingBytes, '.'));
  const std::size_t bytes = is_large ? kLargeBytes : text.size();
  const bool is_part = request.range && is_large && status == 200 && !ignores_range;
  if (is_part) {
    const auto& [first, last] = *request.range;
    response.status = 206;
    response.fields.add("content-range", "bytes " + std::to_string(first) + "-" +
                                             std::to_string(last) + "/" + std::to_string(bytes));
    response.fields.add("content-length", std::to_string(last - first + 1));
  } else if (manner != Manner::endless) {
    response.fields.add("content-length", std::to_string(bytes));
  }
  return response;
}

std::string PageAnswer::body(const PageRequest& request) const {
  if (request.is_head) return {};
  if (!is_large) return text;
  std::string body = large_body(text);
  if (wrong_block) body[*wrong_block * kBlockBytes + 100] ^= 1;
  const bool is_part = request.range && status == 200 && !ignores_range;
  if (!is_part) return body;
  return body.substr(request.range->first, request.range->last - request.range->first + 1);
}

}  // namespace prophecy::consistency
