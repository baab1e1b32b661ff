// Clients' connections in virtual time, around a session each: what a client sends and takes, how
// much its socket holds, and what answers its requests. The time-outs wait in the queues of the
// real worker.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#ifndef REQUIRE  // tests/fuzz/expect.hpp
#include <catch2/catch.hpp>
#endif

#include "canonical/answer_form.hpp"
#include "sketcher/answer/answer.hpp"
#include "sketcher/client/http/session_context.hpp"
#include "sketcher/client/session/session_turn.hpp"

namespace prophecy::sketcher::session_test {

inline const TimePoint kStart = TimePoint(std::chrono::hours(1));

// In place of an exchange: answers when it is told to, or at once.
class Handler final : public RequestHandler {
 public:
  // That a head's form takes, once it was looked at.
  static constexpr std::size_t kFormBytes = 5'000;

  // `all` are those that exist.
  Handler(AnswerSink& sink, std::vector<Handler*>& all) : sink_(sink), all_(all) {
    all_.push_back(this);
  }
  ~Handler() override { std::erase(all_, this); }

  void start(http::Request& request, const ClientInfo& /*client*/, TimePoint now) override {
    asked.push_back(request.method + " " + request.target + " " + request.body);
    started.push_back(now);
    method = request.method;
    request_ = &request;
    busy = true;
    relays = has_room = has_begun = false;
    if (answers_at_once) answer(request.target);
    if (tunnels) {
      busy = false;
      sink_.on_tunnel({.wire = "wire", .upgrade = "echo"});
    }
  }
  [[nodiscard]] std::optional<sketch::Refusal> refuse_by_head(const http::Request& /*request*/,
                                                              const ClientInfo& /*client*/,
                                                              std::uint64_t /*bytes*/) override {
    form_bytes_ = kFormBytes;
    return refusal;
  }
  void abandon() override { busy = relays = false; }
  void on_writable() override {
    ++writable;
    has_room = true;
  }
  [[nodiscard]] bool reads_fast() const override { return busy && !group && !relays; }
  [[nodiscard]] bool asks_group() const override { return busy && group && !relays; }
  [[nodiscard]] bool is_idle() const override { return !busy; }
  void shrink(std::size_t /*bytes_max*/) override { form_bytes_ = 0; }
  [[nodiscard]] std::size_t request_bytes() const override { return form_bytes_; }

  void answer(std::string body) {
    busy = false;
    http::Response response;
    const sketch::AnswerForm form = form_of(response, std::move(body));
    sink_.on_answer(form, std::nullopt, &response.body);
  }
  void fail(std::uint16_t status) {
    busy = false;
    sink_.on_error(status, "test");
  }
  // Before an answer in blocks: whether its sink has room, now or after on_writable().
  bool may_begin_large(std::uint32_t block_bytes) {
    relays = true;
    has_room = sink_.may_take_blocks(block_bytes);
    return has_room;
  }
  [[nodiscard]] bool has_left() const { return sink_.has_left(); }
  // So many bytes of such an answer does the client want.
  [[nodiscard]] std::uint64_t wanted_of_large(std::uint64_t bytes) {
    http::Response response;
    sketch::AnswerForm form = form_of(response, "");
    form.blocks.length = bytes;
    const AnswerContext context{.answers_head = method == "HEAD",
                                .conditions = conditions_of(*request_),
                                .date = {},
                                .via = {}};
    return Answer(form, std::nullopt, context).size();
  }
  // An answer of so many bytes, of which part_of_large() hands over the next ones.
  void begin_large(std::uint64_t bytes) {
    relays = has_room = has_begun = true;
    http::Response response;
    sketch::AnswerForm form = form_of(response, "");
    form.blocks.length = bytes;
    sink_.on_large_begin(form, std::nullopt);
  }
  bool part_of_large(std::string part) {
    const std::size_t size = part.size();
    has_room = false;
    const bool goes_on = sink_.on_large_bytes(part, 0, size);
    has_room = has_room || goes_on;
    return goes_on;
  }
  void end_large(bool whole = true) {
    busy = relays = false;
    sink_.on_large_end(whole);
  }

  std::vector<std::string> asked;  // METHOD TARGET BODY
  std::vector<TimePoint> started;
  std::optional<sketch::Refusal> refusal;  // of what has a body
  std::string method;                      // of the last one
  int writable = 0;
  // Of an answer in blocks:
  bool relays = false;     // it is under way
  bool has_begun = false;  // its head is handed over
  bool has_room = false;   // its sink takes more
  bool answers_at_once = false;
  bool tunnels = false;
  bool group = false;  // the group is asked
  bool busy = false;

