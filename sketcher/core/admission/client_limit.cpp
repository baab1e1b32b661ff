#include "sketcher/core/admission/client_limit.hpp"

#include <algorithm>

#include <xxhash.h>

#include "base/assert.hpp"

namespace prophecy::sketcher {
namespace {

std::uint64_t nanoseconds(TimePoint time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  return static_cast<std::uint64_t>(since.count());
}

std::uint32_t whole_seconds(Duration time) {
  return static_cast<std::uint32_t>(
      std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(time).count()));
}

}  // namespace

ClientLimit::ClientLimit(const ClientLimitSettings& settings, const ClientLimitSlots& slots,
                         std::uint32_t worker, unsigned ipv6_prefix_bits, std::uint64_t seed)
    : settings_(settings),
      slots_(slots),
      worker_(worker),
      ipv6_prefix_bits_(ipv6_prefix_bits),
      seed_(seed) {
  ASSERT(slots_.paid_until.size() == kSlots && slots_.in_flight.size() % kSlots == 0);
  ASSERT(worker_ < slots_.in_flight.size() / kSlots);
  for (auto& count : slots_.in_flight.subspan(worker_ * kSlots, kSlots))
    count.store(0, std::memory_order_relaxed);
}

ClientLimit::Decision ClientLimit::take(const std::optional<IpAddress>& address,
                                        const std::optional<std::string_view>& field,
                                        TimePoint now) {
  const auto is_in = [&](const AddressRanges& ranges) {
    return address && contains(ranges, *address);
  };
  if (is_in(settings_.denied) || (!settings_.allowed.empty() && !is_in(settings_.allowed))) {
    return {.verdict = Verdict::denied, .held = std::nullopt};
  }
  if (is_in(settings_.unlimited)) return {};
  const Slots slots = slots_of(address, field);
  if (settings_.in_flight > 0 &&
      std::min(in_flight(slots.first), in_flight(slots.second)) >= settings_.in_flight) {
    return {.verdict = Verdict::too_many, .held = std::nullopt};
  }
  if (settings_.per_second > 0) {
    if (const auto wait = pay(slots, now)) {
      return {.verdict = Verdict::too_often,
              .held = std::nullopt,
              .retry_after_s = whole_seconds(*wait)};
    }
  }
  if (settings_.in_flight == 0) return {};
  for (const std::uint32_t slot : {slots.first, slots.second})
    slots_.in_flight[worker_ * kSlots + slot].fetch_add(1, std::memory_order_relaxed);
  return {.verdict = Verdict::granted, .held = slots};
}

void ClientLimit::give_back(Slots slots) {
  for (const std::uint32_t slot : {slots.first, slots.second}) {
    auto& count = slots_.in_flight[worker_ * kSlots + slot];
    // A replacement may have cleared the rows of a worker that still drains.
    std::uint32_t before = count.load(std::memory_order_relaxed);
    while (before > 0 &&
           !count.compare_exchange_weak(before, before - 1, std::memory_order_relaxed))
      continue;
  }
}

ClientLimit::Slots ClientLimit::slots_of(const std::optional<IpAddress>& address,
                                         const std::optional<std::string_view>& field) const {
  // The halves of such a hash are independent of each other.
  const auto in_rows = [](std::size_t row, XXH128_hash_t hash) {
    return Slots{
        .first = static_cast<std::uint32_t>(row * kRowSlots + hash.low64 % kRowSlots),
        .second = static_cast<std::uint32_t>((row + 1) * kRowSlots + hash.high64 % kRowSlots)};
  };
  // A value that looks like an address is no client's address.
  if (field && !settings_.field.empty())
    return in_rows(2, XXH3_128bits_withSeed(field->data(), field->size(), ~seed_));
  const IpAddress network = address.value_or(IpAddress()).network(ipv6_prefix_bits_);
  return in_rows(0, XXH3_128bits_withSeed(network.bytes().data(), network.bytes().size(), seed_));
}

std::uint32_t ClientLimit::in_flight(std::uint32_t slot) const {
  std::uint32_t count = 0;
  for (std::size_t at = slot; at < slots_.in_flight.size(); at += kSlots)
    count += slots_.in_flight[at].load(std::memory_order_relaxed);
  return count;
}

std::optional<Duration> ClientLimit::pay(Slots slots, TimePoint now) {
  const std::uint64_t time = nanoseconds(now);
  const auto first = pay(slots.first, time);
  const auto second = pay(slots.second, time);
  if (first && second) return std::min(*first, *second);
  if (first) owe(slots.first, time);
  if (second) owe(slots.second, time);
  return std::nullopt;
}

std::optional<Duration> ClientLimit::pay(std::uint32_t slot, std::uint64_t time) {
  const std::uint64_t ahead_max = interval() * settings_.burst;
  auto& paid_until = slots_.paid_until[slot];
  std::uint64_t known = paid_until.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t next = std::max(known, time) + interval();
    if (next - time > ahead_max) {
      return std::chrono::duration_cast<Duration>(
          std::chrono::nanoseconds(next - time - ahead_max));
    }
    if (paid_until.compare_exchange_weak(known, next, std::memory_order_relaxed))
      return std::nullopt;
  }
}

// A client's own requests count in both, so it has no more by having two. What many others have
// granted to them is forgotten beyond another burst: else it would keep the slot full for long.
void ClientLimit::owe(std::uint32_t slot, std::uint64_t time) {
  const std::uint64_t owed_max = time + 2 * interval() * settings_.burst;
  auto& paid_until = slots_.paid_until[slot];
  std::uint64_t known = paid_until.load(std::memory_order_relaxed);
  while (known < owed_max) {
    const std::uint64_t next = std::min(std::max(known, time) + interval(), owed_max);
    if (paid_until.compare_exchange_weak(known, next, std::memory_order_relaxed)) return;
  }
}

ClientLimit::Decision LimitedRequest::take(ClientLimit& limit,
                                           const std::optional<IpAddress>& address,
                                           const std::optional<std::string_view>& field,
                                           TimePoint now) {
  if (has_asked()) return {.verdict = ClientLimit::Verdict::granted, .held = held_};
  limit_ = &limit;
  const ClientLimit::Decision decision = limit.take(address, field, now);
  held_ = decision.held;
  // One that is refused is over.
  if (decision.verdict != ClientLimit::Verdict::granted) limit_ = nullptr;
  return decision;
}

void LimitedRequest::end() {
  if (held_) limit_->give_back(*held_);
  held_.reset();
  limit_ = nullptr;
}

}  // namespace prophecy::sketcher
