// What is asked of a replica group, and what it answers, as plain values: replicated calls, votes
// that the agreed answer refutes, and the form of fast reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/byte_source.hpp"
#include "base/digest.hpp"
#include "base/ids.hpp"
#include "canonical/answer_form.hpp"
#include "history_table/history_entry.hpp"
#include "http/message.hpp"

namespace prophecy::replica_client {

enum class ReplicatedKind : std::uint8_t {
  ordered,
  read_only,  // PBFT's read-only optimisation: no sigma
};

// A request that the group is to agree on, as the caller has parsed and serialised it. Views are
// valid during the call: the group copies what it needs.
struct ReplicatedRequest {
  std::string_view method;
  std::string_view authority;
  std::string_view target;
  // The request as HTTP/1.1 text: all of it, or all but `body`.
  std::string_view wire;
  ByteSourcePtr body = nullptr;  // behind the wire: a body that is too large for memory
  ReplicatedKind kind = ReplicatedKind::ordered;
  // The ring's view that the caller goes by; 0: none. A group with agents refuses writes of an
  // older view than the newest that it has ordered.
  std::uint64_t view = 0;

  [[nodiscard]] bool is_safe() const { return http::is_safe_method(method); }
  [[nodiscard]] bool is_read() const { return http::is_read_method(method); }
  [[nodiscard]] bool is_head() const { return method == "HEAD"; }
};

enum class ReplicatedFailure : std::uint8_t {
  too_few_replicas,  // no quorum answered before the deadline, or can answer at all
  no_agreement,      // the answers of the group's members do not agree
  overloaded,        // too many calls wait
  writes_refused,    // the group has no order to put a write into
  uncertain_write,   // too few of its members have carried a write out alike, for all that is known
  view_too_old,      // the group has ordered a newer view: the write was not carried out
  view_too_new,      // by more than the group takes; likewise
};
constexpr std::size_t kReplicatedFailureCount = 7;
[[nodiscard]] std::string_view to_string(ReplicatedFailure failure);
// For the client whose request has failed.
[[nodiscard]] std::uint16_t status_of(ReplicatedFailure failure);

struct ReplicatedAnswer {
  sketch::AnswerForm form;  // into `storage`
  Bytes storage;
  Sigma sigma = 0;  // 0: by the read-only optimisation, without a place in the order
  // Of a group without an order: the newest number when it was asked. sigma is drawn when it is
  // answered, and says no more than when that was.
  std::optional<Sigma> asked;
  // Equal to Refutation::vote_digest of a replica that gave this answer to an equal request.
  std::optional<Sha256::Digest> digest{};
};

// A replica's vote on a replicated request that the agreed answer refutes. It may become known
// after the request has been answered.
struct Refutation {
  NodeId replica = 0;
  std::uint64_t call = 0;  // that replicated() returned
  // Of the request, each cut off at a bound (RequestNote). Empty when too many came after it.
  std::string_view method;
  std::string_view authority;
  std::string_view target;
  ByteView vote_digest;  // of the results
  ByteView agreed_digest;
  std::uint16_t vote_status = 0;  // where it is known
};

// How an origin is asked in a fast read.
struct FastForm {
  bool is_head = false;
  // The answer is compared with the history before anybody gets it (ExchangeRequest::verified).
  // Only then may its connection be shared with other reads (pipelining): an origin that adds an
  // answer, or leaves one out, moves those behind it to the wrong requests.
  bool is_verified = false;
  // It has waited behind others already: it gets a connection to itself.
  bool is_alone = false;
  // Not 0: the answer comes in pieces of so many bytes, unless it has at most `whole_bytes`
  // (http::ExchangeRequest).
  std::size_t piece_bytes = 0;
  std::size_t whole_bytes = 0;
  // With pieces: an answer that may have no end (http::ExchangeRequest::streamed).
  bool is_streamed = false;
};

}  // namespace prophecy::replica_client
