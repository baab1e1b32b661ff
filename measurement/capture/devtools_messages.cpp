#include "measurement/capture/devtools_messages.hpp"

#include <utility>

namespace prophecy::measurement {

std::uint64_t DevToolsMessages::send(const std::string& session, std::string_view method,
                                     Json parameters, OnAnswer on_answer) {
  Json command = {{"id", ++last_id_}, {"method", method}, {"params", std::move(parameters)}};
  if (!session.empty()) command["sessionId"] = session;
  awaited_.emplace(last_id_, std::move(on_answer));
  out_ += command.dump(-1, ' ', true, Json::error_handler_t::replace);
  out_.push_back('\0');
  return last_id_;
}

Result<> DevToolsMessages::feed(std::string_view bytes) {
  in_.append(bytes);
  std::size_t begin = 0;
  try {
    for (std::size_t end = in_.find('\0', searched_); end != std::string::npos;
         end = in_.find('\0', begin)) {
      take(std::string_view(in_).substr(begin, end - begin));
      begin = end + 1;
    }
  } catch (const Json::exception&) {
    return Error{ErrorKind::protocol, "the browser has sent a message of another shape"};
  }
  in_.erase(0, begin);
  searched_ = in_.size();
  if (in_.size() > message_bytes_max_) return Error{ErrorKind::limit, "a message without an end"};
  return {};
}

void DevToolsMessages::take(std::string_view text) {
  const Json message = Json::parse(text, nullptr, false);
  if (!message.is_object()) return;
  if (!message.contains("id")) {
    if (message.contains("method")) {
      on_event_(message.value("sessionId", std::string()), message.value("method", std::string()),
                message.value("params", Json::object()));
    }
    return;
  }
  const auto found = awaited_.find(message.value("id", std::uint64_t{0}));
  if (found == awaited_.end()) return;
  const OnAnswer on_answer = std::move(found->second);
  awaited_.erase(found);
  if (!on_answer) return;
  if (message.contains("result")) return on_answer(&message["result"], {});
  const Json problem = message.value("error", Json::object());
  on_answer(nullptr, problem.value("message", std::string("refused")));
}

std::string text_in(const DevToolsMessages::Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace prophecy::measurement
