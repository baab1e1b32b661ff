// A PBFT client as a deterministic object. It has many sessions, each with one request in flight
// at a time and its own rising timestamps, so that a sketcher has as many requests in flight as
// it has sessions, and replicas keep one last reply for each.
#pragma once

#include <cstdint>
#include <vector>

#include "pbft/core/actions.hpp"

namespace prophecy::pbft {

class KeyRing;

struct ClientSettings {
  std::uint32_t faults = 1;          // n = 3f+1
  NodeId id = kFirstClientId;
  std::uint32_t first_session = 0;   // workers of one sketcher share an id, not a session
  std::uint32_t session_count = 64;
  std::size_t queue_max = 1024;      // calls waiting for a session; beyond it: overloaded
  Duration retransmit_after = milliseconds(150);  // doubles up to retransmit_after_max
  Duration retransmit_after_max = seconds(2);
  // The first timestamp of each session; greater than any used before under the same id.
  std::uint64_t first_timestamp = 1;
};

using CallId = std::uint64_t;

enum class CallKind : std::uint8_t {
  ordered,    // agreed order; f+1 equal replies
  read_only,  // PBFT's read optimisation; 2f+1 equal replies, else repeated as ordered
};

enum class CallOutcome : std::uint8_t {
  agreed,
  timed_out,     // fewer than a quorum answered alike before the deadline; it may still execute
  overloaded,    // never sent: the queue was full
  no_agreement,  // all replicas answered, and no quorum alike; or too many said unavailable
};

struct Completion {
  CallId call = 0;
  CallOutcome outcome = CallOutcome::timed_out;
  Bytes result;       // when agreed
  Sigma sigma = 0;    // when agreed and ordered
  bool fell_back = false;  // a read_only call that had to be ordered
};

// A replica's reply that the agreed result of the same request refutes.
struct Refuted {
  CallId call = 0;
  NodeId replica = 0;
};

struct ClientActions {
  std::vector<Outgoing> sends;
  std::vector<Completion> completions;
  std::vector<Refuted> refuted;
  void clear() {
    sends.clear();
    completions.clear();
    refuted.clear();
  }
};

class Client {
 public:
  Client(const ClientSettings& settings, const KeyRing& keys);
  ~Client();

  // The operation is copied into its frame. Answers through `out` (now or later) exactly once.
  CallId submit(ByteView operation, CallKind kind, TimePoint deadline, TimePoint now,
                ClientActions& out);
  // The caller lost interest: no completion follows. What was sent may still execute.
  void cancel(CallId call, TimePoint now, ClientActions& out);

  void on_frame(ByteView frame, TimePoint now, ClientActions& out);
  void on_tick(TimePoint now, ClientActions& out);
  [[nodiscard]] TimePoint next_timer() const;
};

}  // namespace prophecy::pbft
