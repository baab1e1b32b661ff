#include "http/request_rules.hpp"

#include <algorithm>
#include <iterator>

#include <llhttp.h>

#include "http/text.hpp"

namespace prophecy::http {
namespace {

bool is_absolute_form(std::string_view target) {
  return (target.size() > 7 && equal_ignoring_case(target.substr(0, 7), "http://")) ||
         (target.size() > 8 && equal_ignoring_case(target.substr(0, 8), "https://"));
}

}  // namespace

bool is_target_char(char c) {
  return c > 0x20 && c < 0x7f && c != '#';
}

bool is_known_method(std::string_view method) {
#define PROPHECY_METHOD_NAME(number, name, text) #text,
  static constexpr std::string_view kMethods[] = {HTTP_METHOD_MAP(PROPHECY_METHOD_NAME)};
#undef PROPHECY_METHOD_NAME
  return std::find(std::begin(kMethods), std::end(kMethods), method) != std::end(kMethods);
}

ParseFailure check_request(const Request& request) {
  if (request.method == "CONNECT") return {501, "CONNECT is not supported"};
  const std::string_view target = request.target;
  const bool asterisk = target == "*" && request.method == "OPTIONS";
  if (!asterisk && !target.starts_with('/') && !is_absolute_form(target)) {
    return {400, "target of an unknown form"};
  }
  const std::size_t hosts = request.fields.count("host");
  if (hosts != 1) return {400, hosts == 0 ? "Host is missing" : "Host is repeated"};
  if (request.version_minor >= 1) {
    for (std::size_t i = 0; i < request.fields.size(); ++i) {
      if (request.fields.name(i) == "expect" &&
          !equal_ignoring_case(request.fields.value(i), "100-continue")) {
        return {417, "unknown expectation"};
      }
    }
  }
  return {};
}

}  // namespace prophecy::http
