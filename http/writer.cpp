#include "http/writer.hpp"

#include <algorithm>
#include <charconv>

namespace prophecy::http {
namespace {

void append_number(std::string& out, std::uint64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end.ptr);
}

struct Phrase {
  std::uint16_t status;
  std::string_view text;
};

constexpr Phrase kPhrases[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},
    {208, "Already Reported"},
    {226, "IM Used"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {305, "Use Proxy"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {418, "I'm a teapot"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {506, "Variant Also Negotiates"},
    {507, "Insufficient Storage"},
    {508, "Loop Detected"},
    {511, "Network Authentication Required"},
};

constexpr std::string_view kClassPhrases[] = {"Informational", "Success", "Redirection",
                                              "Client Error", "Server Error"};

}  // namespace

void append_request_line(std::string& out, std::string_view method, std::string_view target) {
  out.append(method).append(1, ' ').append(target).append(" HTTP/1.1\r\n");
}

void append_status_line(std::string& out, std::uint16_t status) {
  out.append("HTTP/1.1 ");
  append_number(out, status);
  out.append(1, ' ').append(reason_phrase(status)).append("\r\n");
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  // The text grows once, since this runs for each field of each message.
  const std::size_t begin = out.size();
  out.append(name.size() + value.size() + 4, '\0');
  char* place = std::copy(name.begin(), name.end(), out.data() + begin);
  *place++ = ':';
  *place++ = ' ';
  place = std::copy(value.begin(), value.end(), place);
  *place++ = '\r';
  *place++ = '\n';
}

void append_content_length(std::string& out, std::uint64_t length) {
  out.append("content-length: ");
  append_number(out, length);
  out.append("\r\n");
}

void end_head(std::string& out) {
  out.append("\r\n");
}

std::string_view reason_phrase(std::uint16_t status) {
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) return phrase.text;
  }
  const unsigned kind = status / 100u;
  return kind >= 1 && kind <= 5 ? kClassPhrases[kind - 1] : "Unknown";
}

}  // namespace prophecy::http
