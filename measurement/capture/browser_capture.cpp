#include "measurement/capture/browser_capture.hpp"

#include <chrono>

namespace prophecy::measurement {
namespace {

constexpr auto kCallTime = seconds(30);
constexpr auto kLook = milliseconds(100);

}  // namespace

BrowserCapture::BrowserCapture(BrowserOptions browser, PageOptions pages)
    : browser_(std::move(browser)),
      pages_(pages),
      page_answers_(
          pages.body_bytes_max,
          [this](const std::string& session, std::string_view method, Json parameters,
                 DevToolsMessages::OnAnswer on_answer) {
            pipe_->send(session, method, std::move(parameters), std::move(on_answer));
          },
          [this](const CapturedAnswer& answer) {
            ++figures_.answers;
            if (outcome_) outcome_ = (*take_)(answer);
          },
          [this](const std::string& problem) { fail(problem); }) {}

BrowserCapture::~BrowserCapture() = default;

Result<RoundFigures> BrowserCapture::load(const std::vector<ListedUrl>& sites,
                                          const AnswerTaker& take, StopSignals& stop,
                                          std::vector<std::string>& problems) {
  take_ = &take;
  problems_ = &problems;
  figures_ = {};
  outcome_ = {};
  for (const ListedUrl& site : sites) {
    if (stop.has_come()) break;
    if (!pipe_) {
      if (auto started = start(); !started) return std::move(started.error());
    }
    if (auto loaded = load_page(site, stop); !loaded) {
      fail(site.url + ": " + loaded.error().message);
      pipe_.reset();
    }
    if (!outcome_) return std::move(outcome_.error());
  }
  return figures_;
}

Result<> BrowserCapture::start() {
  kept_context_.clear();
  pipe_ = std::make_unique<DevToolsPipe>(
      [this](const std::string& session, const std::string& method, const Json& parameters) {
        page_answers_.on_event(session, method, parameters);
      });
  auto started = pipe_->start(browser_);
  if (!started) pipe_.reset();
  return started;
}

Result<> BrowserCapture::open_page(std::string& target, std::string& context) {
  Json answer;
  context = kept_context_;
  if (context.empty()) {
    auto made = pipe_->call({}, "Target.createBrowserContext", Json::object(), kCallTime, answer);
    if (!made) return made;
    context = text_in(answer, "browserContextId");
    if (pages_.keeps_cookies) kept_context_ = context;
  }
  auto opened =
      pipe_->call({}, "Target.createTarget",
                  {{"url", "about:blank"}, {"browserContextId", context}}, kCallTime, answer);
  if (!opened) return opened;
  target = text_in(answer, "targetId");
  auto attached = pipe_->call({}, "Target.attachToTarget",
                              {{"targetId", target}, {"flatten", true}}, kCallTime, answer);
  if (!attached) return attached;
  page_ = text_in(answer, "sessionId");
  return {};
}

Result<> BrowserCapture::load_page(const ListedUrl& site, StopSignals& stop) {
  std::string target;
  std::string context;
  if (auto opened = open_page(target, context); !opened) return opened;
  page_answers_.begin(page_);
  Json answer;
  pipe_->send(page_, "Page.enable", Json::object());
  auto begun = pipe_->call(page_, "Page.navigate", {{"url", site.url}},
                           seconds(pages_.page_timeout_s), answer);
  // A download is no page; its answer has been taken all the same.
  const bool has_answer = page_answers_.has_answers();
  if (begun && answer.contains("errorText")) {
    page_answers_.set_loaded();
    if (!has_answer) fail(site.url + ": " + text_in(answer, "errorText"));
  }
  if (begun) {
    if (auto waited = wait_for_page(stop); !waited) return waited;
  } else {
    fail(site.url + ": " + begun.error().message);
  }
  page_answers_.end();
  if (auto closed =
          pipe_->call({}, "Target.closeTarget", {{"targetId", target}}, kCallTime, answer);
      !closed) {
    return closed;
  }
  if (pages_.keeps_cookies) return {};
  return pipe_->call({}, "Target.disposeBrowserContext", {{"browserContextId", context}}, kCallTime,
                     answer);
}

Result<> BrowserCapture::wait_for_page(StopSignals& stop) {
  const TimePoint limit = std::chrono::steady_clock::now() + seconds(pages_.page_timeout_s);
  for (;;) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (page_answers_.is_quiet(now, milliseconds(pages_.settle_ms))) return {};
    if (now >= limit || stop.has_come()) return {};
    if (auto pumped = pipe_->pump(kLook, stop.descriptor()); !pumped) return pumped;
  }
}

void BrowserCapture::fail(const std::string& problem) {
  ++figures_.failures;
  problems_->push_back(problem);
}

}  // namespace prophecy::measurement
