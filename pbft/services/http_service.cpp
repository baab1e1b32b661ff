#include "pbft/services/http_service.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/services/no_state.hpp"
#include "pbft/services/origin_request.hpp"
#include "pbft/services/state/command_state.hpp"
#include "pbft/services/state/folder_state.hpp"

namespace prophecy::pbft {

using http::ExchangeEnd;
using http::OriginExchange;

namespace {

constexpr std::uint32_t kRepeatsMax = 3;
constexpr Duration kRepeatPauseMin = milliseconds(20);
constexpr Duration kRepeatPauseMax = seconds(1);
constexpr Duration kProbePause = milliseconds(200);
constexpr std::uint64_t kFullPercent = 100;

// Wider than what a sketcher lets through: the limits that clients meet are the sketcher's.
constexpr std::size_t kCheckedBytesKept = 1 << 20;
constexpr std::size_t kTargetBytesMax = 256 << 10;
constexpr std::size_t kHeaderBytesMax = 512 << 10;
constexpr std::size_t kHeaderCountMax = 4096;

// The safe methods of IANA's registry (RFC 9110, 9.2.1; RFC 4918, 9.1; RFC 3253, 3.6; RFC 5323) and
// DELETE: requests that a full state has room for.
bool needs_no_room(std::string_view method) {
  return http::is_safe_method(method) || method == "PROPFIND" || method == "REPORT" ||
         method == "SEARCH" || method == "DELETE";
}

// Exactly one request, and no byte more: what is checked is what the origin will see.
bool parses(http::RequestParser& parser, std::string_view text) {
  parser.reset();
  for (;;) {
    const http::ParseProgress progress = parser.feed(text);
    text.remove_prefix(progress.consumed);
    if (progress.state == http::ParseState::complete) return text.empty();
    if (progress.state != http::ParseState::head_done) return false;
  }
}

// Likewise, for one of which only the front is at hand: how long its head is. Nothing when that is
// not all there, or when its body is not declared to be what lies behind it.
std::optional<std::size_t> head_of(http::RequestParser& parser, std::string_view front,
                                   std::uint64_t size) {
  parser.reset();
  const http::ParseProgress progress = parser.feed(front);
  if (progress.state != http::ParseState::head_done) return std::nullopt;
  if (parser.plain_bytes_left() != size - progress.consumed) return std::nullopt;
  return progress.consumed;
}

std::unique_ptr<StateKeeper> make_state(boost::asio::io_context& io,
                                        const StateSettings& settings) {
  switch (settings.kind) {
    case StateKind::stateless:
      return nullptr;
    case StateKind::directory:
      return std::make_unique<StateKeeper>(io, std::make_unique<FolderState>(settings.folder));
    case StateKind::command:
      return std::make_unique<StateKeeper>(io, std::make_unique<CommandState>(settings.command));
  }
  UNREACHABLE();
}

Duration tick_for(const OriginTimes& times) {
  const Duration shortest = std::min({times.connect, times.answer, times.idle});
  return std::clamp<Duration>(shortest / 8, milliseconds(5), milliseconds(250));
}

// For all blocks of an answer, whatever time each may take.
constexpr Duration kLargeAnswerMax = seconds(120);

}  // namespace

// The body of a request, which notes when the origin last took some of it.
class HttpService::SentBody final : public ByteSource {
 public:
  // `in_flight`: null for a read.
  SentBody(ByteSourcePtr body, WriteInFlight* in_flight)
      : body_(std::move(body)), in_flight_(in_flight) {}
  [[nodiscard]] std::uint64_t size() const override { return body_->size(); }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<char> into) const override {
    const bool is_read = body_->read(offset, into);
    last_read_at_ = std::chrono::steady_clock::now();
    if (in_flight_ != nullptr) in_flight_->go_on();
    return is_read;
  }
  [[nodiscard]] TimePoint last_read_at() const { return last_read_at_; }

 private:
  ByteSourcePtr body_;
  WriteInFlight* in_flight_;
  mutable TimePoint last_read_at_{};
};

