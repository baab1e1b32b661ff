// `SimulatedService` is a service whose group is simulated, with an order or without.
//
// A call is submitted, executed at one instant in an order of the group's own, and answered later.
// Each origin's answer to it is a vote: f+1 equal ones are the group's answer, and the others are
// refuted, before the call's answer or after it. A call that fails may be executed for all that,
// unless the group had no room for it. A group without an order has no place to give: its answer is
// of any instant while it is asked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "canonical/answer_form.hpp"
#include "consistency/group/service.hpp"

namespace prophecy::consistency {

class SimulatedService final : public Service {
 public:
  SimulatedService(const RunSettings& settings, const sketch::Profile& profile,
                   simulation::Random& random, Listener listener);

  // A worker's calls are its own to cancel.
  void begin_worker(std::size_t) override {}
  std::uint64_t submit(std::size_t place, std::string_view wire,
                       ReplicatedHandler& handler) override;
  // A write is executed all the same.
  void cancel(std::uint64_t call) override;
  // At one instant, by all origins or, where they lag, by none yet.
  void write_elsewhere(Key key, const std::string& value, Then then) override;
  // One of the calls takes its next step; or a late vote arrives.
  void advance() override;
  // The agents count anew, and calls that are under way fail.
  void restart_group() override;
  [[nodiscard]] Sigma place_other() override {
    return settings().has_votes ? votes(0).next() : next_sigma();
  }
  void count(Tally& tally) const override { tally.add(Met::overloads, overloads_); }

 private:
  struct Call {
    std::size_t place = 0;  // of the worker
    std::string wire;
    ReplicatedHandler* handler = nullptr;
    bool is_write = false;
    bool is_slow = false;  // others overtake it
    bool is_overload = false;
    bool is_executed = false;
    std::size_t first_state = 0;  // of its register, when it was submitted
    Sigma sigma = 0;
    Sigma asked = 0;
    std::optional<Bytes> answer;  // agreed on; none: there is no agreement
    bool is_strong = false;
    std::vector<replica_client::Refutation> refuted;
  };

  [[nodiscard]] std::uint64_t choose();
  void execute(std::uint64_t number, Call& call);
  void vote(std::uint64_t number, Call& call, const PageRequest& request);
  [[nodiscard]] std::vector<std::optional<PageAnswer>> votes_on(const Call& call,
                                                                const PageRequest& request);
  void fail(std::uint64_t number);
  [[nodiscard]] replica_client::ReplicatedFailure failure_of(const Call& call);
  void answer(std::uint64_t number);
  void report(const std::vector<replica_client::Refutation>& refuted);
  void report_late();
  [[nodiscard]] Sigma next_sigma() { return ++sigma_; }

  std::map<std::uint64_t, Call> calls_;
  // Votes that arrive after their call's answer, and calls that they make strong.
  std::vector<replica_client::Refutation> late_;
  std::vector<std::uint64_t> late_strong_;
  std::uint64_t last_call_ = 0;
  std::uint64_t overloads_ = 0;
  Sigma sigma_ = 0;
};

}  // namespace prophecy::consistency
