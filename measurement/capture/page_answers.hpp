// `PageAnswers` takes the answers that the frames and workers of one page receive, out of the
// events of the DevTools protocol. Bodies are taken at the response stage of the domain Fetch,
// before the page sees them: byte for byte, with their content coding undone.
//
// Not taken, and failures: answers that do not end with the page (streams of events among them),
// and bodies beyond a limit. Bodies of redirects are not at hand; redirects are taken without.
//
// For one thread at a time. Events of another shape make Json throw, which DevToolsMessages
// catches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "measurement/capture/captured_answer.hpp"
#include "measurement/capture/devtools_messages.hpp"

namespace prophecy::measurement {

class PageAnswers {
 public:
  using Json = DevToolsMessages::Json;
  using Send = std::function<void(const std::string& session, std::string_view method,
                                  Json parameters, DevToolsMessages::OnAnswer on_answer)>;
  using OnAnswer = std::function<void(const CapturedAnswer& answer)>;
  using OnFailure = std::function<void(const std::string& problem)>;

  PageAnswers(std::uint64_t body_bytes_max, Send send, OnAnswer on_answer, OnFailure on_failure)
      : body_bytes_max_(body_bytes_max),
        send_(std::move(send)),
        on_answer_(std::move(on_answer)),
        on_failure_(std::move(on_failure)) {}

  // Another page, in this session; what was left of the one before is forgotten.
  void begin(const std::string& session);
  void on_event(const std::string& session, const std::string& method, const Json& parameters);
  // The page is over: an answer that is not whole by now does not come any more.
  void end();

  // An answer has been handed on, or is on its way.
  [[nodiscard]] bool has_answers() const { return handed_on_ > 0 || !pending_.empty(); }
  // The page will not say that it has loaded.
  void set_loaded() { is_loaded_ = true; }
  // It has loaded, and no request has been under way for so long.
  [[nodiscard]] bool is_quiet(TimePoint now, Duration time) const {
    return is_loaded_ && requests_.empty() && now - quiet_since_ >= time;
  }

 private:
  // An answer whose body or whose server's address is still to come.
  struct Pending {
    CapturedAnswer answer;
    std::string request;  // the browser's name for it; redirects share it, and some have none
    bool is_whole = false;
  };
  using Number = std::uint64_t;  // of a pending answer

  void begin_session(const std::string& session);
  void on_paused(const std::string& session, const Json& parameters);
  void on_body(Number number, const Json* result, const std::string& problem);
  void go_on(const std::string& session, const Json& parameters);
  void note_address(const std::string& request, const Json& response);
  void hand_on(const Pending& pending);

  std::uint64_t body_bytes_max_;
  Send send_;
  OnAnswer on_answer_;
  OnFailure on_failure_;
  std::set<std::string> sessions_;
  std::set<std::string> requests_;   // under way
  std::set<std::string> documents_;  // of these, of which no frame has stopped loading
  std::map<Number, Pending> pending_;
  Number last_number_ = 0;
  std::uint64_t handed_on_ = 0;
  bool is_loaded_ = false;
  TimePoint quiet_since_{};
};

}  // namespace prophecy::measurement
