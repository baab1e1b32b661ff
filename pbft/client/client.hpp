// A PBFT client as a deterministic object. It has many sessions, each with one request in flight
// at a time and its own rising timestamps, so that a sketcher has as many requests in flight as
// it has sessions, and replicas keep one last reply for each.
//
// One thread at a time. After each call, next_timer() is when on_tick() is next wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/digest.hpp"
#include "pbft/auth/key_ring.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/counters.hpp"
#include "pbft/core/state/quorum.hpp"
#include "pbft/core/state/settings.hpp"

namespace prophecy::pbft {

class BodyTree;

using CallId = std::uint64_t;

enum class CallKind : std::uint8_t {
  ordered,    // agreed order; f+1 equal replies (ReplyTally::Need), or 2f+1 tentative of one view
  read_only,  // PBFT's read optimisation; 2f+1 equal replies, else repeated as ordered
};

enum class CallOutcome : std::uint8_t {
  agreed,
  timed_out,     // fewer than a quorum answered alike before the deadline; it may still execute
  overloaded,    // never sent: the queue was full
  unavailable,   // too many replicas cannot answer, or nobody has the agreed result any more
  no_agreement,  // no quorum can answer alike any more; the operation may have executed
};

struct Completion {
  CallId call = 0;
  CallOutcome outcome = CallOutcome::timed_out;
  Bytes result;             // when agreed
  Sigma sigma = 0;          // when agreed and ordered
  bool fell_back = false;   // a read_only call that had to be ordered
  Sha256::Digest digest{};  // of the result, when agreed
};

// A replica's authenticated reply to an ordered request that the agreed result refutes. Told once
// for each replica and call, also after the call's completion, until its session has had one more
// call after it. The call's id is as submit() gave it.
struct Refuted {
  CallId call = 0;
  NodeId replica = 0;
  Sha256::Digest agreed_digest{};  // of the result
  Sha256::Digest refuted_digest{};
};

// Calls whose ordered result n - f replicas have given alike. Told once, like Refuted.
struct StrongAgreement {
  CallId call = 0;
};

struct ClientActions {
  std::vector<Outgoing> sends;
  std::vector<Completion> completions;
  std::vector<Refuted> refuted;
  std::vector<StrongAgreement> strong;
  void clear() {
    sends.clear();
    completions.clear();
    refuted.clear();
    strong.clear();
  }
};

class Client {
 public:
  // Requires check(settings); `keys` belongs to a client of the group and outlives this object.
  Client(const ClientSettings& settings, const KeyRing& keys);
  // For tests only: with another rule than the protocol's.
  Client(const ClientSettings& settings, const KeyRing& keys, const QuorumRule& quorum);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The operation (at most kOperationBytesMax) is copied; beyond inline_bytes_max it is ordered, by
  // digest, whatever the kind, and replicas fetch it. `epoch`: what is ordered names it; 0: none.
  // Answers through `out` exactly once: at once when overloaded, else later.
  CallId submit(ByteView operation, CallKind kind, TimePoint deadline, TimePoint now,
                ClientActions& out, std::uint64_t epoch = 0);
  // One that is to be ordered by its digest.
  CallId submit(std::shared_ptr<const BodyTree> operation, TimePoint deadline, TimePoint now,
                ClientActions& out, std::uint64_t epoch = 0);
  // The caller lost interest: no completion follows. What was sent may still execute.
  void cancel(CallId call, TimePoint now, ClientActions& out);

  // A connection to this replica is up, and both know each other's session key: says to it which
  // sessions it reaches here. Without that, a backup knows no way to the client until the first
  // retransmission. May be said again.
  void on_connected(NodeId replica, ClientActions& out);
  void on_frame(ByteView frame, TimePoint now, ClientActions& out);
  void on_tick(TimePoint now, ClientActions& out);
  [[nodiscard]] TimePoint next_timer() const;  // TimePoint::max() when idle

  [[nodiscard]] const ClientCounters& counters() const;
  [[nodiscard]] std::uint32_t calls_in_flight() const;  // in a session

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace prophecy::pbft
