// `Service` is the replicated service that the real read path has in front of it in a simulated
// run: origins, of which f lie, and the group's calls that are under way. Time is the order of its
// calls.
//
// A call is submitted, executed at one instant in an order of the group's own, and answered later.
// Each origin's answer to it is a vote: f+1 equal ones are the group's answer, and the others are
// refuted, before the call's answer or after it. A call that fails may be executed for all that,
// unless the group had no room for it. A group without an order has no place to give: its answer is
// of any instant while it is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "canonical/answer_form.hpp"
#include "consistency/origins/ballot.hpp"
#include "consistency/origins/origins.hpp"
#include "consistency/settings.hpp"
#include "replica_client/core/call.hpp"
#include "replica_client/sigma_counter.hpp"

namespace prophecy::consistency {

// Who is answered by a call.
class CallHandler {
 public:
  virtual void on_call_answer(replica_client::ReplicatedAnswer answer) = 0;
  virtual void on_call_failure(replica_client::ReplicatedFailure failure) = 0;

 protected:
  ~CallHandler() = default;
};

class Service {
 public:
  using OnRefuted = std::function<void(const replica_client::Refutation&)>;
  using OnStrong = std::function<void(std::uint64_t call)>;
  using OnWritten = std::function<void(const std::string& value)>;

  Service(const RunSettings& settings, const sketch::Profile& profile, simulation::Random& random,
          OnRefuted on_refuted, OnStrong on_strong, OnWritten on_written);

  // ---- The group.
  std::uint64_t submit(std::string_view wire, CallHandler& handler);
  // The handler is not called any more. A write is executed all the same.
  void cancel(std::uint64_t call);
  // One of the calls takes its next step; or a late vote arrives.
  void advance();
  // All agents are restarted: they count anew, and calls that are under way fail.
  void restart_group();
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }
  // Calls that the group had no room for.
  [[nodiscard]] std::uint64_t overloads() const { return overloads_; }
  // No call takes a step until it calms down.
  void hang() { is_hanging_ = true; }
  // Nothing fails and nothing is slow any more: the rest of the run.
  void calm_down();
  replica_client::SigmaCounter& votes() { return votes_; }

  // A place in the group's order.
  [[nodiscard]] Sigma next_sigma() { return ++sigma_; }
  [[nodiscard]] Origins& origins() { return origins_; }

 private:
  struct Call {
    std::string wire;
    CallHandler* handler = nullptr;
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
  void show_liars(const sketch::AnswerForm& form);

  const RunSettings& settings_;
  simulation::Random& random_;
  OnRefuted on_refuted_;
  OnStrong on_strong_;
  OnWritten on_written_;
  Origins origins_;
  FormCache forms_;
  std::map<std::uint64_t, Call> calls_;
  // Votes that arrive after their call's answer, and calls that they make strong.
  std::vector<replica_client::Refutation> late_;
  std::vector<std::uint64_t> late_strong_;
  std::uint64_t last_call_ = 0;
  std::uint64_t overloads_ = 0;
  Sigma sigma_ = 0;
  replica_client::SigmaCounter votes_;
  bool is_hanging_ = false;
  bool is_calm_ = false;
};

}  // namespace prophecy::consistency
