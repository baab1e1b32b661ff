// `SimulatedRing` is a ring of two members in a simulated run, each with a worker, a history and an
// order of its own. The partitions of the registers move between the members in each way that
// docs/ring.md allows: handed over, lost with a lease that is over while the member does not know
// it, and back again. What it does is right; whether the read path respects it is what is tested.
// (prophecy-ring has the protocol by which real members come to it.)
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "consistency/oracles/tally.hpp"
#include "consistency/settings.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/core/read/acceptance.hpp"
#include "sketcher/core/read/sigma_order.hpp"

namespace prophecy::consistency {

class SimulatedRing {
 public:
  static constexpr std::size_t kMembers = 2;

  struct Member final : sketcher::BootTimer {
    explicit Member(HistoryTable&& of) : table(std::move(of)) {}
    [[nodiscard]] dht::BootTime now() override;

    HistoryTable table;
    WriteFloors floors = table.floors(0);
    sketcher::SigmaOrder order;
    bool has_lease = true;
    std::vector<std::uint64_t> words =
        std::vector<std::uint64_t>(kPartitions + dht::Permissions::kExtraWords);
    dht::Permissions permissions{words};
    sketcher::Acceptance acceptance{permissions, *this};
  };

  // A register, and the keys of its entries.
  struct Register {
    WriteFloors::Place place;
    std::vector<Sketch> keys;
  };
  using MakeTable = std::function<HistoryTable()>;
  // How a member numbers answers.
  struct Numbers {
    // A barrier's, which the member orders.
    std::function<Sigma(std::size_t member)> barrier;
    // The newest, where each member counts for itself; else null.
    std::function<Sigma(std::size_t member)> newest;
  };

  SimulatedRing(const MakeTable& make_table, Numbers numbers, simulation::Random& random,
                Tally& tally);

  // All are the first member's.
  void add(Register of);
  [[nodiscard]] Member& member(std::size_t index) { return *members_[index]; }
  // Something happens to it.
  void step();
  // Each partition has an owner, whose lease is in force: for the rest of the run.
  void settle();

 private:
  struct Part {
    Register of;
    std::size_t owner = 0;  // by the newest view; or the last one, while it is nobody's
    bool is_held = true;
    bool was_given = false;  // while nobody holds it
    // By member: it was deposed, and has not changed its word.
    std::array<bool, kMembers> is_unaware{};
  };

  void set_word(std::size_t member, const Part& part, dht::Stage stage);
  void give(Part& part);
  void depose(Part& part);
  void adopt(Part& part, std::size_t member);
  void take(Part& part, std::size_t taker);
  [[nodiscard]] bool hand_over_floor(const Part& part, std::size_t giver, Member& taker,
                                     Sigma barrier);
  void hand_over_entries(const Part& part, std::size_t giver, Member& taker, Sigma barrier);
  // What the taker makes of the giver's number; 0: nothing.
  [[nodiscard]] Sigma number_over(Sigma number, std::size_t giver, Sigma barrier) const;
  // It was renewed under the newest view, so the member has adopted that.
  void renew(std::size_t member);

  std::array<std::unique_ptr<Member>, kMembers> members_;
  Numbers numbers_;
  simulation::Random& random_;
  Tally& tally_;
  std::vector<Part> parts_;
  std::uint64_t last_word_ = 0;
};

}  // namespace prophecy::consistency
