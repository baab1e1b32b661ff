// `Host` is one life of a member: its machine's clock, its shared memory, the ring's process with
// the real core, and workers.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dht/core/ring_node.hpp"
#include "ring/process.hpp"
#include "ring/table.hpp"
#include "ring/worker.hpp"
#include "ring/zookeeper_model.hpp"

namespace prophecy::ring {

class World;

// Of a machine; goes on while its processes come and go.
struct Clock {
  std::int64_t rate_ppm = 0;  // faster than real time by so much
  Duration ahead{};           // at the beginning
  Duration hidden{};          // time that it has not shown
  Duration wall{};            // what operators have set the wall clock by
};

class Host {
 public:
  Host(World& world, std::string name, dht::Instance instance, std::uint32_t weight, Clock& clock,
       std::shared_ptr<Table> table, dht::AgreedSettings known);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] dht::BootTime now() const;
  [[nodiscard]] const dht::Holder& self() const { return ring().self(); }
  [[nodiscard]] const dht::Permissions& permissions() const { return permissions_; }
  [[nodiscard]] Table& table() { return *table_; }
  [[nodiscard]] const std::shared_ptr<Table>& table_pointer() const { return table_; }
  // When it was cleared last, or entries of it were handed over.
  [[nodiscard]] Instant touched(Partition partition) const { return touched_[partition]; }
  [[nodiscard]] std::weak_ptr<bool> alive() const { return alive_; }
  [[nodiscard]] ZooKeeperModel::ClientId client() const { return client_; }
  [[nodiscard]] const dht::Ring& ring() const { return node_->ring(); }

  // ---- For workers.
  [[nodiscard]] Worker& any_worker();
  void pass_on(const OperationPointer& operation, dht::MemberSlot owner, int hops);
  void raise_elsewhere(dht::MemberSlot owner, std::size_t slot, OrderNumber number,
                       std::function<void()> done);

  // ---- From other members.
  void on_ask(const dht::HandOverAsk& ask, const std::string& from,
              std::function<void(dht::HandOverPage)> answer);

  // ---- What operators set.
  void set(const std::string& name, std::string value);
  // By what its master acts.
  [[nodiscard]] const dht::AgreedSettings& carried_out() const { return carried_out_; }
  [[nodiscard]] std::size_t orders_under_way() const { return orders_.size(); }
  // That were agreed when it began.
  [[nodiscard]] dht::SettingsNumber agreed_at_first() const { return agreed_at_first_; }

  // ---- What happens to it.
  void drain();
  void rejoin();
  void stop_ring(TimePoint until) { process_.stop_until(until); }
  void stop_worker(std::size_t index, TimePoint until) {
    workers_[index % workers_.size()]->process().stop_until(until);
  }
  void stop_all(TimePoint until);
  void resume();
  [[nodiscard]] bool is_draining() const { return is_draining_; }
  [[nodiscard]] bool is_drained() const { return ring().is_drained(); }

 private:
  void on_event(std::function<void()> event);
  void carry_out();
  void carry_out(dht::RingNodeAction action);
  void on_settings(const dht::AgreedSettings& settings);
  void on_outcome(const dht::SettingsOutcome& outcome);
  void ask(const dht::Taker::Send& send);
  void clear(const dht::ClearPartitions& wanted);
  void order_barrier(std::uint64_t ticket);
  void check_page(const dht::HandOverPage& page);
  void plan_tick();
  void after_turns(const std::function<void()>& then);
  [[nodiscard]] TimePoint real_time(dht::BootTime time) const;

  World& world_;
  Clock& clock_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::vector<std::uint64_t> words_;
  dht::Permissions permissions_;
  std::shared_ptr<Table> table_;
  Process process_;  // of the ring
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<dht::RingNode> node_;
  ZooKeeperModel::ClientId client_ = 0;
  std::uint64_t ticks_ = 0;
  std::vector<Instant> touched_;  // by partition
  dht::ViewNumber adopted_ = 0;
  TimePoint adopted_at_{};
  bool is_draining_ = false;
  dht::AgreedSettings carried_out_;
  dht::SettingsNumber agreed_at_first_ = 0;
  std::uint64_t last_order_ = 0;
  std::map<std::string, std::string> last_set_;
  std::set<std::uint64_t> orders_;  // that have not ended
};

}  // namespace prophecy::ring
