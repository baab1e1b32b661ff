// `BrowserCapture` loads pages in a headless Chromium, and takes every answer that their frames and
// workers receive. Bodies are taken at the response stage of the protocol's domain Fetch, before
// the page sees them: byte for byte, with their content coding undone. The cache is off.
//
// Not taken, and counted as failures: answers that do not end within the page's time (streams of
// events among them), and bodies beyond a limit. Bodies of redirects are not at hand; redirects are
// taken without.
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "measurement/capture/captured_answer.hpp"
#include "measurement/capture/devtools_pipe.hpp"
#include "measurement/capture/url_list.hpp"
#include "measurement/stop_signals.hpp"

namespace prophecy::measurement {

struct PageOptions {
  bool keeps_cookies = false;  // from page to page; else each page starts without any
  std::uint64_t page_timeout_s = 30;
  std::uint64_t settle_ms = 500;  // without a request, behind the page's load
  std::uint64_t body_bytes_max = 64 << 20;
};

class BrowserCapture {
 public:
  BrowserCapture(BrowserOptions browser, PageOptions pages);
  ~BrowserCapture();
  BrowserCapture(const BrowserCapture&) = delete;
  BrowserCapture& operator=(const BrowserCapture&) = delete;

  // One round: each site's page once. A browser that has gone is started again for the next page.
  // An error is that of `take`, or of starting the browser.
  [[nodiscard]] Result<RoundFigures> load(const std::vector<ListedUrl>& sites,
                                          const AnswerTaker& take, StopSignals& stop,
                                          std::vector<std::string>& problems);

 private:
  using Json = DevToolsPipe::Json;
  // An answer whose body or whose server's address is still to come.
  struct Pending {
    CapturedAnswer answer;
    std::string request;  // the browser's name for it; redirects share it, and some have none
    bool is_whole = false;
  };
  using Number = std::uint64_t;  // of a pending answer

  [[nodiscard]] Result<> start();
  [[nodiscard]] Result<> open_page(std::string& target, std::string& context);
  // An error: the browser has gone.
  [[nodiscard]] Result<> load_page(const ListedUrl& site, StopSignals& stop);
  [[nodiscard]] Result<> wait_for_page(StopSignals& stop);
  void begin_session(const std::string& session);
  void on_event(const std::string& session, const std::string& method, const Json& parameters);
  void on_paused(const std::string& session, const Json& parameters);
  void on_body(Number number, const Json* result, const std::string& problem);
  void go_on(const std::string& session, const Json& parameters);
  void note_address(const std::string& request, const Json& response);
  void fail(const std::string& problem);
  void hand_on(const Pending& pending);
  void hand_on_all();

  BrowserOptions browser_;
  PageOptions pages_;
  std::unique_ptr<DevToolsPipe> pipe_;
  std::string kept_context_;  // of cookies that are kept

  // The page at hand.
  std::string page_;  // its URL
  std::set<std::string> sessions_;
  std::set<std::string> requests_;   // under way
  std::set<std::string> documents_;  // of these, of which no frame has stopped loading
  std::map<Number, Pending> pending_;
  Number last_number_ = 0;
  bool is_loaded_ = false;
  TimePoint quiet_since_{};

  // The round at hand.
  const AnswerTaker* take_ = nullptr;
  std::vector<std::string>* problems_ = nullptr;
  RoundFigures figures_;
  Result<> outcome_;
};

}  // namespace prophecy::measurement
