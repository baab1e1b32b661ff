// `BrowserCapture` loads pages in a headless Chromium, and takes every answer that their frames and
// workers receive (page_answers.hpp). The cache is off.
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "measurement/capture/captured_answer.hpp"
#include "measurement/capture/devtools_pipe.hpp"
#include "measurement/capture/page_answers.hpp"
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

  [[nodiscard]] Result<> start();
  [[nodiscard]] Result<> open_page(std::string& target, std::string& context);
  // An error: the browser has gone.
  [[nodiscard]] Result<> load_page(const ListedUrl& site, StopSignals& stop);
  [[nodiscard]] Result<> wait_for_page(StopSignals& stop);
  void fail(const std::string& problem);

  BrowserOptions browser_;
  PageOptions pages_;
  PageAnswers page_answers_;  // of the page at hand; outlives the pipe, which calls it
  std::unique_ptr<DevToolsPipe> pipe_;
  std::string kept_context_;  // of cookies that are kept
  std::string page_;          // the session of the page at hand

  // The round at hand.
  const AnswerTaker* take_ = nullptr;
  std::vector<std::string>* problems_ = nullptr;
  RoundFigures figures_;
  Result<> outcome_;
};

}  // namespace prophecy::measurement
