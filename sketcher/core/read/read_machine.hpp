// `ReadMachine` answers one client's request: it runs Algorithm 1 of the paper (section 3.3.1), or
// what else the route says, against the history and one replica group. States:
//
//   idle --start--> fast <--(another origin)       one origin's answer is awaited
//     |              |  |
//     |              |  +--> deliver --> idle
//     |              +-----> shared ---> idle       Algorithm 1: the group's answer to a read
//     +--------------+-----> ordered --> idle       a call without the history
//     |              |          |
//     |              |          +--> raising --> ...  floors of partitions that others own
//     +--------------+----------+--> opening --> relaying --> idle
//                                                   a body in blocks of an agreed list, or in
//                                                   unverified pieces; may go back to `shared`
//
// Each event may add actions to actions(), which the shell carries out in order before it reports
// the next event; actions of the group (GroupCore::actions) come first. A request ends with exactly
// one of deliver, refuse, move and end_body, unless it is abandoned; then the machine is idle, and
// may be started again from within that action.
//
// In a ring (acceptance.hpp), each request has a claim, by which every answer is accepted. `move`
// ends one that may not be accepted here. A write is never moved once the group has carried it out,
// or may have: it waits in state `raising` until the floors that it names are raised, wherever
// their partitions belong. One that the group has refused for its view is moved.
//
// One object serves one request after another. Deterministic; single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange_end.hpp"
#include "http/message.hpp"
#include "sketcher/core/policy/route_mode.hpp"
#include "sketcher/core/policy/slow_path_budget.hpp"
#include "sketcher/core/read/body_relay.hpp"
#include "sketcher/core/read/group_core.hpp"
#include "sketcher/core/read/origin_asks.hpp"
#include "sketcher/core/read/read_action.hpp"
#include "sketcher/core/read/read_algorithm.hpp"
#include "sketcher/core/read/write_invalidation.hpp"

namespace prophecy::sketcher {

// An admitted request. All that it refers to stays as it is until the machine is idle.
struct ReadRequest {
  const sketch::RequestForm* form = nullptr;
  std::string_view method;
  std::string_view scheme;  // static text
  bool is_options = false;  // safe, and nothing that the history remembers (RFC 9110, 9.3.7)
  RouteMode mode = RouteMode::enforce;
  Reads reads = Reads::delay_once;
  Mark listed = Mark::none;  // by the route's lists
  bool may_hedge = false;
  bool has_invalidation = true;
  bool was_moved = false;  // it has been counted
  std::uint32_t route = 0;
  RequestCounters* counters = nullptr;  // the route's
  SlowPathBudget* budget = nullptr;     // the route's; null: without limits
};

class ReadMachine {
 public:
  enum class State : std::uint8_t { idle, fast, shared, ordered, raising, opening, relaying };
  using Ends = std::array<http::ExchangeEnd, OriginAsks::kSlots>;

  // `waiter` is the shell of this machine, which reports shared results to it.
  ReadMachine(WorkerReads& worker, SharedReadWaiter& waiter)
      : worker_(worker), waiter_(waiter), asks_(actions_) {}
  ReadMachine(const ReadMachine&) = delete;
  ReadMachine& operator=(const ReadMachine&) = delete;

  // ---- Events.
  void start(const ReadRequest& request, GroupCore& group, TimePoint now);
  // The exchange of `slot` has ended with an answer. The response may be taken apart.
  void on_origin_answer(std::uint8_t slot, http::Response& response, TimePoint now);
  void on_origin_failure(std::uint8_t slot, http::ExchangeEnd end, TimePoint now);
  // An answer in pieces: its head is complete, or a piece is there.
  void on_origin_progress(std::uint8_t slot, http::Response& response, TimePoint now);
  // The request's own call. The answer has to last until the actions are carried out.
  void on_group_answer(const replica_client::ReplicatedAnswer& answer);
  void on_group_failure(replica_client::ReplicatedFailure failure);
  void on_shared_result(const SharedResult& result, TimePoint now);
  // The owner of the partition has raised this one of owed_floors().
  void on_floor_raised(std::size_t index);
  // The owners may be others by now.
  void on_floor_time();
  void on_hedge_time(TimePoint now) { asks_.on_hedge_time(now); }
  // The time for this read is over. `ends` are how its exchanges end without more time.
  void on_deadline(const Ends& ends);
  void on_untaken_time() { large_->relay.on_untaken_time(); }
  // The client's answer to ask_client: whether it has left; whether it takes pieces now; and what
  // it wants of the body.
  struct ClientView {
    bool has_left = false;
    bool may_begin = true;
    std::uint64_t first = 0;
    std::uint64_t size = 0;
  };
  void on_client(const ClientView& client, TimePoint now);
  void on_begun(TimePoint now);                // after begin_body
  void on_sent(bool writable, TimePoint now);  // after send_body
  void on_writable(TimePoint now);
  // The client has left.
  void abandon();

