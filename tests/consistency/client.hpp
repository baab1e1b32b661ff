// One client, and what the sketcher does for it: a request at a time, step by step, in the order in
// which sketcher/exchange.cpp takes these steps. The variants differ from it here.
#pragma once

#include <optional>
#include <string>

#include "consistency/worker.hpp"

namespace prophecy::consistency {

class SimulatedClient final : private sketcher::GroupReadWaiter,
                              private replica_client::ReplicatedHandler {
 public:
  explicit SimulatedClient(World& world) : world_(world) {}
  ~SimulatedClient() { leave(); }
  SimulatedClient(const SimulatedClient&) = delete;
  SimulatedClient& operator=(const SimulatedClient&) = delete;

  // The next thing that it does of itself, if there is one.
  void advance();
  void on_worker_killed(const SimulatedWorker& worker);

 private:
  enum class State : std::uint8_t { idle, awaits_origin, awaits_judge, awaits_order };

  void start();
  void start_read();
  void ask_origin();
  void on_origin_answer();
  void ask_judge(bool asks_again = false);
  void ask_ordered();
  // Before the client knows that its write has succeeded.
  void make_out_of_date();
  void leave();
  // None: an error.
  void finish(const std::string* value);

  void on_group_answer(const sketch::AnswerForm& form, const std::optional<Sketch>&) override;
  void on_group_failure(replica_client::ReplicatedFailure) override { finish(nullptr); }
  void on_group_answer_outdated() override;
  void on_replicated_answer(replica_client::ReplicatedAnswer answer) override;
  void on_replicated_failure(replica_client::ReplicatedFailure failure) override;

  // What the table holds for this read.
  [[nodiscard]] sketcher::ReadAlgorithm::Lookup look_up() const;
  [[nodiscard]] sketcher::ReadAlgorithm::Lookup second_lookup(const Sketch& answer) const;

  World& world_;
  State state_ = State::idle;
  SimulatedWorker* worker_ = nullptr;
  Kind kind_ = Kind::read;
  Key key_ = 0;
  std::size_t operation_ = 0;  // its number
  std::string value_;          // that it writes

  sketcher::ReadAlgorithm algorithm_;
  sketcher::ReadAlgorithm::Lookup first_lookup_;
  bool is_blacklisted_ = false;
  std::size_t origin_ = 0;
  std::optional<std::string> early_answer_;  // made when the origin was asked
  std::uint64_t call_ = 0;
  sketcher::SigmaOrder::Submitted submitted_;
};

}  // namespace prophecy::consistency
