// Writes HTTP/1.1 messages by appending to a string that the caller keeps and reuses. Framing is
// always ours: nothing here copies a peer's framing fields.
//
// A head is a start line, fields, and end_head(). The caller answers for names being tokens and
// values being free of control bytes, which is so for everything that a parser has let through.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace prophecy::http {

void append_request_line(std::string& out, std::string_view method, std::string_view target);
void append_status_line(std::string& out, std::uint16_t status);
void append_field(std::string& out, std::string_view name, std::string_view value);
void append_content_length(std::string& out, std::uint64_t length);
void end_head(std::string& out);

// The registered phrase of a status, or that of its class.
[[nodiscard]] std::string_view reason_phrase(std::uint16_t status);

}  // namespace prophecy::http