struct HttpService::Job {
  Job(http::OriginHandler& handler, const sketch::Profile& profile, std::size_t held_bytes_max)
      : collector(profile, held_bytes_max), exchange(handler) {}
  http::ExchangeRequest request;
  std::string wire;                   // keeps request.wire
  std::unique_ptr<SentBody> body;     // and request.body
  sketch::AnswerCollector collector;  // of a read
  OriginExchange exchange;
  Done done;
  bool is_read = false;
  bool is_idempotent = false;
  bool is_given_up = false;  // not to be sent again
  bool is_settling = false;  // it timed out, and may still be carried out
  ExchangeEnd failed_by = ExchangeEnd::broken;
  Sigma sigma = 0;
  std::string method;                                  // of a write
  std::string target;                                  // likewise
  bool is_too_large = false;                           // the answer to a write
  std::uint32_t times_sent = 0;                        // at least in part
  std::uint64_t send_number = 0;                       // of a write
  TimePoint begun = std::chrono::steady_clock::now();  // when it was sent last
};

HttpService::HttpService(boost::asio::io_context& io, const HttpServiceSettings& settings,
                         const sketch::Profile& profile)
    : settings_(settings),
      timeouts_{.connect = TimeoutQueue(settings.times.connect),
                .answer = TimeoutQueue(settings.times.answer),
                .idle = TimeoutQueue(settings.times.idle)},
      ticker_(io, tick_for(settings.times),
              {&timeouts_.connect, &timeouts_.answer, &timeouts_.idle}),
      pool_(io, settings.origin, timeouts_),
      profile_(profile),
      canonicalizer_(profile),
      request_limits_{.target_bytes_max = kTargetBytesMax,
                      .header_bytes_max = kHeaderBytesMax,
                      .header_count_max = kHeaderCountMax,
                      .body_bytes_max = settings.operation_bytes_max},
      request_parser_(request_, request_limits_),
      repeat_timer_(io),
      repeat_pause_(kRepeatPauseMin),
      settle_timer_(io),
      in_flight_(io),
      state_(make_state(io, settings.state)),
      probe_(*this),
      // The one request that is about no resource.
      probe_text_("OPTIONS * HTTP/1.1\r\nhost: " + to_string(settings.origin.address) + "\r\n\r\n"),
      probe_timer_(io) {
  pool_.on_state([this](bool up) { on_pool_state(up); });
  ticker_.start();
}

HttpService::~HttpService() = default;

Result<> HttpService::open() {
  if (!state_) return {};
  if (!settings_.in_flight.empty()) {
    if (auto opened = in_flight_.open(settings_.in_flight); !opened) return opened;
    settled_at_ =
        std::chrono::steady_clock::now() + in_flight_.left_behind(settings_.times.write_settle);
  }
  return state_->open();
}

bool HttpService::is_read(ByteView operation) const {
  const std::string_view text = as_text(operation);
  return http::is_read_method(text.substr(0, text.find(' ')));
}

void HttpService::execute(const Execution& execution, Done done) {
  const std::string_view text = as_text(execution.operation);
  const std::optional<std::size_t> head =
      execution.whole ? head_of(request_parser_, text, execution.whole->size()) : std::nullopt;
  if (execution.whole ? !head : !parses(request_parser_, text)) {
    ++counters_.malformed;
    done(ExecutionStatus::done, made_answer(400, "The operation is not an HTTP request.\n"));
    return;
  }
  if (is_full_ && !needs_no_room(request_.method)) {
    ++counters_.refused_full;
    done(ExecutionStatus::done,
         made_answer(507,
                     "The state of the origin is full. Requests with DELETE are carried out.\n"));
    return;
  }
  auto owned = std::make_unique<Job>(static_cast<http::OriginHandler&>(*this), profile_,
                                     settings_.origin.answer_limits.body_bytes_max);
  Job& job = *owned;
  job.wire = origin_request(execution);
  // What was only checked is not to be kept: it may be a large one.
  if (request_.body.capacity() > kCheckedBytesKept) std::string().swap(request_.body);
  job.done = std::move(done);
  job.is_read = http::is_read_method(request_.method);
  if (execution.whole) {
    job.body = std::make_unique<SentBody>(execution.whole, job.is_read ? nullptr : &in_flight_);
  }
  job.sigma = execution.sigma;
  if (!job.is_read) job.method = request_.method;
  if (!job.is_read) job.target = request_.target;
  job.is_idempotent = http::is_idempotent_method(request_.method);
  job.request.wire = job.wire;
  job.request.body = job.body.get();
  job.request.body_begin = head.value_or(0);
  job.request.answers_head = request_.method == "HEAD";
  // What is too large of an answer to a write is let go as it comes.
  if (!job.request.answers_head) job.request.piece_bytes = profile_.block_bytes();
  // A kept-alive connection that breaks under a write leaves it open whether it was carried out.
  job.request.fresh_connection = !job.is_read;
  // Not pipelined: the agents of a group pair requests alike, and an origin's mistake about the end
  // of an answer would be agreed on as the answer to another request.
  job.request.repeat_when_stale = job.is_read;
  jobs_.emplace(&job.exchange, std::move(owned));
  send(job);
}

