// `MemberLinks` are a worker's connections to the other members of the ring: one for each worker of
// each of them, made when it is first needed. Calls take turns among a member's workers.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/timeout_queue.hpp"
#include "sketcher/members/member_link.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

struct MemberTimes {
  Duration connect{};
  Duration answer{};  // until an answer begins, or goes on
  Duration owner{};   // until an owner is found that can be asked
};

class MemberLinks final : private MemberLinkOwner {
 public:
  // Until an owner that cannot be asked is looked for again.
  static constexpr Duration kPause = milliseconds(100);

  // All but the times outlive it.
  MemberLinks(boost::asio::io_context& loop, transport::TlsClient& tls, const SharedState& shared,
              std::uint32_t worker, const http::MessageLimits& answer_limits,
              const MemberTimes& times);
  ~MemberLinks();

  [[nodiscard]] dht::OwnerWord owner(Partition partition) const {
    return permissions_.owner(partition);
  }
  // Its turn among the calls for that member. False: there is no such member. It may end before
  // this returns.
  [[nodiscard]] bool call(dht::MemberSlot slot, MemberCall& call);
  [[nodiscard]] MemberCounters& counters(dht::MemberSlot slot) const { return counters_[slot]; }

  // So many connections there may be to this member, as far as it was called.
  [[nodiscard]] std::size_t links_to(dht::MemberSlot slot) const;

  // The time-outs of calls, for their owners.
  [[nodiscard]] TimeoutQueue& answer_timeouts() { return answer_timeouts_; }
  [[nodiscard]] TimeoutQueue& pauses() { return pauses_; }
  [[nodiscard]] Duration time_for_owner() const { return times_.owner; }
  [[nodiscard]] std::vector<TimeoutQueue*> queues() {
    return {&connect_timeouts_, &answer_timeouts_, &pauses_};
  }

 private:
  struct Peer {
    std::uint64_t version = 0;
    MemberEntry entry;
    std::vector<std::unique_ptr<MemberLink>> links;  // by address; null: none
    std::size_t next = 0;
  };

  void on_link_closed(MemberLink& link) override;
  [[nodiscard]] Peer* find(dht::MemberSlot slot);
  void retire(std::unique_ptr<MemberLink> link);

  boost::asio::io_context& loop_;
  dht::Permissions permissions_;
  MemberDirectory members_;
  std::span<MemberCounters> counters_;  // by slot
  MemberTimes times_;
  TimeoutQueue connect_timeouts_;
  TimeoutQueue answer_timeouts_;
  TimeoutQueue pauses_{kPause};
  MemberLinkResources resources_;
  std::vector<Peer> peers_;                           // by slot
  std::vector<std::unique_ptr<MemberLink>> retired_;  // that end with their last calls
  std::vector<std::unique_ptr<MemberLink>> closed_;   // destroyed in a turn of their own
};

}  // namespace prophecy::sketcher
