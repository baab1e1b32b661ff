// `DevToolsPipe` runs a headless Chromium, and moves the messages of the DevTools protocol through
// a pair of pipes (--remote-debugging-pipe). This is the tree's only driver for browsers.
//
// For one thread at a time. Answers and events come inside pump().
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "measurement/capture/devtools_messages.hpp"

namespace prophecy::measurement {

struct BrowserOptions {
  std::string program = "chromium";
  std::filesystem::path profile;         // a folder that exists, for the browser alone
  std::vector<std::string> resolve;      // HOST=ADDRESS
  std::vector<std::string> arguments{};  // more of them, for the browser
};

class DevToolsPipe {
 public:
  using Json = DevToolsMessages::Json;
  using OnAnswer = DevToolsMessages::OnAnswer;

  explicit DevToolsPipe(DevToolsMessages::OnEvent on_event) : messages_(std::move(on_event)) {}
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
  [[nodiscard]] Result<> write();

  DevToolsMessages messages_;
  int process_ = -1;
  UniqueFd to_browser_;
  UniqueFd from_browser_;
};

}  // namespace prophecy::measurement
