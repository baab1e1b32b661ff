// `SimulatedClient` is one client and the shell of the real ReadMachine that serves it: it carries
// out the machine's actions against the simulated service, and records what the client got.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "consistency/origins/origin_stream.hpp"
#include "consistency/taker.hpp"
#include "consistency/wanted.hpp"
#include "consistency/worker.hpp"
#include "sketcher/core/read/read_machine.hpp"

namespace prophecy::consistency {

class SimulatedClient final : private sketcher::SharedReadWaiter, private ReplicatedHandler {
 public:
  // In a trial no client leaves, nothing but liars fails, and each answer has to be one.
  enum class Phase : std::uint8_t { free, calm, trial };

  SimulatedClient(World& world, std::string agent, std::string address);
  ~SimulatedClient() { leave(); }
  SimulatedClient(const SimulatedClient&) = delete;
  SimulatedClient& operator=(const SimulatedClient&) = delete;

  // The next thing that happens at this client, if there is one. Unless the phase is free, no
  // client leaves, and each origin that is waited for answers or times out; when it is calm, nobody
  // begins anything.
  void advance(Phase phase);
  void on_worker_killed(const SimulatedWorker& worker);
  [[nodiscard]] bool is_idle() const { return !is_moved_ && (!machine_ || machine_->is_idle()); }
  // What is under way at these origins is cut.
  void cut(replica_client::ReplicaSet origins);
  // What it waits for, for people.
  [[nodiscard]] std::string describe() const;

 private:
  void start(Phase phase);
  [[nodiscard]] Wanted next_wanted();
  void start_machine(const Wanted& wanted);
  void choose_worker();
  // In a ring: the request begins again at either member; or the other member raises floors.
  void ask_again();
  void raise_floors();
  void perform();
  void carry_out(const sketcher::ReadAction& action);
  void ask_origin(const sketcher::ReadAction& action);
  [[nodiscard]] bool advance_body();
  void on_origin(std::uint8_t slot);
  void on_deadline();
  void leave();
  void end_with_calls();
  void deliver(bool is_verified);
  void end_body(bool is_whole);
  void check(std::string_view text, std::string_view cookie);
  void refuse();
  // None: an error.
  void finish(const std::string* value);

  void on_shared_result(const sketcher::SharedResult& result) override;
  void on_replicated_answer(replica_client::ReplicatedAnswer answer) override;
  void on_replicated_failure(replica_client::ReplicatedFailure failure) override;

  World& world_;
  std::string address_;
  std::string agent_;
  SimulatedWorker* worker_ = nullptr;
  std::unique_ptr<sketcher::ReadMachine> machine_;  // of that worker
  sketch::RequestForm form_;
  Wanted wanted_;
  bool is_tried_ = false;  // it began in a trial
  OperationId operation_;
  std::string value_;  // that it writes
  std::array<OriginStream, sketcher::OriginAsks::kSlots> streams_;
  Taker taker_;
  bool is_hedge_armed_ = false;
  bool is_deadline_armed_ = false;
  bool is_late_ = false;    // its time is over just now
  bool is_agreed_ = false;  // the group has answered
  bool is_moved_ = false;   // the request waits to begin again
  std::uint64_t call_ = 0;
  std::array<std::size_t, sketcher::OriginAsks::kSlots> delays_{};  // behind others, likewise
  std::size_t asks_ = 0;                                            // of origins, for this request
  replica_client::ReplicaSet asked_ = 0;
  std::size_t calls_ = 0;  // of its own or of the worker's, for this request
};

}  // namespace prophecy::consistency
