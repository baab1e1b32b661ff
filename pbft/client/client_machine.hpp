// The inside of a Client: its sessions and the calls that wait for one.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "pbft/client/client.hpp"
#include "pbft/client/replier_choice.hpp"
#include "pbft/client/reply_tally.hpp"
#include "pbft/wire/body.hpp"

namespace prophecy::pbft {

class Client::Machine {
 public:
  Machine(const ClientSettings& settings, const KeyRing& keys, const QuorumRule& quorum);

  CallId submit(ByteView operation, CallKind kind, TimePoint deadline, TimePoint now,
                ClientActions& out, std::uint64_t epoch);
  CallId submit(std::shared_ptr<const BodyTree> operation, TimePoint deadline, TimePoint now,
                ClientActions& out, std::uint64_t epoch);
  void cancel(CallId call, TimePoint now, ClientActions& out);
  void on_connected(NodeId replica, ClientActions& out) const;
  void on_frame(ByteView frame, TimePoint now, ClientActions& out);
  void on_tick(TimePoint now, ClientActions& out);

  [[nodiscard]] TimePoint next_timer() const { return next_timer_; }
  [[nodiscard]] const ClientCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint32_t in_flight() const { return in_flight_; }
  [[nodiscard]] std::size_t queued() const { return waiting_.size(); }

 private:
  struct Waiting {
    CallId call = 0;
    CallKind kind = CallKind::ordered;
    TimePoint deadline;
    Bytes begun;                           // of the request's frame
    std::shared_ptr<const BodyTree> body;  // of a large operation
    bool fell_back = false;
    std::uint64_t epoch = 0;
  };
  // What a replica was handed of bodies.
  struct Served {
    std::uint64_t bytes = 0;  // since
    TimePoint since;
  };
  // An agreed ordered call, for replies that come after it.
  struct Settled {
    CallId call = 0;
    std::uint64_t timestamp = 0;  // 0: none
    Sigma sigma = 0;
    Digest digest{};
    std::optional<std::uint64_t> view;  // in which a correct replica had prepared it
    std::uint64_t refuted = 0;          // replicas already told of, one bit each
    std::uint64_t agreeing = 0;         // replicas that gave it, one bit each
    bool is_strong = false;             // n - f of them have
  };
  struct Session {
    explicit Session(const QuorumRule& rule) : tally(rule) {}
    std::uint64_t timestamp = 0;
    // Of the call in flight; 0: the session is free.
    CallId call = 0;
    CallKind kind = CallKind::ordered;  // read_only becomes ordered when it falls back
    bool fell_back = false;
    bool asked_for_result = false;  // a quorum was there, and nobody had sent the result
    NodeId replier = 0;
    std::uint64_t epoch = 0;  // of what is ordered
    TimePoint deadline;
    TimePoint retransmit_at;
    Duration backoff{};
    Frame frame;  // with a signature once it has been retransmitted, or at once
    std::shared_ptr<const BodyTree> body;
    bool is_signed = false;
    bool is_signed_at_once = false;
    TimePoint sent_at{};               // the first time
    TimePoint heard_at{};              // a reply that told something new, or sent_at
    std::uint64_t key_generation = 0;  // of the MACs in the frame
    ReplyTally tally;
    std::vector<std::uint64_t> overtaken;  // by replica: the last timestamp that it knows; 0: none
    Settled settled;
  };

  CallId begin(Waiting waiting, TimePoint now, ClientActions& out);
  void start(std::uint32_t index, Waiting waiting, TimePoint now, ClientActions& out);
  void send(Session& session, std::uint32_t index, Bytes begun, TimePoint now, ClientActions& out);
  void send_to_all(const Session& session, ClientActions& out) const;
  void retransmit(Session& session, TimePoint now, ClientActions& out);
  void sign(Session& session) const;
  // An ordered call has its answer.
  void note_signature(const Session& session, TimePoint now);
  void fall_back(Session& session, std::uint32_t index, TimePoint now, ClientActions& out);
  void evaluate(Session& session, std::uint32_t index, TimePoint now, ClientActions& out);
  void agree(Session& session, std::uint32_t index, const ReplyTally::Reply& reply, Bytes result,
             TimePoint now, ClientActions& out);
  // Requires that the vote is done.
  // This replica has given the agreed result.
  void count_agreeing(Settled& settled, NodeId replica, ClientActions& out);
  void compare(Settled& settled, NodeId replica, const ReplyTally::Reply& reply,
               ClientActions& out);
  void on_late_reply(Session& session, const ReplyMessage& reply, ClientActions& out);
  void fail(Session& session, std::uint32_t index, CallOutcome outcome, TimePoint now,
            ClientActions& out);
  void free_session(Session& session, std::uint32_t index, TimePoint now, ClientActions& out);
  void drop_expired(TimePoint now, ClientActions& out);
  // All but f replicas have said their last word, some of them that they have no reply, and the
  // others are silent: they may be faulty, and no quorum may ever come about.
  [[nodiscard]] bool lacks_replies(const Session& session, TimePoint now) const;
  // A quorum agrees on a result that nobody sends: those who had it may have lost it since.
  [[nodiscard]] static bool lacks_result(const Session& session, TimePoint now);
  // The result itself, if it is large, from this replica.
  [[nodiscard]] bool wants_result(const Session& session, const ReplyMessage& reply) const;
  // Held for calls that are not agreed on.
  [[nodiscard]] std::uint64_t unconfirmed_bytes() const;
  void on_fetch_parts(ByteView frame, TimePoint now, ClientActions& out);
  [[nodiscard]] std::optional<Bytes> find_part(const Digest& digest) const;
  // A replica says that the session has gone on beyond this request.
  void on_stale(Session& session, std::uint32_t index, const ReplyMessage& reply, TimePoint now,
                ClientActions& out);
  [[nodiscard]] Bytes begun_again(const Session& session) const;
  void learn_view(NodeId replica, std::uint64_t view);
  void arm(TimePoint at) { next_timer_ = std::min(next_timer_, at); }
  void drop(DropReason reason) { ++counters_.dropped[static_cast<std::size_t>(reason)]; }
  [[nodiscard]] ReplyTally::Need need_of(const Session& session) const;

  const ClientSettings settings_;
  const KeyRing& keys_;
  const QuorumRule quorum_;
  ClientCounters counters_;
  std::vector<Session> sessions_;
  std::deque<std::uint32_t> free_;  // the longest free first: late replies are still useful
  std::deque<Waiting> waiting_;
  ReplierChoice replier_;
  std::vector<std::uint64_t> views_;  // newest that each replica named
  std::uint64_t view_ = 0;
  std::uint32_t signed_in_row_ = 0;  // calls that had no answer before they were signed
  TimePoint signed_counted_at_ = TimePoint::min();  // the last of these, or one without
  TimePoint signs_until_ = TimePoint::min();        // new requests are signed at once
  std::vector<Served> served_;                      // by replica
  std::uint64_t timestamp_floor_ = 0;               // timestamps begin above it
  CallId last_call_ = 0;
  std::uint32_t in_flight_ = 0;
  TimePoint next_timer_ = TimePoint::max();  // at or before the earliest event
};

}  // namespace prophecy::pbft
