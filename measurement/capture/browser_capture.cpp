#include "measurement/capture/browser_capture.hpp"

#include <algorithm>
#include <chrono>

#include "http/text.hpp"
#include "measurement/input/base64.hpp"

namespace prophecy::measurement {
namespace {

constexpr auto kCallTime = seconds(30);
constexpr auto kLook = milliseconds(100);

Microseconds wall_clock() {
  return std::chrono::duration_cast<microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Without what belongs to a coding that is undone. A field's lines come joined by line ends.
void take_fields(const nlohmann::json& list, CapturedAnswer& answer) {
  for (const auto& field : list) {
    const std::string name = field.value("name", std::string());
    std::string_view values;
    const std::string value = field.value("value", std::string());
    values = value;
    if (name.empty() || http::equal_ignoring_case(name, "content-encoding")) continue;
    for (std::size_t end = 0; end != std::string_view::npos;) {
      end = values.find('\n');
      answer.fields.emplace_back(name, values.substr(0, end));
      if (end != std::string_view::npos) values.remove_prefix(end + 1);
    }
  }
}

std::string_view field_of(const CapturedAnswer& answer, std::string_view name) {
  for (const auto& [other, value] : answer.fields) {
    if (http::equal_ignoring_case(other, name)) return value;
  }
  return {};
}

}  // namespace

BrowserCapture::BrowserCapture(BrowserOptions browser, PageOptions pages)
    : browser_(std::move(browser)), pages_(pages) {}

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
        on_event(session, method, parameters);
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
    context = answer.value("browserContextId", std::string());
    if (pages_.keeps_cookies) kept_context_ = context;
  }
  auto opened =
      pipe_->call({}, "Target.createTarget",
                  {{"url", "about:blank"}, {"browserContextId", context}}, kCallTime, answer);
  if (!opened) return opened;
  target = answer.value("targetId", std::string());
  auto attached = pipe_->call({}, "Target.attachToTarget",
                              {{"targetId", target}, {"flatten", true}}, kCallTime, answer);
  if (!attached) return attached;
  page_ = answer.value("sessionId", std::string());
  sessions_ = {page_};
  return {};
}

Result<> BrowserCapture::load_page(const ListedUrl& site, StopSignals& stop) {
  std::string target;
  std::string context;
  requests_.clear();
  documents_.clear();
  pending_.clear();
  is_loaded_ = false;
  quiet_since_ = std::chrono::steady_clock::now();
  if (auto opened = open_page(target, context); !opened) return opened;
  const std::uint64_t answers_before = figures_.answers;
  begin_session(page_);
  Json answer;
  pipe_->send(page_, "Page.enable", Json::object());
  auto begun = pipe_->call(page_, "Page.navigate", {{"url", site.url}},
                           seconds(pages_.page_timeout_s), answer);
  // A download is no page; its answer has been taken all the same.
  const bool has_answer = figures_.answers > answers_before || !pending_.empty();
  if (begun && answer.contains("errorText")) {
    is_loaded_ = true;
    if (!has_answer) fail(site.url + ": " + answer.value("errorText", std::string()));
  }
  if (begun) {
    if (auto waited = wait_for_page(stop); !waited) return waited;
  } else {
    fail(site.url + ": " + begun.error().message);
  }
  hand_on_all();
  sessions_.clear();
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
    if (is_loaded_ && requests_.empty() && now - quiet_since_ >= milliseconds(pages_.settle_ms)) {
      return {};
    }
    if (now >= limit || stop.has_come()) return {};
    if (auto pumped = pipe_->pump(kLook, stop.descriptor()); !pumped) return pumped;
  }
}

void BrowserCapture::begin_session(const std::string& session) {
  pipe_->send(session, "Network.enable", Json::object());
  pipe_->send(session, "Network.setCacheDisabled", {{"cacheDisabled", true}});
  pipe_->send(session, "Fetch.enable",
              {{"patterns", {{{"urlPattern", "*"}, {"requestStage", "Response"}}}}});
  pipe_->send(session, "Target.setAutoAttach",
              {{"autoAttach", true}, {"waitForDebuggerOnStart", true}, {"flatten", true}});
  pipe_->send(session, "Runtime.runIfWaitingForDebugger", Json::object());
}