void HttpService::send(Job& job) {
  if (job.is_read || trust_ != OriginTrust::trusted) return send_recorded(job);
  job.send_number = ++sends_;
  in_flight_.begin([this, exchange = &job.exchange, number = sends_] {
    const auto entry = jobs_.find(exchange);  // it may have been given up meanwhile
    if (entry == jobs_.end() || entry->second->send_number != number) return;
    send_recorded(*entry->second);
  });
}

void HttpService::send_recorded(Job& job) {
  job.begun = std::chrono::steady_clock::now();
  if (trust_ == OriginTrust::trusted) return pool_.start(job.exchange, job.request);
  finish(job, job.is_read ? ExecutionStatus::unavailable : ExecutionStatus::lost, {});
}

void HttpService::snapshot(PartStore& parts, SnapshotDone done) {
  ++counters_.snapshots;
  if (!state_) return snapshot_no_state(parts, done);
  const bool is_checkpoint = !std::exchange(is_uncertain_, false);
  when_settled([this, &parts, is_checkpoint, done = std::move(done)] {
    state_->snapshot(parts, [this, is_checkpoint, done](Result<Digest> root) {
      on_snapshot(is_checkpoint, root);
      done(std::move(root));
    });
  });
}

void HttpService::when_settled(std::function<void()> begin) {
  if (std::chrono::steady_clock::now() >= settled_at_) return begin();
  settle_timer_.expires_at(settled_at_);
  settle_timer_.async_wait([begin = std::move(begin)](const boost::system::error_code& error) {
    if (!error) begin();
  });
}

// One that has grown too large between two checkpoints for a snapshot is full as well. A snapshot
// that fails for another reason has counted: a replica whose disk fails must not carry out what the
// others refuse.
void HttpService::on_snapshot(bool is_checkpoint, const Result<Digest>& root) {
  if (!root) ++counters_.snapshots_failed;
  if (!is_checkpoint) return;
  const bool is_too_large = !root && root.error().kind == ErrorKind::limit;
  note_fill(is_too_large ? kFullPercent : state_->fill_percent());
}

void HttpService::note_fill(std::uint64_t percent) {
  is_full_ = percent >= kFullPercent;
  if (on_fill_) on_fill_(percent);
}

void HttpService::restore(const PartStore& parts, const Digest& root, RestoreDone done) {
  ++counters_.restores;
  RestoreDone counted = [this, done = std::move(done)](Result<> restored) {
    on_restored(done, std::move(restored));
  };
  if (!state_) return restore_no_state(root, counted);
  when_settled([this, &parts, root, counted = std::move(counted)] {
    state_->restore(parts, root, counted);
  });
}

void HttpService::on_restored(const RestoreDone& done, Result<> restored) {
  is_uncertain_ = false;
  if (!restored) ++counters_.restores_failed;
  if (restored && state_) note_fill(state_->fill_percent());
  // An origin that is away has still to come back, and may do so with another state than this.
  if (restored && trust_ == OriginTrust::returned) trust_ = OriginTrust::trusted;
  done(std::move(restored));
}

void HttpService::adopt() {
  is_uncertain_ = false;
  if (trust_ == OriginTrust::returned) trust_ = OriginTrust::trusted;
}

void HttpService::on_pool_state(bool up) {
  if (on_state_) on_state_(up);
  if (up || !state_ || !on_return_ || trust_ == OriginTrust::away) return;
  trust_ = OriginTrust::away;
  probe_later();
}

void HttpService::probe_later() {
  probe_timer_.expires_after(kProbePause);
  probe_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || trust_ != OriginTrust::away || probe_.active()) return;
    http::ExchangeRequest request;
    request.wire = probe_text_;
    request.fresh_connection = true;
    pool_.start(probe_, request);
  });
}

