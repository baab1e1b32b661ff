// A group of kind vote: no agents, for origins that serve the same content. A replicated read goes
// to all of them, and the answer that f+1 give is the group's. It has no place in an order; the
// sketcher numbers the answers as they come, and says what was the newest when each was asked for.
// Others' answers are compared with it, if they come later, too.
//
// Without an order of the group's, a write may come to two origins in two orders. So it is refused,
// unless the group is declared to take writes: then each goes to all origins, and its client waits
// until all have answered it or will not, so that at least its own writes stay in their order. It
// has succeeded if n - f have answered it alike: f+1 say what is right, but with no more than
// these, the others could still agree on what was there before.
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
#include <boost/asio/steady_timer.hpp>

#include "canonical/answer_collector.hpp"
#include "http/client/origin_pool.hpp"
#include "replica_client/core/byte_budget.hpp"
#include "replica_client/core/vote_tally.hpp"
#include "replica_client/group.hpp"
#include "replica_client/sigma_counter.hpp"

namespace prophecy::replica_client {

struct VoteGroupSettings {
  std::uint32_t faults = 1;
  bool takes_writes = false;
  std::size_t ballots_max = 1024;  // that are not decided; beyond it: overloaded
  // Of a ballot: beyond it a vote on a read has only what it is answered in, and one on a write
  // with a body in a file, which has a second more for each 4 MiB of it, ends.
  Duration age_max = seconds(30);
  // Of votes on reads, that one origin may make this process hash.
  std::uint64_t vote_bytes_per_second = std::uint64_t{128} << 20;
  std::vector<http::OriginSettings> origins;
  sketch::FieldCounters fields{};
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
            const FastForm& form) override;
  std::uint64_t replicated(const ReplicatedRequest& request, ReplicatedHandler& handler) override;
  void cancel_replicated(std::uint64_t id) override;

 private:
  class Ballot;
  using Ballots = std::unordered_map<std::uint64_t, std::unique_ptr<Ballot>>;

  void resume_later(std::uint64_t ballot, NodeId origin);
  void arm_resume();
  void resume_paused();
  void refuse(std::uint64_t id, ReplicatedFailure failure, ReplicatedHandler& handler);
  // It goes on for the sake of late votes.
  void on_decided(Ballot& ballot);
  // Its last vote is here.
  void on_ended(Ballot& ballot);

  boost::asio::io_context& loop_;
  std::uint32_t faults_;
  bool takes_writes_;
  std::size_t ballots_max_;
  Duration age_max_;
  const sketch::Profile& profile_;
  std::size_t answer_bytes_max_;  // of one that is held
  sketch::AnswerCanonicalizer canonicalizer_;
  std::vector<std::unique_ptr<http::OriginPool>> origins_;
  std::vector<ByteBudget> budgets_;  // by origin
  struct Paused {
    std::uint64_t ballot;
    NodeId origin;
  };
  std::vector<Paused> paused_;
  boost::asio::steady_timer resume_timer_;
  SigmaCounter& sigmas_;
  RefutationHandler& refutations_;
  std::uint64_t last_id_ = 0;
  Ballots ballots_;
  std::list<std::uint64_t> decided_;  // of them, oldest first; some may have ended
  std::size_t undecided_ = 0;
  std::unordered_map<std::uint64_t, ReplicatedHandler*> refused_;  // not told yet
};

}  // namespace prophecy::replica_client