 private:
  sketch::AnswerForm form_of(http::Response& response, std::string body) {
    response.status = 200;
    response.fields.add("content-type", "text/plain");
    response.body = std::move(body);
    sketch::AnswerForm form;
    REQUIRE(canonicalizer_.canonicalize(response, false, form) == sketch::AnswerFault::none);
    return form;
  }

  std::size_t form_bytes_ = 0;
  AnswerSink& sink_;
  std::vector<Handler*>& all_;
  const http::Request* request_ = nullptr;
  sketch::Profile profile_;
  sketch::AnswerCanonicalizer canonicalizer_{profile_};
};

class World : private RequestHandlers {
 public:
  virtual ~World() = default;

  // All time-outs that are due until then come when they are.
  void advance(Duration by) {
    const TimePoint end = now + by;
    for (;;) {
      std::optional<TimePoint> next;
      for (const TimeoutQueue* queue : queues_) {
        if (const auto due = queue->next(); due && (!next || *due < *next)) next = due;
      }
      if (!next || *next > end) break;
      now = std::max(now, *next);
      for (TimeoutQueue* queue : queues_)
        queue->expire(now);
    }
    now = end;
  }
  // Of the session that was made last.
  [[nodiscard]] Handler& handler() { return *handlers_.back(); }
  [[nodiscard]] const std::vector<Handler*>& handlers() const { return handlers_; }
  // Something has a time.
  [[nodiscard]] bool waits() const {
    return std::any_of(queues_.begin(), queues_.end(),
                       [](const TimeoutQueue* queue) { return queue->next().has_value(); });
  }

  [[nodiscard]] std::uint64_t timeouts() const { return counters.timeouts.get(); }
  [[nodiscard]] std::uint64_t refused() const { return unrouted.refused.get(); }

  TimePoint now = kStart;
  ConnectionTimeouts timeouts_of{.handshake = TimeoutQueue(seconds(10)),
                                 .header = TimeoutQueue(seconds(10)),
                                 .body = TimeoutQueue(seconds(20)),
                                 .idle = TimeoutQueue(seconds(60)),
                                 .send = TimeoutQueue(seconds(30)),
                                 .linger = TimeoutQueue(seconds(1)),
                                 .presence = TimeoutQueue(milliseconds(200)),
                                 .tunnel_connect = TimeoutQueue(seconds(1)),
                                 .tunnel_answer = TimeoutQueue(seconds(1)),
                                 .tunnel = TimeoutQueue(seconds(1)),
                                 .tunnel_half_closed = TimeoutQueue(seconds(1)),
                                 .lull = TimeoutQueue(seconds(1)),
                                 .rest = TimeoutQueue(seconds(60)),
                                 .after_lull = seconds(59)};
  WorkerCounters counters{};
  RequestCounters unrouted{};
  HeldBytes untaken{8 << 20, counters.untaken_bytes, [this] { too_much_untaken = true; }};
  HeldBytes arriving{1 << 20, counters.arriving_bytes, [] {}};
  HeldBytes asking{1 << 20, counters.asking_bytes, [] {}};
  bool too_much_untaken = false;

 private:
  [[nodiscard]] std::unique_ptr<RequestHandler> make(AnswerSink& sink) override {
    return std::make_unique<Handler>(sink, handlers_);
  }

  // Mapped once: it is there for as long as a process.
  static SharedState& shared() {
    alignas(64) static std::array<std::byte, 4096> numbers{};
    static SharedState mapped =
        *SharedState::map({.workers = 1, .groups = 1, .routes = 1, .origins = 1}, numbers);
    return mapped;
  }

  std::vector<Handler*> handlers_;  // of all sessions
  http::MessageLimits limits_{.body_bytes_max = 4 << 20};
  http::BodyPool bodies_{8 << 20};
  DateCache date_;
  SpoolSettings spool_settings_{1 << 20, "/tmp", 1 << 30, 1};
  Spool spool_{spool_settings_, SpoolSpace(shared(), counters.spool, 1 << 30),
               counters.spool,  false,
               SlowBodies(1),   seconds(100)};
  std::vector<TimeoutQueue*> queues_{&timeouts_of.header, &timeouts_of.body,     &timeouts_of.idle,
                                     &timeouts_of.send,   &timeouts_of.presence, &timeouts_of.lull};

 public:
  SessionResources resources{.limits = limits_,
                             .via = "1.1 test",
                             .spool = spool_,
                             .untaken = untaken,
                             .arriving = arriving,
                             .asking = asking,
                             .bodies = bodies_,
                             .counters = counters,
                             .unrouted = unrouted,
                             .date = date_,
                             .handlers = *this};
};

// One connection. Its socket holds `socket_bytes` that the client has not taken.
template <class SessionKind>
class Client final : private SessionHost, private TimeoutEntry {
 public:
  explicit Client(World& world, std::size_t holds = 1 << 20) requires
      std::constructible_from<SessionKind, SessionResources&, SessionHost&>
      : socket_bytes(holds), world_(world), session_(world.resources, *this) {}
  Client(World& world, Http2Resources& http2, std::size_t holds = 1 << 20)
      : socket_bytes(holds), world_(world), session_(world.resources, http2, *this) {}

