// `Worker` is one worker process of a member: it answers requests by the rules of docs/ring.md, on
// a simple read path: Algorithm 1 with shared calls, write floors, and writes.
//
// The rules about Permissions are followed in steps, between which the worker may be stopped.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ring/operation.hpp"
#include "ring/process.hpp"
#include "ring/table.hpp"

namespace prophecy::ring {

class Host;
class World;

class Worker {
 public:
  Worker(World& world, Host& host);

  [[nodiscard]] Process& process() { return process_; }
  // From a client, or passed on by another member.
  void on_request(const OperationPointer& operation, int hops);
  // From another member: a write with that number has ended. `done` is called once no entry counts
  // that is older.
  void on_raise(std::size_t slot, OrderNumber number, std::function<void()> done);

 private:
  // What a turn finds out, step by step.
  struct Check {
    Partition partition = 0;
    dht::OwnerWord claim;
    dht::Basis basis = dht::Basis::history;
    bool is_in_force = false;
    bool is_unchanged = false;
    Instant at = 0;  // when the lease was looked at

    [[nodiscard]] bool holds() const { return is_in_force && is_unchanged; }
  };
  struct Call {
    Register at = 0;
    dht::OwnerWord claim;
    OrderNumber floor = 0;
    OrderNumber base = 0;                  // of numbers, when it was begun
    std::vector<OperationPointer> askers;  // the first began it
  };
  using CallPointer = std::shared_ptr<Call>;

  void handle(const OperationPointer& operation, int hops);
  void handle_later(const OperationPointer& operation);
  void begin_read(const OperationPointer& operation, dht::OwnerWord claim, bool by_history);
  void on_fast_answer(const OperationPointer& operation, dht::OwnerWord claim, Content content);
  void ask_group(const OperationPointer& operation, dht::OwnerWord claim, bool by_history);
  void on_group_answer(const CallPointer& call, Group::Answer answer);
  void accept_group_answer(const Call& call, const Group::Answer& answer, const Check& check,
                           bool was_recorded_before);
  void start_write(const OperationPointer& operation);
  void begin_write(const OperationPointer& operation, dht::OwnerWord claim, dht::ViewNumber view);
  void on_written(const OperationPointer& operation, dht::OwnerWord claim, OrderNumber number);
  void raise_then(const OperationPointer& operation, std::size_t slot, OrderNumber number,
                  const std::function<void()>& done);
  void raise_also(const OperationPointer& operation, OrderNumber number,
                  const std::function<void()>& done);

  [[nodiscard]] bool allows(dht::Stage stage, dht::Basis basis) const;
  [[nodiscard]] bool is_in_force(dht::Basis basis) const;
  void check_lease(Check& check) const;
  void check_word(Check& check) const;
  // The two, in their order, as steps.
  void add_checks(std::vector<Process::Work>& steps, const std::shared_ptr<Check>& check) const;
  void note_accepted(const Check& check, Instant at) const;
  // Before what is checked is changed.
  void note_change(const Check& check) const;

  World& world_;
  Host& host_;
  Process process_;
  std::map<Register, CallPointer> joinable_;
};

}  // namespace prophecy::ring
