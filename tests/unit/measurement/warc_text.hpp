// WARC records as texts, for tests.
#pragma once

#include <string>
#include <string_view>

namespace prophecy::measurement {

// `fields` are whole lines, with their line ends.
inline std::string warc_record(std::string_view type, std::string_view fields,
                               std::string_view block) {
  std::string text = "WARC/1.0\r\nWARC-Type: ";
  text.append(type).append("\r\n").append(fields);
  text += "Content-Length: " + std::to_string(block.size()) + "\r\n\r\n";
  return text.append(block).append("\r\n\r\n");
}

inline std::string http_answer(std::string_view body, std::string_view fields = "",
                               std::string_view status = "200 OK") {
  std::string text = "HTTP/1.1 ";
  text.append(status).append("\r\n").append(fields);
  text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return text.append(body);
}

inline std::string response_record(std::string_view url, std::string_view date,
                                   std::string_view answer, std::string_view fields = "") {
  std::string head = "WARC-Target-URI: ";
  head.append(url).append("\r\nWARC-Date: ").append(date).append("\r\n");
  head.append("Content-Type: application/http; msgtype=response\r\n").append(fields);
  return warc_record("response", head, answer);
}

}  // namespace prophecy::measurement
