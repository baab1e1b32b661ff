// `RunSettings` holds the ingredients of one simulated run, drawn from its seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "consistency/variant.hpp"
#include "history_table/history_entry.hpp"
#include "simulation/random.hpp"

namespace prophecy::consistency {

using Key = std::size_t;

// Whether the ordered group is a real one.
enum class GroupChoice : std::uint8_t { by_seed, simulated, pbft };

struct RunSettings {
  Variant variant = kVariants[0];
  std::size_t keys = 1;     // registers
  std::size_t origins = 4;  // the last `faults` of them lie
  std::size_t faults = 1;
  bool has_votes = false;            // a group without an order
  bool has_agents = false;           // a real group, by PBFT
  bool has_short_deadlines = false;  // of calls to it
  bool has_bad_agent = false;        // the liar's agent breaks the protocol
  // It executes what is prepared, and may have to undo it.
  bool executes_ahead = false;
  // Other requests crowd entries out of the history, and slow some calls down.
  bool is_busy = false;
  // Correct origins differ: pages that reflect the request, set cookies, name their host, and
  // origins that say that they are busy. Then no origin lags, and no value is written past the
  // sketcher: whatever differs is noise, or a liar's.
  bool is_noisy = false;
  bool has_hedges = false;     // latencies are known from before, and hedges are saved up
  bool has_blocks = false;     // registers and one page have bodies in blocks
  bool has_heads = false;      // some reads are HEAD
  bool has_modes = false;      // some requests are on routes that are observed or off
  bool has_budget = false;     // the slow path's, with little left; nobody writes through it
  bool has_few_calls = false;  // the group takes few calls at a time
  bool has_slow_confirmations = false;
  bool has_outages = false;        // at times most exchanges with origins fail
  bool has_clock_steps = false;    // `now` stands still, or jumps far ahead
  bool has_few_addresses = false;  // all clients are behind one address
  bool has_accomplice = false;     // one client conspires with the liars
  bool has_weights = false;        // of origins, and an operator takes some out (operator.hpp)
  bool has_ring = false;           // two members, each with a worker (ring.hpp)
  bool counts_itself = false;      // then: each numbers answers by itself, as with several groups
  bool has_pipelining = false;     // verified reads share connections to origins
  bool shares_always = false;      // then: whatever the origin's pace
  bool has_mixed_pages = false;    // ends with quick and slow pages at one origin
  bool is_tried = false;           // ends with a trial of the liars
  bool is_long = false;
  // The group hangs while many different reads of an observed route come; long.
  bool is_flooded = false;
  std::vector<Mark> listed;  // by register: by the configuration's lists

  [[nodiscard]] static RunSettings draw(const Variant& variant, GroupChoice choice,
                                        simulation::Random& random);
  // Values written past the sketcher are not known to it, and origins apply writes late.
  [[nodiscard]] bool has_lag() const { return !is_noisy; }
  [[nodiscard]] std::size_t correct() const { return origins - faults; }
  [[nodiscard]] bool is_liar(std::size_t origin) const { return origin >= correct(); }
  // So many give a liar's name (docs/reads.md): n - f, and 2f+1 at least.
  [[nodiscard]] std::size_t strong() const;
  [[nodiscard]] bool can_name_liars() const { return correct() >= strong(); }
  // For people.
  [[nodiscard]] std::string describe() const;

 private:
  void choose_group(GroupChoice choice, simulation::Random random);
  void choose_ring(simulation::Random random);
  void choose_weights(simulation::Random random);
  void choose_pipelining(simulation::Random random);
};

}  // namespace prophecy::consistency
