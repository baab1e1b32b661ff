#include "canonical/forwarded_hops.hpp"

#include "http/text.hpp"

namespace prophecy::sketch {
namespace {

std::string_view take_token(std::string_view& rest) {
  std::size_t size = 0;
  while (size < rest.size() && http::is_token_char(rest[size]))
    ++size;
  const std::string_view token = rest.substr(0, size);
  rest.remove_prefix(size);
  return token;
}

// What is between the quotes, as it stands. False without an end.
bool take_quoted(std::string_view& rest, std::string_view& text) {
  for (std::size_t end = 1; end < rest.size(); ++end) {
    if (rest[end] == '\\') {
      ++end;
    } else if (rest[end] == '"') {
      text = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
      return true;
    }
  }
  return false;
}

bool take_char(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

void skip_blanks(std::string_view& rest) {
  while (rest.starts_with(' ') || rest.starts_with('\t'))
    rest.remove_prefix(1);
}

// token "=" (token / quoted-string). That of `parameter` goes to `hop`, and there may be one.
bool take_pair(std::string_view& rest, std::string_view parameter,
               std::optional<std::string_view>& hop) {
  const std::string_view name = take_token(rest);
  if (name.empty() || !take_char(rest, '=')) return false;
  std::string_view value;
  if (rest.starts_with('"')) {
    if (!take_quoted(rest, value)) return false;
  } else {
    value = take_token(rest);
    if (value.empty()) return false;
  }
  if (!http::equal_ignoring_case(name, parameter)) return true;
  if (hop) return false;
  hop = value;
  return true;
}

bool is_port(std::string_view text) {
  std::uint64_t port = 0;
  return http::parse_decimal(text, port) && port <= 65535;
}

}  // namespace

void add_x_forwarded_hops(std::string_view value, LastHops& hops) {
  for (;;) {
    const std::size_t comma = value.find(',');
    const std::string_view hop = http::trim(value.substr(0, comma));
    if (!hop.empty()) hops.add(hop);
    if (comma == std::string_view::npos) return;
    value.remove_prefix(comma + 1);
  }
}

bool add_forwarded_hops(std::string_view value, LastHops& hops, std::string_view parameter) {
  for (;;) {
    skip_blanks(value);
    std::optional<std::string_view> hop;
    bool empty = true;
    do {  // pairs between semicolons, some of them empty
      if (value.empty() || value.front() == ';' || value.front() == ',' || value.front() == ' ' ||
          value.front() == '\t') {
        continue;
      }
      if (!take_pair(value, parameter, hop)) return false;
      empty = false;
    } while (take_char(value, ';'));
    if (!empty) hops.add(hop.value_or(""));
    skip_blanks(value);
    if (value.empty()) return true;
    if (!take_char(value, ',')) return false;
  }
}

std::optional<IpAddress> address_of_hop(std::string_view hop) {
  std::string_view text = hop;
  if (hop.starts_with('[')) {
    const std::size_t end = hop.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    text = hop.substr(1, end - 1);
    const std::string_view rest = hop.substr(end + 1);
    if (!rest.empty() && !(rest.front() == ':' && is_port(rest.substr(1)))) return std::nullopt;
    if (text.find(':') == std::string_view::npos) return std::nullopt;
  } else if (std::count(hop.begin(), hop.end(), ':') == 1) {
    const std::size_t colon = hop.find(':');
    text = hop.substr(0, colon);
    if (!is_port(hop.substr(colon + 1))) return std::nullopt;
  }
  return IpAddress::parse(text);
}

}  // namespace prophecy::sketch
