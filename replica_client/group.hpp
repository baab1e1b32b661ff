// A replica group as the sketcher sees it (paper, section 3.1):
//
//   r          <- fast(q)        one origin, chosen by the caller
//   (r, sigma) <- replicated(q)  agreed by the group
//
// Calls are objects that the caller owns and that outlive their answer; a call is used for one
// request at a time and again for the next. Every started call ends in exactly one call of its
// handler, or in cancel(). A handler may start another call, also the one that has just ended.
//
// Single-threaded: all on the worker's event loop.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.hpp"
#include "base/timeout_queue.hpp"
#include "history_table/history_table.hpp"
#include "http/message.hpp"
#include "sketch/answer_form.hpp"

namespace prophecy::replica_client {

enum class FastFailure : std::uint8_t {
  connect,    // no connection to the origin
  closed,     // the origin closed before its answer was whole
  timed_out,
  malformed,  // not HTTP, or more than was asked for
  too_large,  // a larger answer than the limit
  overloaded, // too many calls wait for a connection
};
constexpr std::size_t kFastFailureCount = 6;
[[nodiscard]] std::string_view to_string(FastFailure failure);

class FastHandler {
 public:
  // The response belongs to the connection: what is kept of it has to be moved out.
  virtual void on_fast_answer(http::Response& response) = 0;
  virtual void on_fast_failure(FastFailure failure) = 0;

 protected:
  ~FastHandler() = default;
};

class OriginPool;
class OriginConnection;

class FastCall final : private TimeoutEntry {
 public:
  explicit FastCall(FastHandler& handler) : handler_(&handler) {}
  ~FastCall() override { cancel(); }
  // No handler is called any more.
  void cancel();

 private:
  friend class OriginPool;
  friend class OriginConnection;
  void on_timeout() override;

  FastHandler* handler_;
  std::string_view wire_;
  bool is_head_ = false;
  bool retried_ = false;
  OriginPool* pool_ = nullptr;              // while in progress
  OriginConnection* connection_ = nullptr;  // while on one, not in the pool's queue
};

enum class ReplicatedKind : std::uint8_t {
  ordered,
  read_only,  // PBFT's read-only optimisation: no sigma
};

enum class ReplicatedFailure : std::uint8_t {
  too_few_replicas,  // no quorum answered before the deadline
  no_agreement,      // the answers of the group's members do not agree
  overloaded,        // too many calls wait
  too_large,         // the request does not fit into a message
};
constexpr std::size_t kReplicatedFailureCount = 4;
[[nodiscard]] std::string_view to_string(ReplicatedFailure failure);

struct ReplicatedAnswer {
  sketch::AnswerForm form;  // into `storage`
  Bytes storage;
  Sigma sigma = 0;
};

class ReplicatedHandler {
 public:
  virtual void on_replicated_answer(ReplicatedAnswer answer) = 0;
  virtual void on_replicated_failure(ReplicatedFailure failure) = 0;

 protected:
  ~ReplicatedHandler() = default;
};

// A replica's vote on a replicated request that the agreed answer refutes. It may become known
// after the request has been answered.
struct Refutation {
  NodeId replica = 0;
  std::string_view request_head;  // the beginning of the request's wire form; may be empty
  ByteView vote_digest;           // of the results
  ByteView agreed_digest;
};

class RefutationHandler {
 public:
  virtual void on_refuted(const Refutation& refutation) = 0;

 protected:
  ~RefutationHandler() = default;
};

class ReplicaGroup {
 public:
  virtual ~ReplicaGroup() = default;

  [[nodiscard]] virtual std::uint32_t size() const = 0;
  [[nodiscard]] virtual std::uint32_t faults() const = 0;

  // `wire` is an HTTP/1.1 request; it stays as it is until the call has ended.
  virtual void fast(FastCall& call, NodeId replica, std::string_view wire, bool is_head) = 0;

  // `wire` is copied. The id is never 0; it serves to cancel.
  virtual std::uint64_t replicated(ReplicatedKind kind, std::string_view wire,
                                   ReplicatedHandler& handler) = 0;
  virtual void cancel_replicated(std::uint64_t id) = 0;
};

}  // namespace prophecy::replica_client
