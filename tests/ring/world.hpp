// A whole ring in virtual time: members with the real core, a model of ZooKeeper, a group, and
// clients. For some seconds things go wrong; then they do not any more, and all has to be served.
//
// Oracles, each of which names the rule that it holds (docs/ring.md):
//  - owner: after every step, at most one member may accept for a partition by its history, and
//    where one may, no other may answer it through the group alone;
//  - acceptance: the instants of what was accepted by histories are those of one owner after the
//    other;
//  - hand-over: what a member has just been handed, and what counts there, is not older than what
//  was
//    accepted for the register, whoever has accepted it;
//  - delay-once: each register's history is delay-once linearizable, with reads after writes
//    (tests/consistency/);
//  - settings: each committed text of what operators set is the one before with one change that was
//    asked for; what was answered as agreed was committed; who accepts acts by what was agreed when
//    it was started; in the end all act by the same (settings_oracle.hpp);
//  - service: once nothing goes wrong any more, each partition has one owner, and requests are
//    answered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ring/client.hpp"
#include "ring/host.hpp"
#include "ring/recorder.hpp"
#include "ring/settings.hpp"
#include "ring/settings_oracle.hpp"
#include "ring/zookeeper_model.hpp"

namespace prophecy::ring {

class World {
 public:
  World(std::uint64_t seed, const Variant& variant, bool is_traced);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // The first breach, if there is one. Histories are decided by the caller.
  void run();
  [[nodiscard]] const std::optional<Breach>& breach() const { return breach_; }
  [[nodiscard]] const Recorder& recorder() const { return recorder_; }
  [[nodiscard]] Tally& tally() { return tally_; }

  // ---- For hosts, workers and clients.
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const RunSettings& settings() const { return settings_; }
  [[nodiscard]] const Layout& layout() const { return settings_.layout; }
  [[nodiscard]] ZooKeeperModel& zookeeper() { return zookeeper_; }
  [[nodiscard]] SettingsOracle& settings_oracle() { return settings_oracle_; }
  [[nodiscard]] Group& group() { return group_; }
  [[nodiscard]] Recorder& mutable_recorder() { return recorder_; }
  [[nodiscard]] bool is_broken(Broken what) const { return settings_.variant.broken == what; }
  [[nodiscard]] bool is_calm() const { return is_calm_; }
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] Instant instant() const { return scheduler_.now().time_since_epoch().count(); }
  // What was sent then has to be served.
  [[nodiscard]] bool is_recovered(Instant since) const;
  [[nodiscard]] Content new_content() { return ++contents_; }
  [[nodiscard]] std::vector<Host*> living();
  void fail(Oracle oracle, std::string text);
  void trace(const std::string& line) const;

  // `request` is carried out in the order, at some instant; its answer comes later.
  void ask_group(std::function<Group::Answer()> request, std::function<void(Group::Answer)> done);
  void ask_origin(Register at, std::function<void(Content)> done);
  // Nothing arrives where the network is parted, or where nobody of that name lives.
  void send(const Host& from, const std::string& to, std::function<void(Host&)> message);
  void send_ask(const Host& from, const dht::Holder& to, const dht::HandOverAsk& ask,
                std::function<void(const dht::HandOverPage&)> answer);
  // The group has carried it out.
  void check_write(Partition partition, dht::Instance writer);
  void note_answer(Register at, Content content, OrderNumber number);
  // It counts from now on.
  void check_handed(const Host& host, Register at, const Table::Entry& entry);
  void note_accepted(Partition partition, const Host& host, dht::OwnerWord claim, Instant at);

 private:
  struct Machine {
    Clock clock;
    std::uint32_t weight = 100;
    dht::Instance instance = 0;         // of its last process
    std::shared_ptr<Table> kept_table;  // of the process before
    dht::AgreedSettings kept_settings;  // likewise
    std::unique_ptr<Host> host;
    // An earlier life that was taken for dead, and another process started in its place.
    std::unique_ptr<Host> ghost;
  };
  // One owner's acceptances, without another's in between.
  struct Tenure {
    dht::Instance instance = 0;
    dht::OwnerWord claim;
    Instant first = 0;
    Instant last = 0;
  };

  [[nodiscard]] Duration network_delay();
  void start(Machine& machine, const std::string& name);
  void kill(Machine& machine);
  void haunt(const std::string& name, Machine& machine, TimePoint until);
  void disturb();
  void disturb_host(const std::string& name, Machine& machine);
  void disturb_service();
  void set_something();
  void advance_origins();
  void write_past();
  void evict_some();
  void calm_down();
  void check_owners();
  void check_settings();
  void check_service();
  [[nodiscard]] std::size_t owners_of(Partition partition, std::string& names, bool& is_double);

  bool is_over_ = false;  // what is planned is dropped
  Random random_;
  RunSettings settings_;
  bool is_traced_;
  Scheduler scheduler_;
  ZooKeeperModel zookeeper_;
  Group group_;
  Recorder recorder_;
  SettingsOracle settings_oracle_;
  dht::NodeVersion settings_version_ = -1;
  std::uint64_t commits_ = 0;
  std::uint64_t values_ = 0;
  Tally tally_;
  std::map<std::string, Machine> machines_;
  std::set<std::pair<std::string, std::string>> parted_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::vector<Tenure>> tenures_;    // by partition
  std::vector<Group::Answer> newest_accepted_;  // by register
  std::optional<Breach> breach_;
  dht::Instance last_instance_ = 0;
  Content contents_ = 0;
  bool is_calm_ = false;
};

}  // namespace prophecy::ring
