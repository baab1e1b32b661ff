// Whom a replica group tells what becomes of its calls.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.hpp"
#include "http/exchange_end.hpp"
#include "replica_client/core/call.hpp"

namespace prophecy::replica_client {

class ReplicatedHandler {
 public:
  virtual void on_replicated_answer(ReplicatedAnswer answer) = 0;
  virtual void on_replicated_failure(ReplicatedFailure failure) = 0;

 protected:
  ~ReplicatedHandler() = default;
};

class RefutationHandler {
 public:
  virtual void on_refuted(const Refutation& refutation) = 0;
  // At least n - f members, and 2f+1, have given the agreed answer of this call: f+1 correct ones
  // have.
  // At most once for each call; it may become known after the call has been answered, or never.
  virtual void on_strong_agreement(std::uint64_t /*call*/) {}
  // In a group without agents: how an origin's vote has ended. What has no canonical form counts
  // as malformed.
  virtual void on_vote(NodeId /*replica*/, http::ExchangeEnd /*end*/) {}
  // Likewise: an origin's vote had this field, which is for its own front end alone.
  virtual void on_leak(NodeId /*replica*/, std::string_view /*field*/) {}

 protected:
  ~RefutationHandler() = default;
};

}  // namespace prophecy::replica_client
