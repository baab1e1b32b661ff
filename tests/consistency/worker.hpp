// A worker of the simulated sketcher: the real reads of a group, which reach the simulated service.
#pragma once

#include <array>

#include "consistency/world.hpp"
#include "sketcher/group_reads.hpp"

namespace prophecy::consistency {

class SimulatedWorker final : private replica_client::ReplicaGroup,
                              private sketcher::GroupReadHost {
 public:
  explicit SimulatedWorker(World& world)
      : world_(world),
        floors_(shows_floors(world.variant()) ? world.floors() : WriteFloors(never_raised_, 0)),
        reads_(world.loop(), static_cast<sketcher::GroupReadHost&>(*this), world.table()) {}

  [[nodiscard]] sketcher::GroupReads& reads() { return reads_; }

 private:
  void start() override {}
  [[nodiscard]] std::uint32_t size() const override { return Service::kOrigins; }
  [[nodiscard]] std::uint32_t faults() const override { return 1; }
  // Origins are asked by the clients' own means.
  void fast(http::OriginExchange&, NodeId, std::string_view,
            const replica_client::FastForm&) override {}
  std::uint64_t replicated(replica_client::ReplicatedKind, std::string_view wire,
                           const ByteSourcePtr&,
                           replica_client::ReplicatedHandler& handler) override {
    return world_.service().submit(wire, handler);
  }
  void cancel_replicated(std::uint64_t call) override { world_.service().cancel(call); }

  ReplicaGroup& group() override { return *this; }
  sketcher::SigmaOrder& order() override { return world_.order(); }
  [[nodiscard]] const WriteFloors& floors() const override { return floors_; }
  [[nodiscard]] std::optional<Sketch> sketch_of(const sketch::AnswerForm& form) const override {
    if (!sketch::has_sketchable_status(form)) return unsketchable();
    const Sketch sketch = World::sketch_of(form.body);
    world_.former().insert(sketch);
    return sketch;
  }
  void report(sketcher::Divergence&) override {}
  void on_vindicated(NodeId) override {}
  void on_compared(const Sketch&, bool) override {}

  // None; or, for a variant, what the history holds of it.
  [[nodiscard]] std::optional<Sketch> unsketchable() const {
    if (world_.variant() != Variant::unsketchable_ignored) return std::nullopt;
    const auto entry = world_.table().lookup(world_.sketch_of(world_.service().last_key()));
    return entry ? std::optional(entry->answer) : std::nullopt;
  }

  [[nodiscard]] static bool shows_floors(Variant variant) {
    return variant != Variant::join_ignores_floor && variant != Variant::vote_ignores_floor;
  }

  World& world_;
  std::array<WriteFloors::Word, 1> never_raised_{};  // for the variants
  WriteFloors floors_;
  sketcher::GroupReads reads_;
};

}  // namespace prophecy::consistency
