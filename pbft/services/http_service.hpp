// Runs agreed operations on an unmodified HTTP origin. An operation is the text of one HTTP/1.1
// request, which the origin gets as pbft/services/origin_request.hpp says. Its result is the
// encoded canonical form of the origin's answer (sketch::encode), so that the group agrees on
// exactly what a client will receive. What a read's answer has beyond a whole one is hashed in
// blocks as it comes, and let go.
//
// When the origin fails:
//
//   read    any failure                  unavailable: no vote. A kept-alive connection that was
//                                        closed under the request is replaced once before.
//   write   nothing of it has been sent  tried again for ever. Meanwhile this replica stands
//                                        still and counts as crashed: it must not skip a write.
//                                        Where the state can be restored: lost, see below
//   write   a whole answer that is too   a 502, the same at all replicas: the write was carried out
//           large or cannot be agreed on
//   write   otherwise: the connection    stateless: a 502, the same at all replicas, that says that
//           has broken, no answer in     nobody knows. An idempotent write whose connection broke
//           is time, no HTTP                repeated first, kRepeatsMax times; what is answered
//           then may
//                                        be the answer to the second of two (204 for 201), and the
//                                        result is unavailable.
//                                        Where the state can be restored: uncertain
//
// A write that timed out is never sent again: its first copy may be carried out at any time, also
// behind writes that came later. Where the state can be restored, nothing is begun, and no state is
// looked at or replaced, for `write_settle` from when its last byte was sent: then the origin has
// given it up.
// A write whose connection the origin has closed is over at once. An agent that is killed leaves
// the origin with the write that it had sent: the next one waits likewise, before it looks at a
// state or replaces it (WriteInFlight).
//
// A request that is too large for memory has to declare its length. Its body is read out of the
// store as the origin takes it; the time for the answer begins anew with each 8 MiB.
//
// Writes never travel on a kept-alive connection, so that an origin which closes idle connections
// does not make them uncertain.
//
// Where the state is full at a checkpoint, requests are answered with an agreed 507, and not sent,
// until it is no longer so at a later one: all replicas in one state say the same. DELETE and safe
// methods (OPTIONS and PROPFIND are ordered as well) are carried out all the same.
//
// An origin that took no connection for a while may come back with another state (OriginTrust):
//
//      trusted --- a connection was not taken ---> away --- it answers again ---> returned
//         ^                                                                          |
//         +-------------------- a restore has succeeded -----------------------------+
//
// An origin that goes away again before the restore is `away` once more.
//
// Unless it is trusted nothing is sent to it: reads are unavailable, writes are lost, which a
// restore and a second execution make good. That is so only where its state is the group's concern,
// and somebody has asked to be told (on_return()).
//
// Single-threaded. Its io_context must not run any more once the service is destroyed.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <unordered_map>

#include <boost/asio/steady_timer.hpp>

#include "base/ids.hpp"
#include "base/io/timeout_ticker.hpp"
#include "canonical/answer_collector.hpp"
#include "canonical/profile.hpp"
#include "http/client/origin_pool.hpp"
#include "pbft/services/service.hpp"
#include "pbft/services/state/state_settings.hpp"
#include "pbft/services/state_keeper.hpp"
#include "pbft/services/write_in_flight.hpp"

namespace prophecy::pbft {

struct OriginTimes {
  Duration connect = seconds(1);
  Duration answer = seconds(10);  // from the start of the exchange to its last byte
  Duration idle = seconds(4);     // kept-alive connections are closed by us after this
  // So long after its last byte was sent, a write that timed out may still be carried out.
  Duration write_settle = seconds(30);
};

struct HttpServiceSettings {
  NodeId replica = 0;
  http::OriginSettings origin;
  OriginTimes times;
  StateSettings state;
  std::filesystem::path in_flight{};    // see WriteInFlight
  std::size_t operation_bytes_max = 0;  // required
  std::size_t result_bytes_max = 0;     // required; of an encoded answer
};

enum class OriginTrust : std::uint8_t { trusted, away, returned };

class HttpService final : public Service, private http::OriginHandler {
 public:
  // `profile` must outlive the service.
  HttpService(boost::asio::io_context& io, const HttpServiceSettings& settings,
              const sketch::Profile& profile);
  ~HttpService() override;