void BrowserCapture::on_event(const std::string& session, const std::string& method,
                              const Json& parameters) {
  if (method == "Target.attachedToTarget") {
    const std::string attached = parameters.value("sessionId", std::string());
    if (!sessions_.contains(session)) return;
    sessions_.insert(attached);
    return begin_session(attached);
  }
  if (!sessions_.contains(session)) return;
  // Without the session: a frame's first request may end in another one than it began in.
  const std::string key = parameters.value("requestId", std::string());
  quiet_since_ = std::chrono::steady_clock::now();
  if (method == "Fetch.requestPaused") return on_paused(session, parameters);
  if (method == "Page.loadEventFired") is_loaded_ = true;
  // Documents whose bodies were asked for are not always said to end, nor is their load event.
  if (method == "Page.frameStoppedLoading") {
    is_loaded_ = true;
    for (const std::string& document : documents_)
      requests_.erase(document);
    documents_.clear();
  }
  if (method == "Network.requestWillBeSent") {
    // The browser's own requests, such as for the site's icon, are not always said to end.
    const std::string type = parameters.value("type", std::string());
    if (type != "Other") requests_.insert(key);
    if (type == "Document") documents_.insert(key);
    if (parameters.contains("redirectResponse")) note_address(key, parameters["redirectResponse"]);
  }
  if (method == "Network.responseReceived") note_address(key, parameters["response"]);
  if (method == "Network.loadingFinished" || method == "Network.loadingFailed")
    requests_.erase(key);
}

// The body is asked for, and the page's request waits until it is here.
void BrowserCapture::on_paused(const std::string& session, const Json& parameters) {
  const int status = parameters.value("responseStatusCode", 0);
  const Json& request = parameters["request"];
  const std::string url = request.value("url", std::string());
  if (status == 0) {
    if (parameters.contains("responseErrorReason")) {
      fail(url + ": " + parameters.value("responseErrorReason", std::string()));
    }
    return go_on(session, parameters);
  }
  const Number number = ++last_number_;
  const auto place = pending_.emplace(number, Pending{}).first;
  place->second.request = parameters.value("networkId", std::string());
  CapturedAnswer& answer = place->second.answer;
  answer.method = request.value("method", std::string("GET"));
  answer.url = url;
  answer.time = wall_clock();
  answer.status = static_cast<std::uint16_t>(status);
  take_fields(parameters.value("responseHeaders", Json::array()), answer);
  const std::string_view length = field_of(answer, "content-length");
  std::uint64_t bytes = 0;
  const bool is_too_large = http::parse_decimal(length, bytes) && bytes > pages_.body_bytes_max;
  const bool is_stream = field_of(answer, "content-type").starts_with("text/event-stream");
  const bool has_place = is_redirect(status) && !field_of(answer, "location").empty();
  if (is_too_large || is_stream) {
    fail(url + (is_stream ? ": a stream of events" : ": larger than --body-max"));
    pending_.erase(place);
    return go_on(session, parameters);
  }
  if (has_place) {
    place->second.is_whole = true;
    return go_on(session, parameters);
  }
  pipe_->send(session, "Fetch.getResponseBody", {{"requestId", parameters["requestId"]}},
              [this, session, number, parameters](const Json* result, const std::string& problem) {
                on_body(number, result, problem);
                go_on(session, parameters);
              });
}

void BrowserCapture::on_body(Number number, const Json* result, const std::string& problem) {
  quiet_since_ = std::chrono::steady_clock::now();
  const auto place = pending_.find(number);
  if (place == pending_.end()) return;  // of a page that is over
  Pending& pending = place->second;
  bool is_right = result != nullptr;
  if (is_right) {
    const std::string body = result->value("body", std::string());
    if (result->value("base64Encoded", false)) {
      Base64Decoder decoder;
      is_right = decoder.decode(body, pending.answer.body) && decoder.finish();
    } else {
      pending.answer.body = body;
    }
  }
  if (!is_right || pending.answer.body.size() > pages_.body_bytes_max) {
    fail(pending.answer.url + ": " + (problem.empty() ? "no body" : problem));
    pending_.erase(place);
    return;
  }
  pending.is_whole = true;
}

void BrowserCapture::go_on(const std::string& session, const Json& parameters) {
  pipe_->send(session, "Fetch.continueRequest", {{"requestId", parameters["requestId"]}});
}

void BrowserCapture::note_address(const std::string& request, const Json& response) {
  std::string address = response.value("remoteIPAddress", std::string());
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  const std::string url = response.value("url", std::string());
  for (auto place = pending_.begin(); place != pending_.end();) {
    Pending& pending = place->second;
    // Processes of one browser may use the same name.
    const bool is_its = pending.request == request && pending.answer.url == url;
    if (is_its) pending.answer.address = address;
    if (!is_its || !pending.is_whole) {
      ++place;
      continue;
    }
    hand_on(pending);
    place = pending_.erase(place);
  }
}

void BrowserCapture::fail(const std::string& problem) {
  ++figures_.failures;
  problems_->push_back(problem);
}

void BrowserCapture::hand_on(const Pending& pending) {
  ++figures_.answers;
  if (outcome_) outcome_ = (*take_)(pending.answer);
}

// The page is over: an answer that is not whole by now does not come any more.
void BrowserCapture::hand_on_all() {
  for (const auto& [number, pending] : pending_) {
    if (pending.is_whole) {
      hand_on(pending);
    } else {
      fail(pending.answer.url + ": not whole in time");
    }
  }
  pending_.clear();
}

}  // namespace prophecy::measurement