  // ---- What actions refer to.
  [[nodiscard]] ReadActions& actions() { return actions_; }
  // The text for an origin, and for the request's own call to the group.
  [[nodiscard]] std::string_view wire() const {
    return state_ == State::relaying ? large_->relay.wire() : request_.form->wire;
  }
  [[nodiscard]] replica_client::FastForm asked() const {
    return state_ == State::relaying ? large_->relay.asked() : asks_.asked();
  }
  [[nodiscard]] replica_client::ReplicatedKind call_kind() const { return call_kind_; }
  // Likewise: the ring's view that the call is made in; 0: none.
  [[nodiscard]] std::uint64_t call_view() const { return call_view_; }
  [[nodiscard]] const sketch::AnswerForm& answer() const {
    ASSERT(!is_borrowed_ || group_->group.forms_read() == forms_read_);
    return answer_;
  }
  // Present when the answer is verified and may be sketched.
  [[nodiscard]] const std::optional<Sketch>& answer_sketch() const { return answer_sketch_; }
  [[nodiscard]] const Sketch& key() const { return key_; }
  // In state `raising`. One that was raised has no group any more.
  [[nodiscard]] const OwedFloors& owed_floors() const { return raising_->owed; }
  // The sketch of the last answer of one origin to this read, judged or observed, if it may be
  // sketched. For the access log.
  [[nodiscard]] const std::optional<Sketch>& origin_sketch() const { return origin_sketch_; }
  struct Refused {
    std::uint16_t status = 0;
    std::string_view reason;  // static text
  };
  [[nodiscard]] const Refused& refusal() const { return refusal_; }

  [[nodiscard]] State state() const { return state_; }
  // A read whose answer may have no end. Of a request that has begun.
  [[nodiscard]] bool is_streamed() const {
    return request_.mode == RouteMode::stream && request_.form->is_read && !request_.form->is_head;
  }
  [[nodiscard]] bool is_idle() const { return state_ == State::idle; }
  // Changes with each request, and when one is abandoned.
  [[nodiscard]] std::uint32_t serial() const { return serial_; }
  [[nodiscard]] GroupCore& group() { return *group_; }
  // Beyond the request's form.
  [[nodiscard]] std::size_t request_bytes() const {
    return large_ ? large_->relay.request_bytes() + large_->constant_wire.capacity() : 0;
  }

 private:
  // What made the entry that a look-up of this read has found out of date.
  enum class OutOfDate : std::uint8_t { no, by_import, by_write };
  // What a body in blocks or pieces needs; made for the first one.
  struct Large {
    Large(ReadActions& actions, LargeCounters& counters) : relay(actions, counters) {}
    BodyRelay relay;
    BodyRelay::Source source{};
    BlockLists::List list;  // while it is opened
    std::optional<Sketch> sketch;
    std::string constant_wire;
    Counter* answered = nullptr;         // until the client has the head
    std::uint8_t slot = 0;               // of an unverified body
    http::Response* response = nullptr;  // likewise, while it is opened
    bool has_ended = false;              // likewise: the client wants none of it
  };
  // The outcome of a write that waits for floors.
  struct Raising {
    OwedFloors owed;
    Bytes answer;  // an encoded form; empty: it has failed
    Refused refusal;
    Counter* answered = nullptr;
  };

  void start_read(TimePoint now);
  void start_delay_once(TimePoint now);
  // Takes the claim. False: nothing can be accepted here.
  [[nodiscard]] bool take_claim(Partition partition);
  [[nodiscard]] bool may_accept(dht::Basis basis) const {
    return group_->group.may_accept(claim_, basis);
  }
  void ask_one(const replica_client::FastForm& asked, TimePoint now);
  void ask_call(replica_client::ReplicatedKind kind);
  // The entry of the history for this read: none, if a write has made it out of date; the mark
  // alone, if the route's lists have the request. Of a list and an operator's mark, the safer
  // decides.
  [[nodiscard]] ReadAlgorithm::Lookup look_up();
  [[nodiscard]] ReadAlgorithm::Lookup second_look_up(const std::optional<Sketch>& answer);
  [[nodiscard]] bool avoids_fast_read(const ReadAlgorithm::Lookup& entry, TimePoint now);
  [[nodiscard]] ActivityTable::Request activity() const;
  // Whether the route's budget has room for a call to the group. What a write has made out of date
  // takes none of it: a client's writes would use up what others' reads need.
  [[nodiscard]] bool is_within_budget(bool may_share, TimePoint now);
  [[nodiscard]] bool is_forced();

