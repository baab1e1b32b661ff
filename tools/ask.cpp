#include "tools/ask.hpp"

#include <nlohmann/json.hpp>

#include "base/admin_socket.hpp"

namespace prophecy::tools {

Result<> ask(const std::filesystem::path& socket, const nlohmann::ordered_json& request,
             nlohmann::ordered_json& answer) {
  const auto line = admin_request(socket, request.dump(), seconds(5));
  if (!line) return line.error();
  answer = nlohmann::ordered_json::parse(*line, nullptr, false);
  if (!answer.is_object()) {
    return Error{ErrorKind::protocol, socket.string() + ": the answer is no JSON object"};
  }
  if (answer.contains("error") && answer["error"].is_string()) {
    return Error{ErrorKind::invalid, socket.string() + ": " + answer["error"].get<std::string>()};
  }
  return {};
}

}  // namespace prophecy::tools
