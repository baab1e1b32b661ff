// `GroupCalls` carries out what the core of one group's reads asks for: calls to the group, and
// confirming reads of one origin.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "replica_client/group.hpp"
#include "sketcher/core/read/group_core.hpp"

namespace prophecy::sketcher {

class GroupCalls {
 public:
  GroupCalls(GroupCore& core, replica_client::ReplicaGroup& group);
  ~GroupCalls();
  GroupCalls(const GroupCalls&) = delete;
  GroupCalls& operator=(const GroupCalls&) = delete;

  // Carries out all actions of the core that are due.
  void perform() {
    if (!core_.actions.empty()) perform_all();
  }
  // A replica's vote on any call of the group.
  void on_refuted(const replica_client::Refutation& vote);
  // n - f members have given the agreed answer of a call.
  void on_strong_agreement(std::uint64_t call);

 private:
  class Call;
  class Confirmation;
  // Which shared call a call of the group is, also when it has ended.
  struct Former {
    std::uint64_t id = 0;
    std::uint64_t number = 0;
  };
  static constexpr std::size_t kFormerKept = 1024;

  void perform_all();
  // The number of a call that is a shared read, or 0.
  [[nodiscard]] std::uint64_t number_of(std::uint64_t call) const;
  void call(const GroupAction& action);
  void on_answer(std::uint64_t number, replica_client::ReplicatedAnswer answer);
  void on_failure(std::uint64_t number, replica_client::ReplicatedFailure failure);
  void confirm(const Accusations::Confirmation& confirmation);
  void on_confirmed(std::uint64_t number, http::ExchangeEnd end, const http::Response& response);
  // Hands out the results of calls that have ended, one by one.
  void report_results();

  GroupCore& core_;
  replica_client::ReplicaGroup& group_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Call>> calls_;                  // by number
  std::unordered_map<std::uint64_t, std::unique_ptr<Confirmation>> confirmations_;  // likewise
  std::array<Former, kFormerKept> former_{};                                        // by id
  bool is_reporting_ = false;
};

}  // namespace prophecy::sketcher
