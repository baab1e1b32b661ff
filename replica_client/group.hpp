// A replica group as the sketcher sees it (paper, section 3.1):
//
//   r          <- fast(q)        one origin, chosen by the caller
//   (r, sigma) <- replicated(q)  agreed by the group
//
// Every call ends in exactly one call of its handler, or is cancelled. A fast read may end before
// the call returns, a replicated one ends later. A handler may start another call.
//
// Single-threaded: all on the worker's event loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.hpp"
#include "history_table/history_table.hpp"
#include "http/client/origin_exchange.hpp"
#include "http/client/origin_pool.hpp"
#include "sketch/answer_form.hpp"

namespace prophecy::replica_client {

enum class ReplicatedKind : std::uint8_t {
  ordered,
  read_only,  // PBFT's read-only optimisation: no sigma
};

enum class ReplicatedFailure : std::uint8_t {
  too_few_replicas,  // no quorum answered before the deadline, or can answer at all
  no_agreement,      // the answers of the group's members do not agree
  overloaded,        // too many calls wait
  writes_refused,    // the group has no order to put a write into
  uncertain_write,   // too few of its members have carried a write out alike, for all that is known
};
constexpr std::size_t kReplicatedFailureCount = 5;
[[nodiscard]] std::string_view to_string(ReplicatedFailure failure);

struct ReplicatedAnswer {
  sketch::AnswerForm form;  // into `storage`
  Bytes storage;
  Sigma sigma = 0;  // 0: by the read-only optimisation, without a place in the order
  // Of a group without an order: the newest number when it was asked. sigma is drawn when it is
  // answered, and says no more than when that was.
  std::optional<Sigma> asked;
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
  std::uint16_t vote_status = 0;  // where it is known
};

class RefutationHandler {
 public:
  virtual void on_refuted(const Refutation& refutation) = 0;
  // In a group without agents: how an origin's vote has ended. What has no canonical form counts
  // as malformed.
  virtual void on_vote(NodeId /*replica*/, http::ExchangeEnd /*end*/) {}
  // Likewise: an origin's vote had this field, which is for its own front end alone.
  virtual void on_leak(NodeId /*replica*/, std::string_view /*field*/) {}

 protected:
  ~RefutationHandler() = default;
};

// How an origin is asked in a fast read.
struct FastForm {
  bool is_head = false;
  // The answer is compared with the history before anybody gets it. Only then may its connection be
  // shared with other reads (pipelining): an origin that adds an answer, or leaves one out, moves
  // those behind it to the wrong requests.
  bool is_verified = false;
  // Not 0: the answer comes in pieces of so many bytes, unless it has at most `whole_bytes`
  // (http::ExchangeRequest).
  std::size_t piece_bytes = 0;
  std::size_t whole_bytes = 0;
};

class ReplicaGroup {
 public:
  virtual ~ReplicaGroup() = default;

  // Before any other call.
  virtual void start() = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  [[nodiscard]] virtual std::uint32_t faults() const = 0;

  // Requests are the text of one HTTP/1.1 request. This one stays as it is until the exchange has
  // ended.
  virtual void fast(http::OriginExchange& exchange, NodeId replica, std::string_view wire,
                    const FastForm& form) = 0;

  // `wire` is copied. It has the whole request, or all but a body that is too large for memory:
  // null, or what belongs behind it. The id is never 0; it serves to cancel.
  virtual std::uint64_t replicated(ReplicatedKind kind, std::string_view wire,
                                   const ByteSourcePtr& body, ReplicatedHandler& handler) = 0;
  virtual void cancel_replicated(std::uint64_t id) = 0;
};

// How every kind of group asks one origin.
void start_fast_read(http::OriginPool& origin, http::OriginExchange& exchange,
                     std::string_view wire, const FastForm& form);

}  // namespace prophecy::replica_client