void HttpService::on_probe_end(ExchangeEnd end) {
  if (trust_ != OriginTrust::away) return;
  const bool is_back = end == ExchangeEnd::answered || end == ExchangeEnd::malformed ||
                       end == ExchangeEnd::too_large;
  if (!is_back) return probe_later();
  trust_ = OriginTrust::returned;
  on_return_();
}

// What is on its way is waited for: no more than the answer time-out, and that of settling. A write
// that waits to be sent again ends here.
void HttpService::give_up() {
  std::vector<Job*> idle;
  for (const auto& [exchange, job] : jobs_) {
    job->is_given_up = true;
    if (!exchange->active() && !job->is_settling) idle.push_back(job.get());
  }
  repeat_timer_.cancel();
  for (Job* job : idle)
    finish_given_up(*job);
}

void HttpService::stop() {
  if (state_) state_->stop();
  probe_timer_.cancel();
  ticker_.stop();
  pool_.stop();
  repeat_timer_.cancel();
  settle_timer_.cancel();
  jobs_.clear();
}

void HttpService::on_exchange_progress(OriginExchange& exchange, http::Response& response) {
  Job& job = *jobs_.at(&exchange);
  if (!job.is_read) return take_piece(job, response);
  // Writes wait for reads, and nobody waits for this one any more.
  const bool is_too_late =
      job.is_given_up || std::chrono::steady_clock::now() - job.begun > kLargeAnswerMax;
  if (!is_too_late && job.collector.on_progress(response)) {
    // Each block has the time that a whole answer has.
    if (job.collector.bytes_let_go() > 0) exchange.extend();
    return;
  }
  exchange.cancel();
  refuse_answer(job);
}

// The answer to a write is taken to its end, however large: an origin that cannot send it all might
// end a handler in the middle. The time for it does not begin anew.
void HttpService::take_piece(Job& job, http::Response& response) {
  job.is_too_large =
      job.is_too_large || response.body.size() > settings_.origin.answer_limits.body_bytes_max;
  if (job.is_too_large) std::string().swap(response.body);
}

void HttpService::on_exchange_end(OriginExchange& exchange, ExchangeEnd end,
                                  http::Response& response) {
  if (&exchange == &probe_) return on_probe_end(end);
  const auto entry = jobs_.find(&exchange);
  ASSERT(entry != jobs_.end());
  Job& job = *entry->second;
  count(end);
  if (!is_unsent(end)) ++job.times_sent;
  if (end == ExchangeEnd::answered) {
    handle_answer(job, response);
  } else if (job.is_read) {
    finish(job, ExecutionStatus::unavailable, {});
  } else {
    handle_failed_write(job, end);
  }
}

void HttpService::count(ExchangeEnd end) {
  switch (end) {
    case ExchangeEnd::answered:
    case ExchangeEnd::stale:
      return;
    case ExchangeEnd::not_sent:
    case ExchangeEnd::overloaded:
    case ExchangeEnd::shed:
      ++counters_.origin_refused;
      return;
    case ExchangeEnd::broken:
      ++counters_.origin_broken;
      return;
    case ExchangeEnd::timed_out:
    case ExchangeEnd::delayed:
    case ExchangeEnd::quiet:
      ++counters_.origin_timeouts;
      return;
    case ExchangeEnd::malformed:
    case ExchangeEnd::too_large:
      ++counters_.origin_malformed;
      return;
    case ExchangeEnd::untrusted:
    case ExchangeEnd::expired:
    case ExchangeEnd::wrong_name:
    case ExchangeEnd::tls_failed:
      ++counters_.origin_tls_failures;
      return;
  }
}

void HttpService::handle_answer(Job& job, http::Response& response) {
  const bool answers_head = job.request.answers_head;
  if (!job.is_read) take_piece(job, response);
  sketch::AnswerForm form;
  const sketch::AnswerFault fault =
      job.is_read ? job.collector.finish(canonicalizer_, response, answers_head, form)
                  : canonicalizer_.canonicalize(response, answers_head, form);
  Bytes result;
  if (fault == sketch::AnswerFault::none) result = sketch::encode(form);
  const bool is_usable = fault == sketch::AnswerFault::none && !job.is_too_large &&
                         result.size() <= settings_.result_bytes_max;
  if (!is_usable) return refuse_answer(job);
  ++counters_.executed;
  if (!job.is_read && job.times_sent > 1) return finish(job, ExecutionStatus::unavailable, {});
  finish(job, ExecutionStatus::done, std::move(result));
}

