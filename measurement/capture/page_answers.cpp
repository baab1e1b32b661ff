#include "measurement/capture/page_answers.hpp"

#include <chrono>

#include "http/text.hpp"
#include "measurement/capture/wall_clock.hpp"
#include "measurement/input/base64.hpp"

namespace prophecy::measurement {
namespace {

constexpr int kStatusMin = 100;
constexpr int kStatusMax = 599;

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

void PageAnswers::begin(const std::string& session) {
  sessions_ = {session};
  requests_.clear();
  documents_.clear();
  pending_.clear();
  handed_on_ = 0;
  is_loaded_ = false;
  quiet_since_ = std::chrono::steady_clock::now();
  begin_session(session);
}

void PageAnswers::begin_session(const std::string& session) {
  send_(session, "Network.enable", Json::object(), {});
  send_(session, "Network.setCacheDisabled", {{"cacheDisabled", true}}, {});
  send_(session, "Fetch.enable",
        {{"patterns", {{{"urlPattern", "*"}, {"requestStage", "Response"}}}}}, {});
  send_(session, "Target.setAutoAttach",
        {{"autoAttach", true}, {"waitForDebuggerOnStart", true}, {"flatten", true}}, {});
  send_(session, "Runtime.runIfWaitingForDebugger", Json::object(), {});
}

void PageAnswers::on_event(const std::string& session, const std::string& method,
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
    if (parameters.contains("redirectResponse"))
      note_address(key, parameters.at("redirectResponse"));
  }
  if (method == "Network.responseReceived") note_address(key, parameters.at("response"));
  if (method == "Network.loadingFinished" || method == "Network.loadingFailed")
    requests_.erase(key);
}

// The body is asked for, and the page's request waits until it is here.
void PageAnswers::on_paused(const std::string& session, const Json& parameters) {
  const int status = parameters.value("responseStatusCode", 0);
  const Json& request = parameters.at("request");
  const std::string url = request.value("url", std::string());
  if (status == 0) {
    if (parameters.contains("responseErrorReason")) {
      on_failure_(url + ": " + parameters.value("responseErrorReason", std::string()));
    }
    return go_on(session, parameters);
  }
  if (status < kStatusMin || status > kStatusMax) {
    on_failure_(url + ": a status that HTTP does not have");
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
  const bool is_too_large = http::parse_decimal(length, bytes) && bytes > body_bytes_max_;
  const bool is_stream = field_of(answer, "content-type").starts_with("text/event-stream");
  const bool has_place = is_redirect(status) && !field_of(answer, "location").empty();
  if (is_too_large || is_stream) {
    on_failure_(url + (is_stream ? ": a stream of events" : ": larger than --body-max"));
    pending_.erase(place);
    return go_on(session, parameters);
  }
  if (has_place) {
    place->second.is_whole = true;
    return go_on(session, parameters);
  }
  send_(session, "Fetch.getResponseBody", {{"requestId", parameters.at("requestId")}},
        [this, session, number, parameters](const Json* result, const std::string& problem) {
          on_body(number, result, problem);
          go_on(session, parameters);
        });
}

void PageAnswers::on_body(Number number, const Json* result, const std::string& problem) {
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
  if (!is_right || pending.answer.body.size() > body_bytes_max_) {
    on_failure_(pending.answer.url + ": " + (problem.empty() ? "no body" : problem));
    pending_.erase(place);
    return;
  }
  pending.is_whole = true;
}

void PageAnswers::go_on(const std::string& session, const Json& parameters) {
  send_(session, "Fetch.continueRequest", {{"requestId", parameters.at("requestId")}}, {});
}

void PageAnswers::note_address(const std::string& request, const Json& response) {
  std::string address = response.value("remoteIPAddress", std::string());
  if (address.starts_with('[') && address.ends_with(']'))
    address = address.substr(1, address.size() - 2);
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

void PageAnswers::hand_on(const Pending& pending) {
  ++handed_on_;
  on_answer_(pending.answer);
}

void PageAnswers::end() {
  for (const auto& [number, pending] : pending_) {
    if (pending.is_whole) {
      hand_on(pending);
    } else {
      on_failure_(pending.answer.url + ": not whole in time");
    }
  }
  pending_.clear();
  sessions_.clear();
}

}  // namespace prophecy::measurement
