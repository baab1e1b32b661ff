// What the master and its workers share beside the history table: counters, the modes of routes,
// and, kept with the table, the numbering of each group's answers. Made before the workers are
// forked; every part is safe when a process is killed in the middle of using it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "canonical/field_counters.hpp"
#include "dht/core/permissions.hpp"
#include "replica_client/sigma_counter.hpp"
#include "sketcher/config/route_settings.hpp"
#include "sketcher/core/admission/client_limit.hpp"
#include "sketcher/core/policy/health_view.hpp"
#include "sketcher/core/read/sigma_order.hpp"
#include "sketcher/counters/counters.hpp"
#include "sketcher/counters/member_counters.hpp"
#include "sketcher/counters/ring_counters.hpp"
#include "sketcher/counters/shadow_counters.hpp"
#include "sketcher/shared/member_directory.hpp"
#include "sketcher/shared/worker_turns.hpp"

namespace prophecy::sketcher {

// How the sigmas of one group's entries were made. Zero is the beginning. As long as a table has
// entries, these have to go on: a numbering begun anew would lie below theirs, and every newer
// answer be refused.
struct GroupNumbers {
  SigmaOrder order;
  replica_client::SigmaCounter votes;  // for a group that has no order
};

// Of one group.
struct GroupState {
  GroupNumbers* numbers = nullptr;
  HealthView health;
};

// Written by the master, read by workers before each request.
class RouteState {
 public:
  [[nodiscard]] RouteMode mode() const { return mode_.load(std::memory_order_relaxed); }
  void set_mode(RouteMode mode) { mode_.store(mode, std::memory_order_relaxed); }

 private:
  std::atomic<RouteMode> mode_{RouteMode::enforce};
};

// What a ring's processes share beside that; views.
struct SharedRing {
  dht::Permissions permissions;
  MemberDirectory members;
  WorkerTurns turns;
  RingCounters& counters;
};

// A view of memory that is never unmapped: copied freely, and valid in children.
class SharedState {
 public:
  struct Shape {
    std::uint32_t workers = 0;
    std::uint32_t groups = 0;
    std::uint32_t routes = 0;
    std::uint32_t origins = 0;        // of all groups
    std::uint32_t shadows = 0;        // likewise
    std::uint32_t fields = 0;         // rules for header fields, of all groups' profiles
    std::uint32_t client_limits = 0;  // routes that bound what one client may ask
    std::size_t activity_bytes = 0;   // for each worker: whole cache lines
    bool has_ring = false;
  };
  // `kept` is where the groups' numbers lie, and outlives all this.
  [[nodiscard]] static Result<SharedState> map(const Shape& shape, std::span<std::byte> kept);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] GroupState& group(std::uint32_t group) const;
  [[nodiscard]] RouteState& route(std::uint32_t route) const;
  [[nodiscard]] WorkerCounters& worker(std::uint32_t worker) const;
  // By route; the last one is for what no route takes.
  [[nodiscard]] std::span<RequestCounters> requests(std::uint32_t worker) const;
  // By an origin's number among those of all groups.
  [[nodiscard]] std::span<OriginCounters> origins(std::uint32_t worker) const;
  // Likewise.
  [[nodiscard]] std::span<ShadowCounters> shadows(std::uint32_t worker) const;

  // By a rule's number among those of all groups.
  [[nodiscard]] std::span<Counter> fields(std::uint32_t worker) const;
  [[nodiscard]] sketch::UnknownFields& unknown_fields(std::uint32_t worker) const;

  // What it knows of requests (core/policy/activity_layout.hpp).
  [[nodiscard]] std::span<std::byte> activity(std::uint32_t worker) const;

  // By a route's number among those with such bounds.
  [[nodiscard]] ClientLimitSlots client_limit(std::uint32_t number) const;

  // By slot; of nobody without a ring.
  [[nodiscard]] std::span<MemberCounters> members(std::uint32_t worker) const;
  // Requires that the shape has a ring. All partitions are unknown at first.
  [[nodiscard]] const SharedRing& ring() const { return *ring_; }

  // The kill switch: routes that verify are off.
  [[nodiscard]] bool bypass() const { return bypass_->load(std::memory_order_relaxed); }
  void set_bypass(bool on) const { bypass_->store(on, std::memory_order_relaxed); }

 private:
  Shape shape_;
  std::atomic<bool>* bypass_ = nullptr;
  GroupState* groups_ = nullptr;
  RouteState* routes_ = nullptr;
  WorkerCounters* workers_ = nullptr;
  RequestCounters* requests_ = nullptr;
  OriginCounters* origins_ = nullptr;
  ShadowCounters* shadows_ = nullptr;
  Counter* fields_ = nullptr;
  sketch::UnknownFields* unknown_fields_ = nullptr;
  std::byte* activity_ = nullptr;
  ClientLimitSlots::PaidUntil* paid_until_ = nullptr;
  ClientLimitSlots::InFlight* in_flight_ = nullptr;
  MemberCounters* members_ = nullptr;
  std::optional<SharedRing> ring_;
};

}  // namespace prophecy::sketcher
