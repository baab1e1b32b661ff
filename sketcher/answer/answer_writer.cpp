#include "sketcher/answer/answer_writer.hpp"

#include "http/writer.hpp"

namespace prophecy::sketcher {

void append_head(std::string& out, const Answer& answer, ConnectionFate fate) {
  http::append_status_line(out, answer.status());
  answer.for_each_field([&out](std::string_view name, std::string_view value) {
    http::append_field(out, name, value);
  });
  if (fate.chunked) out += "transfer-encoding: chunked\r\n";
  if (!fate.keep_alive) {
    out += "connection: close\r\n";
  } else if (fate.version_minor == 0) {
    out += "connection: keep-alive\r\n";
  }
  http::end_head(out);
}

}  // namespace prophecy::sketcher