  [[nodiscard]] Result<> open() override;
  [[nodiscard]] bool is_read(ByteView operation) const override;
  void execute(const Execution& execution, Done done) override;
  void snapshot(PartStore& parts, SnapshotDone done) override;
  void restore(const PartStore& parts, const Digest& root, RestoreDone done) override;
  void adopt() override;
  [[nodiscard]] bool may_undo() const override { return state_ != nullptr; }
  [[nodiscard]] bool is_away() const override { return trust_ == OriginTrust::away; }
  void give_up() override;
  void stop() override;

  // Called when the origin stops taking connections (false), and when it answers again (true).
  void on_origin_state(std::function<void(bool up)> callback) { on_state_ = std::move(callback); }
  // Called for each write without a usable answer.
  struct UncertainWrite {
    std::string_view method;
    std::string_view target;
    std::uint64_t sigma = 0;
    http::ExchangeEnd reason = http::ExchangeEnd::broken;
  };
  void on_uncertain_write(std::function<void(const UncertainWrite&)> callback) {
    on_uncertain_ = std::move(callback);
  }
  // Called when the file `in_flight` could not be written (errno): once until it could.
  void on_unrecorded_write(std::function<void(int error)> callback) {
    in_flight_.on_failure(std::move(callback));
  }
  // Called after each snapshot and restore that succeeded: how full the state is.
  void on_fill(std::function<void(std::uint64_t percent)> callback) {
    on_fill_ = std::move(callback);
  }
  // Called when the origin is back, and not trusted: to be followed by a restore of the last state
  // that is certain, behind which what came after it is executed once more.
  void on_return(std::function<void()> callback) { on_return_ = std::move(callback); }

  [[nodiscard]] Duration left_behind() const override {
    return std::max<Duration>(settled_at_ - std::chrono::steady_clock::now(), Duration::zero());
  }
  [[nodiscard]] OriginTrust trust_in_origin() const { return trust_; }
  [[nodiscard]] const http::OriginPool& origin() const { return pool_; }

 private:
  class SentBody;
  struct Job;

  void on_exchange_progress(http::OriginExchange& exchange, http::Response& response) override;
  void on_exchange_end(http::OriginExchange& exchange, http::ExchangeEnd end,
                       http::Response& response) override;
  void on_pool_state(bool up);
  void probe_later();
  void on_probe_end(http::ExchangeEnd end);
  // Once nothing runs at the origin that an earlier process has sent.
  void when_settled(std::function<void()> begin);
  void on_restored(const RestoreDone& done, Result<> restored);
  void on_snapshot(bool is_checkpoint, const Result<Digest>& root);
  void note_fill(std::uint64_t percent);
  void send(Job& job);
  void send_recorded(Job& job);
  void count(http::ExchangeEnd end);
  void handle_answer(Job& job, http::Response& response);
  void take_piece(Job& job, http::Response& response);
  void refuse_answer(Job& job);
  void handle_failed_write(Job& job, http::ExchangeEnd end);
  void settle(Job& job);
  void repeat(Job& job);
  void repeat_later(Job& job);
  void finish(Job& job, ExecutionStatus status, Bytes result);
  void finish_given_up(Job& job);
  void finish_uncertain(Job& job);
  [[nodiscard]] Bytes made_answer(std::uint16_t status, std::string_view text);

  HttpServiceSettings settings_;
  http::OriginTimeouts timeouts_;
  TimeoutTicker ticker_;
  http::OriginPool pool_;
  const sketch::Profile& profile_;
  sketch::AnswerCanonicalizer canonicalizer_;
  http::Request request_;  // scratch: an operation while it is checked
  http::MessageLimits request_limits_;
  http::RequestParser request_parser_;
  std::unordered_map<http::OriginExchange*, std::unique_ptr<Job>> jobs_;
  boost::asio::steady_timer repeat_timer_;  // of the one write that runs
  Duration repeat_pause_;
  boost::asio::steady_timer settle_timer_;  // likewise; and for what is left behind
  WriteInFlight in_flight_;
  std::uint64_t sends_ = 0;
  TimePoint settled_at_{};              // of what an earlier process has left
  std::unique_ptr<StateKeeper> state_;  // null: stateless
  std::function<void(bool)> on_state_;
  std::function<void()> on_return_;
  std::function<void(const UncertainWrite&)> on_uncertain_;
  std::function<void(std::uint64_t)> on_fill_;
  bool is_full_ = false;
  bool is_uncertain_ = false;  // the next snapshot is for comparison, at no place of a checkpoint
  OriginTrust trust_ = OriginTrust::trusted;
  http::OriginExchange probe_;  // asks an origin that is away whether it is back
  std::string probe_text_;
  boost::asio::steady_timer probe_timer_;
};

}  // namespace prophecy::pbft