void HttpService::refuse_answer(Job& job) {
  ++counters_.origin_malformed;
  const bool is_known = !job.is_read && job.times_sent == 1;
  if (!is_known) return finish(job, ExecutionStatus::unavailable, {});
  ++counters_.executed;
  finish(job, ExecutionStatus::done,
         made_answer(502, "The origin's answer to this request is too large or not admissible.\n"));
}

void HttpService::handle_failed_write(Job& job, ExchangeEnd end) {
  job.failed_by = end;
  if (end == ExchangeEnd::timed_out && state_) return settle(job);
  if (job.is_given_up) return finish_given_up(job);
  if (is_unsent(end)) return repeat_later(job);
  const bool has_broken = end == ExchangeEnd::broken || end == ExchangeEnd::stale;
  // Where the state can be restored, all replicas compare theirs before anything is repeated.
  const bool may_repeat = job.is_idempotent && has_broken && !state_;
  if (!may_repeat || job.times_sent > kRepeatsMax) return finish_uncertain(job);
  repeat_later(job);
}

// Nothing is begun, and no state is looked at or replaced, before the origin must have given it up.
void HttpService::settle(Job& job) {
  job.is_settling = true;
  const TimePoint sent_at = job.body ? std::max(job.begun, job.body->last_read_at()) : job.begun;
  settle_timer_.expires_at(sent_at + settings_.times.write_settle);
  settle_timer_.async_wait(
      [this, exchange = &job.exchange](const boost::system::error_code& error) {
        const auto entry = jobs_.find(exchange);  // stop() may have come in between
        if (error || entry == jobs_.end()) return;
        Job& settled = *entry->second;
        if (settled.is_given_up) return finish_given_up(settled);
        finish_uncertain(settled);
      });
}

void HttpService::repeat(Job& job) {
  ++counters_.repeated;
  send(job);
}

void HttpService::repeat_later(Job& job) {
  if (trust_ != OriginTrust::trusted) return finish(job, ExecutionStatus::lost, {});
  repeat_timer_.expires_after(repeat_pause_);
  repeat_pause_ = std::min(repeat_pause_ * 2, kRepeatPauseMax);
  repeat_timer_.async_wait(
      [this, exchange = &job.exchange](const boost::system::error_code& error) {
        const auto entry = jobs_.find(exchange);  // stop() may have come in between
        if (!error && entry != jobs_.end()) repeat(*entry->second);
      });
}

void HttpService::finish(Job& job, ExecutionStatus status, Bytes result) {
  if (status == ExecutionStatus::unavailable) ++counters_.unavailable;
  if (!job.is_read) {
    repeat_pause_ = kRepeatPauseMin;
    in_flight_.end();
  }
  const Done done = std::move(job.done);
  jobs_.erase(&job.exchange);
  done(status, std::move(result));
}

void HttpService::finish_given_up(Job& job) {
  ++counters_.given_up;
  finish(job, ExecutionStatus::unavailable, {});
}

void HttpService::finish_uncertain(Job& job) {
  ++counters_.uncertain_writes;
  if (on_uncertain_) on_uncertain_({job.method, job.target, job.sigma, job.failed_by});
  if (trust_ != OriginTrust::trusted) return finish(job, ExecutionStatus::lost, {});
  is_uncertain_ = state_ != nullptr;
  finish(job, state_ ? ExecutionStatus::uncertain : ExecutionStatus::done,
         made_answer(502,
                     "The origin gave no answer to this request that could be used. Whether it was "
                     "carried out is not known.\n"));
}

Bytes HttpService::made_answer(std::uint16_t status, std::string_view text) {
  http::Response response;
  response.status = status;
  response.fields.add("content-type", "text/plain");
  response.body = text;
  sketch::AnswerForm form;
  const sketch::AnswerFault fault = canonicalizer_.canonicalize(response, false, form);
  ASSERT(fault == sketch::AnswerFault::none);
  return sketch::encode(form);
}

}  // namespace prophecy::pbft
