// A group of kind vote: no agents, for origins that serve the same content. A replicated read goes
// to all of them, and the answer that f+1 give is the group's; it is numbered by the sketcher when
// it is asked for. Others' answers are compared with it, if they come later, too.
//
// Without an order of the group's, a write may come to two origins in two orders. So it is refused,
// unless the group is declared to take writes: then each goes to all origins, and the answer of f+1
// is the client's.
//
// Single-threaded, on the loop that it is given.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "http/client/origin_pool.hpp"
#include "replica_client/core/vote_tally.hpp"
#include "replica_client/group.hpp"
#include "replica_client/sigma_counter.hpp"

namespace prophecy::replica_client {

struct VoteGroupSettings {
  std::uint32_t faults = 1;
  bool takes_writes = false;
  std::size_t ballots_max = 1024;  // beyond it: overloaded
  std::vector<http::OriginSettings> origins;
};

class VoteGroup final : public ReplicaGroup {
 public:
  VoteGroup(boost::asio::io_context& loop, const VoteGroupSettings& settings,
            const sketch::Profile& profile, http::OriginTimeouts& timeouts, SigmaCounter& sigmas,
            RefutationHandler& refutations);
  ~VoteGroup() override;

  void start() override {}
  [[nodiscard]] std::uint32_t size() const override;
  [[nodiscard]] std::uint32_t faults() const override { return faults_; }
  void fast(http::OriginExchange& exchange, NodeId replica, std::string_view wire,
            bool is_head) override;
  std::uint64_t replicated(ReplicatedKind kind, std::string_view wire,
                           ReplicatedHandler& handler) override;
  void cancel_replicated(std::uint64_t id) override;

 private:
  class Ballot;
  using Ballots = std::unordered_map<std::uint64_t, std::unique_ptr<Ballot>>;

  void refuse(std::uint64_t id, ReplicatedFailure failure, ReplicatedHandler& handler);
  // Its last answer is here.
  void end(Ballot& ballot);

  boost::asio::io_context& loop_;
  std::uint32_t faults_;
  bool takes_writes_;
  std::size_t ballots_max_;
  sketch::AnswerCanonicalizer canonicalizer_;
  std::vector<std::unique_ptr<http::OriginPool>> origins_;
  SigmaCounter& sigmas_;
  RefutationHandler& refutations_;
  std::uint64_t last_id_ = 0;
  Ballots ballots_;
  std::unordered_map<std::uint64_t, ReplicatedHandler*> refused_;  // not told yet
};

}  // namespace prophecy::replica_client
