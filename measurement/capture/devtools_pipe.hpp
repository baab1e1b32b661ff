// `DevToolsPipe` runs a headless Chromium, and speaks the DevTools protocol with it through a pair
// of pipes (--remote-debugging-pipe): JSON texts, each with a zero byte behind it. This is the
// tree's only driver for browsers.
//
// For one thread at a time. Answers and events come inside pump().
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::measurement {

struct BrowserOptions {
  std::string program = "chromium";
  std::filesystem::path profile;         // a folder that exists, for the browser alone
  std::vector<std::string> resolve;      // HOST=ADDRESS
  std::vector<std::string> arguments{};  // more of them, for the browser
};

class DevToolsPipe {
 public:
  using Json = nlohmann::json;
  // Takes the result of a command, or null and the problem.
  using OnAnswer = std::function<void(const Json* result, const std::string& problem)>;
  // `session` is empty for the browser itself.
  using OnEvent = std::function<void(const std::string& session, const std::string& method,
                                     const Json& parameters)>;

  explicit DevToolsPipe(OnEvent on_event) : on_event_(std::move(on_event)) {}
  ~DevToolsPipe();
  DevToolsPipe(const DevToolsPipe&) = delete;
  DevToolsPipe& operator=(const DevToolsPipe&) = delete;

  [[nodiscard]] Result<> start(const BrowserOptions& options);
  void send(const std::string& session, std::string_view method, Json parameters,
            OnAnswer on_answer = {});
  // Sends and takes what there is, for so long at most: returns once something has come. An error:
  // the browser has gone. `stop` is a descriptor that ends the waiting when it is readable; -1:
  // none.
  [[nodiscard]] Result<> pump(Duration time, int stop = -1);
  // Waits for the answer, and fills it in. (A Result of JSON would convert from everything.)
  [[nodiscard]] Result<> call(const std::string& session, std::string_view method, Json parameters,
                              Duration time, Json& answer);

 private:
  void take(std::string_view text);
  [[nodiscard]] Result<> write();

  OnEvent on_event_;
  int process_ = -1;
  UniqueFd to_browser_;
  UniqueFd from_browser_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, OnAnswer> awaited_;
  std::string out_;
  std::string in_;
  std::size_t searched_ = 0;  // of in_, without a zero byte
};

}  // namespace prophecy::measurement