  // The connection has read the first bytes.
  void begin(std::string_view first) { session_.start(first, world_.now); }
  void send(std::string_view bytes) {
    incoming_ += bytes;
    tell();
  }
  // It ends its sending.
  void end_sending() {
    ended_ = true;
    tell();
  }
  void reset() {
    ended_ = broken_ = true;
    tell();
  }
  // So much of what its socket holds; with `quietly`, the kernel does not say that it has room.
  std::string take(std::size_t bytes, bool quietly = false) {
    std::string taken = queued_.substr(0, bytes);
    queued_.erase(0, bytes);
    if (!quietly) tell();
    return taken;
  }
  std::string take_all() {
    std::string all;
    while (!queued_.empty() && !over())
      all += take(queued_.size());
    return all + std::exchange(queued_, {});
  }
  // One turn of the loop, if the session has asked for it. False: it has not.
  bool turn() {
    if (!std::exchange(again_, false) || over()) return false;
    session_.on_ready(world_.now);
    return true;
  }
  void drain() { session_.drain(); }

  [[nodiscard]] bool over() const { return finished || closed || tunnel.has_value(); }
  [[nodiscard]] const std::string& queued() const { return queued_; }
  [[nodiscard]] const std::string& unread() const { return incoming_; }
  [[nodiscard]] bool waits() const { return armed(); }
  [[nodiscard]] bool idles() const { return session_.idles(); }

  std::size_t socket_bytes;
  bool finished = false;  // the answers are written, what comes is discarded
  bool closed = false;
  std::optional<TunnelRequest> tunnel;
  std::string tunnelled;  // read behind the request for a tunnel

 private:
  void tell() {
    if (!over()) session_.on_ready(world_.now);
  }
  void on_timeout() override { session_.on_late(world_.now); }
  void on_give_way() override { session_.on_no_room(world_.now); }
  [[nodiscard]] std::size_t held_bytes() const override {
    return static_cast<const Session&>(session_).held_bytes();
  }

  [[nodiscard]] const ClientInfo& client() const override { return info_; }
  [[nodiscard]] TimePoint now() const override { return world_.now; }
  [[nodiscard]] transport::IoResult write(std::string_view first,
                                          std::string_view second) override {
    if (broken_) return {transport::IoStatus::failed, 0};
    const std::size_t room = socket_bytes - queued_.size();
    const std::size_t of_first = std::min(first.size(), room);
    const std::size_t size = of_first + std::min(second.size(), room - of_first);
    queued_.append(first, 0, of_first).append(second, 0, size - of_first);
    if (size == 0) return {transport::IoStatus::blocked, 0};
    return {transport::IoStatus::done, size};
  }
  [[nodiscard]] std::size_t queued_bytes() const override { return queued_.size(); }
  [[nodiscard]] bool broken() const override { return broken_; }
  void wait(Wait what, TimePoint now) override { world_.timeouts_of.of(what).arm(*this, now); }
  void stop_waiting() override { disarm(); }
  void take_input(TimePoint now) override {
    if (in_turn_) return;
    in_turn_ = true;
    read_turn(session_, *this, now, [this](char* into, std::size_t size) {
      const std::size_t read = incoming_.copy(into, size);
      incoming_.erase(0, read);
      if (read > 0) return transport::IoResult{transport::IoStatus::done, read};
      if (broken_) return transport::IoResult{transport::IoStatus::failed, 0};
      if (ended_) return transport::IoResult{transport::IoStatus::ended, 0};
      return transport::IoResult{transport::IoStatus::blocked, 0};
    });
    in_turn_ = false;
  }
  [[nodiscard]] bool has_input() const override { return !incoming_.empty() || ended_; }
  void call_again() override { again_ = true; }
  void become_tunnel(TunnelRequest request, std::string_view read) override {
    tunnel = std::move(request);
    tunnelled = read;
  }
  void finish() override {
    finished = true;
    session_.abandon();
  }
  void close() override {
    closed = true;
    disarm();
    session_.abandon();
  }

  World& world_;
  ClientInfo info_{.address = "192.0.2.1"};
  std::string incoming_;  // sent, and not read
  std::string queued_;    // written, and not taken by the client
  bool ended_ = false;
  bool broken_ = false;
  bool again_ = false;
  bool in_turn_ = false;
  SessionKind session_;
};

}  // namespace prophecy::sketcher::session_test
