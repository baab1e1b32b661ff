// `DevToolsMessages` speaks the DevTools protocol over bytes: JSON texts, each with a zero byte
// behind it. It numbers commands, hands answers to those who wait for them, and events to one
// handler. Handlers may use Json's accessors that throw: a message of another shape is an error.
//
// No I/O. For one thread at a time. Handlers run inside feed(), and may send.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace prophecy::measurement {

class DevToolsMessages {
 public:
  using Json = nlohmann::json;
  // Takes the result of a command, or null and the problem.
  using OnAnswer = std::function<void(const Json* result, const std::string& problem)>;
  // `session` is empty for the browser itself.
  using OnEvent = std::function<void(const std::string& session, const std::string& method,
                                     const Json& parameters)>;
  static constexpr std::size_t kMessageBytesMax = 512 << 20;

  explicit DevToolsMessages(OnEvent on_event, std::size_t message_bytes_max = kMessageBytesMax)
      : on_event_(std::move(on_event)), message_bytes_max_(message_bytes_max) {}

  // Yields the command's number.
  std::uint64_t send(const std::string& session, std::string_view method, Json parameters,
                     OnAnswer on_answer);
  // The answer to this command is no longer waited for.
  void forget(std::uint64_t command) { awaited_.erase(command); }
  // An error: what comes is not the protocol, and nothing that follows can be read.
  [[nodiscard]] Result<> feed(std::string_view bytes);

  // For the browser; the caller takes what it has written away.
  [[nodiscard]] std::string& out() { return out_; }

 private:
  void take(std::string_view text);

  OnEvent on_event_;
  std::size_t message_bytes_max_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, OnAnswer> awaited_;
  std::string out_;
  std::string in_;
  std::size_t searched_ = 0;  // of in_, without a zero byte
};

// A text of an object; empty if there is none.
[[nodiscard]] std::string text_in(const DevToolsMessages::Json& object, const char* name);

}  // namespace prophecy::measurement
