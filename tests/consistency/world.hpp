// The real Algorithm 1 in a simulated run: sketcher/core/read_algorithm, sketcher/group_reads, the
// history table and the order of sigmas, as a worker's exchange uses them, in front of a simulated
// service. A seed decides what happens next, instant by instant. Clients of several workers read,
// write, audit and leave; others write past the sketcher; origins lag and lie; entries are evicted,
// forgotten and blacklisted; calls fail, the group's agents are all restarted, workers are
// replaced. What clients saw is recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "consistency/history.hpp"
#include "consistency/service.hpp"
#include "history_table/history_table.hpp"
#include "simulation/random.hpp"
#include "sketcher/core/sigma_order.hpp"
#include "sketcher/counters.hpp"

namespace prophecy::consistency {

class Crowd;
class SimulatedClient;
class SimulatedWorker;

// What happened in runs, so that a test can see that it did.
struct Tally {
  std::uint64_t fast = 0;  // reads that were answered by one origin
  std::uint64_t replicated = 0;
  std::uint64_t coalesced = 0;       // of these
  std::uint64_t outdated = 0;        // asked again: the answer that they had joined was too old
  std::uint64_t out_of_date = 0;     // look-ups that found what a write had made so
  std::uint64_t unsketchable = 0;    // answers of the group
  std::uint64_t evictions = 0;       // of entries that clients ask for
  std::uint64_t group_restarts = 0;  // that the sketcher noticed

  Tally& operator+=(const Tally& other);
};

class World {
 public:
  World(std::uint64_t seed, Variant variant);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] Histories run();
  [[nodiscard]] Tally tally() const;

  // ---- For clients and workers.
  [[nodiscard]] simulation::Random& random() { return random_; }
  [[nodiscard]] Service& service() { return service_; }
  [[nodiscard]] HistoryTable& table() { return table_; }
  [[nodiscard]] WriteFloors floors() const { return floors_; }
  // The URI of a key.
  [[nodiscard]] static std::string target_of(Key key) { return "/" + std::to_string(key); }
  [[nodiscard]] WriteFloors::Slot slot_of(Key key) const {
    return floors().slot_of("", target_of(key));
  }
  [[nodiscard]] sketcher::SigmaOrder& order() { return order_; }
  [[nodiscard]] boost::asio::io_context& loop() { return loop_; }
  [[nodiscard]] sketcher::RequestCounters& counters() { return counters_; }
  [[nodiscard]] Variant variant() const { return settings_.variant; }
  [[nodiscard]] bool has_votes() const { return settings_.votes; }
  // s(q) and s(r). Values differ among keys.
  [[nodiscard]] Sketch sketch_of(Key key) const;
  [[nodiscard]] static Sketch sketch_of(std::string_view value);
  // What the table has ever been told of, for Variant::any_former.
  [[nodiscard]] std::set<Sketch>& former() { return former_; }
  [[nodiscard]] Tally& counted() { return tally_; }
  [[nodiscard]] SimulatedWorker& any_worker();
  [[nodiscard]] Key any_key() { return random_.below(settings_.keys); }
  [[nodiscard]] std::string new_value() { return "w" + std::to_string(++values_); }

  // The number of an operation that begins now, and its end. Without a value it is left open.
  [[nodiscard]] std::size_t begin(Key key, Kind kind, const std::string* value);
  void end(Key key, std::size_t operation, const std::string* value);

 private:
  void step();
  void clean_up();
  void do_something_rare();
  [[nodiscard]] Sigma place_other();
  void crowd_out(const Sketch& key);
  void forget_table();
  void write_past_the_sketcher();
  void replace_worker();

  simulation::Random random_;
  ServiceSettings settings_;
  Service service_;
  const std::uint64_t table_seed_;
  HistoryTable table_;
  std::unique_ptr<Crowd> crowd_;  // in some runs
  WriteFloors floors_ = table_.floors(0);
  std::vector<HistoryTable> former_tables_;  // of a variant; `floors_` lie in the first one
  sketcher::SigmaOrder order_;
  sketcher::RequestCounters counters_{};
  boost::asio::io_context loop_;
  Tally tally_;
  std::set<Sketch> former_;
  std::vector<History> histories_;  // by key
  std::vector<std::unique_ptr<SimulatedWorker>> workers_;
  std::vector<std::unique_ptr<SimulatedClient>> clients_;
  Instant now_ = 0;
  std::uint64_t values_ = 0;
};

}  // namespace prophecy::consistency