  void on_fast_answer(std::uint8_t slot, http::Response& response, TimePoint now);
  void on_unjudged_answer(const sketch::AnswerForm& form, bool is_usable, http::Response& response,
                          TimePoint now);
  // The group's answer will show whether it is too large as well.
  void on_too_large_answer(Evidence evidence, TimePoint now);
  void on_fast_failure(http::ExchangeEnd end, TimePoint now);
  void deliver_observed(const sketch::AnswerForm& form, http::Response& response, TimePoint now);
  // Asks the group through the reads that are under way.
  void ask_shared(bool may_share, TimePoint now);
  void ask_shared_within_budget(bool may_share, TimePoint now, bool asks_again = false);
  // What it returns has to be raised before the client has the answer.
  [[nodiscard]] OwedFloors on_write_answered(const sketch::AnswerForm& form,
                                             const SigmaOrder::Placed& placed);
  void answer_ordered(const sketch::AnswerForm& form, Counter& answered);
  void wait_for_floors(Raising outcome);
  void end_raising();
  [[nodiscard]] bool changes_state() const {
    return !request_.form->is_read && !request_.is_options;
  }

  // read_machine_body.cpp: bodies in blocks and in pieces.
  [[nodiscard]] bool start_remembered(const Sketch& sketch);
  [[nodiscard]] BlockLists::List find_stored(const Sketch& sketch);
  void start_agreed(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                    Counter& answered);
  void open(BodyRelay::Source source, BlockLists::List list, const std::optional<Sketch>& sketch,
            Counter& answered);
  void open_unverified(std::uint8_t slot, http::Response& response, TimePoint now);
  void on_relay(BodyRelay::Step step, TimePoint now);
  void on_first_block(TimePoint now);
  void on_refuted(TimePoint now);
  void ask_group_again(TimePoint now);
  void end_for_nobody();
  Large& large();

  // Of the answer that is to be delivered.
  void set_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                  bool is_borrowed = false);
  void arm_deadline();
  void disarm_deadline();
  void deliver(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
               std::string* storage = nullptr, bool is_verified = false);
  void fail(std::uint16_t status, std::string_view reason);
  void move();
  void stop();
  void finish();

  WorkerReads& worker_;
  SharedReadWaiter& waiter_;
  ReadActions actions_;
  ReadRequest request_;
  GroupCore* group_ = nullptr;
  State state_ = State::idle;
  OutOfDate out_of_date_ = OutOfDate::no;
  bool has_history_ = true;         // by the claim, when it was taken
  bool is_blacklisted_ = false;     // by a list or a mark
  bool may_be_unverified_ = false;  // the fast answer: no other read shares its connection
  bool is_deadline_armed_ = false;
  bool is_borrowed_ = false;  // the answer's head lies in ReadGroup::canonicalizer()
  replica_client::ReplicatedKind call_kind_{};
  std::uint64_t call_view_ = 0;
  std::uint64_t refused_view_ = 0;  // the group refused this request's write in it; 0: it did not
  std::uint32_t serial_ = 0;
  std::uint32_t began_seconds_ = 0;
  std::uint32_t large_rounds_ = 0;  // times that the group has agreed on a list for this request
  WriteFloors::Slot slot_ = 0;      // of the request's URI
  Sigma floor_ = 0;                 // of the slot, at the first look-up
  Claim claim_;
  Sketch key_{};
  std::optional<ReadAlgorithm> algorithm_;  // of a delay-once read
  ReadAlgorithm::Lookup first_lookup_;
  OriginAsks asks_;
  SigmaOrder::Submitted submitted_;
  std::optional<Evidence> evidence_;
  std::unique_ptr<Large> large_;
  std::unique_ptr<Raising> raising_;
  sketch::AnswerForm answer_;
  std::uint64_t forms_read_ = 0;  // by the group, when a borrowed answer was read
  std::optional<Sketch> answer_sketch_;
  std::optional<Sketch> origin_sketch_;
  Refused refusal_;
};

}  // namespace prophecy::sketcher
