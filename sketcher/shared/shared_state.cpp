#include "sketcher/shared/shared_state.hpp"

#include <new>
#include <type_traits>

#include <sys/mman.h>

#include "base/assert.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kOwnerWords = kPartitions + dht::Permissions::kExtraWords;

// Takes arrays out of zeroed memory, one after another; without memory, only reckons.
class Arena {
 public:
  explicit Arena(std::byte* memory) : memory_(memory) {}

  template <class Element>
  Element* take(std::size_t count) {
    static_assert(alignof(Element) <= kAlignment);
    std::byte* place = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (count * sizeof(Element) + kAlignment - 1) / kAlignment * kAlignment;
    if (place == nullptr) return nullptr;
    for (std::size_t i = 0; i < count; ++i)
      new (place + i * sizeof(Element)) Element;
    return reinterpret_cast<Element*>(place);
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

}  // namespace

Result<SharedState> SharedState::map(const Shape& shape, std::span<std::byte> kept) {
  static_assert(std::is_trivially_destructible_v<GroupNumbers> && alignof(GroupNumbers) <= 64);
  ASSERT(shape.groups * sizeof(GroupNumbers) <= kept.size());
  SharedState state;
  state.shape_ = shape;
  std::uint64_t* owners = nullptr;
  MemberDirectory::Slot* members = nullptr;
  WorkerTurns::Place* places = nullptr;
  std::atomic<std::uint64_t>* turn = nullptr;
  RingCounters* ring_counters = nullptr;
  const auto lay_out = [&](std::byte* memory) {
    Arena arena(memory);
    const std::size_t workers = shape.workers;
    state.bypass_ = arena.take<std::atomic<bool>>(1);
    state.groups_ = arena.take<GroupState>(shape.groups);
    state.routes_ = arena.take<RouteState>(shape.routes);
    state.workers_ = arena.take<WorkerCounters>(workers);
    state.requests_ = arena.take<RequestCounters>(workers * (shape.routes + std::size_t{1}));
    state.origins_ = arena.take<OriginCounters>(workers * shape.origins);
    state.shadows_ = arena.take<ShadowCounters>(workers * shape.shadows);
    state.fields_ = arena.take<Counter>(workers * shape.fields);
    state.unknown_fields_ = arena.take<sketch::UnknownFields>(workers);
    state.activity_ = arena.take<std::byte>(workers * shape.activity_bytes);
    state.paid_until_ =
        arena.take<ClientLimitSlots::PaidUntil>(shape.client_limits * ClientLimit::kSlots);
    state.in_flight_ =
        arena.take<ClientLimitSlots::InFlight>(shape.client_limits * workers * ClientLimit::kSlots);
    if (shape.has_ring) {
      owners = arena.take<std::uint64_t>(kOwnerWords);
      state.members_ = arena.take<MemberCounters>(workers * MemberDirectory::kSlots);
      members = arena.take<MemberDirectory::Slot>(MemberDirectory::kSlots);
      places = arena.take<WorkerTurns::Place>(workers);
      turn = arena.take<std::atomic<std::uint64_t>>(1);
      ring_counters = arena.take<RingCounters>(1);
    }
    return arena.used();
  };
  void* memory =
      ::mmap(nullptr, lay_out(nullptr), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return io_error("shared memory");
  lay_out(static_cast<std::byte*>(memory));
  if (shape.has_ring) {
    state.ring_.emplace(
        SharedRing{dht::Permissions({owners, kOwnerWords}),
                   MemberDirectory(std::span<MemberDirectory::Slot, MemberDirectory::kSlots>(
                       members, MemberDirectory::kSlots)),
                   WorkerTurns(std::span(places, shape.workers), *turn), *ring_counters});
  }
  // Not constructed: they are zero, or what they were when the table was left.
  auto* const numbers = reinterpret_cast<GroupNumbers*>(kept.data());
  for (std::uint32_t group = 0; group < shape.groups; ++group)
    state.groups_[group].numbers = numbers + group;
  return state;
}

GroupState& SharedState::group(std::uint32_t group) const {
  ASSERT(group < shape_.groups);
  return groups_[group];
}

RouteState& SharedState::route(std::uint32_t route) const {
  ASSERT(route < shape_.routes);
  return routes_[route];
}

WorkerCounters& SharedState::worker(std::uint32_t worker) const {
  ASSERT(worker < shape_.workers);
  return workers_[worker];
}

std::span<RequestCounters> SharedState::requests(std::uint32_t worker) const {
  ASSERT(worker < shape_.workers);
  const std::size_t count = shape_.routes + std::size_t{1};
  return {requests_ + worker * count, count};
}

std::span<OriginCounters> SharedState::origins(std::uint32_t worker) const {
  ASSERT(worker < shape_.workers);
  return {origins_ + std::size_t{worker} * shape_.origins, shape_.origins};
}

std::span<ShadowCounters> SharedState::shadows(std::uint32_t worker) const {
  ASSERT(worker < shape_.workers);
  return {shadows_ + std::size_t{worker} * shape_.shadows, shape_.shadows};
}

std::span<MemberCounters> SharedState::members(std::uint32_t worker) const {
  ASSERT(worker < shape_.workers);
  if (!shape_.has_ring) return {};
  return {members_ + worker * MemberDirectory::kSlots, MemberDirectory::kSlots};
}

std::span<Counter> SharedState::fields(std::uint32_t worker) const {
  ASSERT(worker < shape_.workers);
  return {fields_ + std::size_t{worker} * shape_.fields, shape_.fields};
}

std::span<std::byte> SharedState::activity(std::uint32_t worker) const {
  ASSERT(worker < shape_.workers);
  return {activity_ + worker * shape_.activity_bytes, shape_.activity_bytes};
}

ClientLimitSlots SharedState::client_limit(std::uint32_t number) const {
  ASSERT(number < shape_.client_limits);
  const std::size_t rows = shape_.workers * ClientLimit::kSlots;
  return {{paid_until_ + number * ClientLimit::kSlots, ClientLimit::kSlots},
          {in_flight_ + number * rows, rows}};
}

sketch::UnknownFields& SharedState::unknown_fields(std::uint32_t worker) const {
  ASSERT(worker < shape_.workers);
  return unknown_fields_[worker];
}

}  // namespace prophecy::sketcher
