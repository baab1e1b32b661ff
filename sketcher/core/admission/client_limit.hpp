// `ClientLimit` bounds what one client may ask of a route: requests a second, and requests in
// flight. It also holds who may ask at all.
//
// A client is an IPv4 address, a network of IPv6, or the value of a request field. It has a slot in
// each of two rows of a table that all workers share, chosen by hashes that no client knows. Both
// count all that it is granted, and it is refused when both are full: so clients share a bound only
// where others fill both slots. Values of fields, which clients may invent, have two rows of their
// own. A slot's rate is one word, the time until which its requests so far are paid for (GCRA), so
// a worker that is killed leaves it right. Requests in flight are counted by each worker in rows of
// its own, which its replacement clears.
//
// Deterministic: time comes in. One object for each worker and route; single-threaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/address_range.hpp"
#include "base/clock.hpp"
#include "base/ip_address.hpp"

namespace prophecy::sketcher {

struct ClientLimitSettings {
  std::string field;            // in lower case; empty: a client is its address
  double per_second = 0;        // 0: no bound
  std::uint32_t burst = 0;      // requests that may come at once, at least 1 with a bound
  std::uint32_t in_flight = 0;  // 0: no bound
  AddressRanges unlimited;      // by address, whatever a client is
  AddressRanges allowed;        // empty: everybody
  AddressRanges denied;
};

// A view of shared memory.
struct ClientLimitSlots {
  using PaidUntil = std::atomic<std::uint64_t>;  // ns of the steady clock
  using InFlight = std::atomic<std::uint32_t>;

  std::span<PaidUntil> paid_until;  // kSlots
  std::span<InFlight> in_flight;    // kSlots of one worker behind those of another
};

class ClientLimit {
 public:
  static constexpr std::size_t kRowSlots = 1 << 13;
  static constexpr std::size_t kSlots = 4 * kRowSlots;  // two rows of addresses, two of fields

  enum class Verdict : std::uint8_t { granted, denied, too_often, too_many };
  // What a request holds while it is in flight.
  struct Slots {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
  };
  struct Decision {
    Verdict verdict = Verdict::granted;
    std::optional<Slots> held;        // of one that is granted, and to be given back
    std::uint32_t retry_after_s = 1;  // of one that is refused for its number
  };

  // Clears the row of `worker`. `seed` is the same for all workers.
  ClientLimit(const ClientLimitSettings& settings, const ClientLimitSlots& slots,
              std::uint32_t worker, unsigned ipv6_prefix_bits, std::uint64_t seed);

  // `field` is the value of the settings' field; a request without it counts by its address.
  // `address` is nothing where it is not known: only a rule for all concerns it.
  [[nodiscard]] Decision take(const std::optional<IpAddress>& address,
                              const std::optional<std::string_view>& field, TimePoint now);
  void give_back(Slots slots);

 private:
  [[nodiscard]] Slots slots_of(const std::optional<IpAddress>& address,
                               const std::optional<std::string_view>& field) const;
  [[nodiscard]] std::uint32_t in_flight(std::uint32_t slot) const;
  // Nothing: it may be; otherwise the time until it may.
  [[nodiscard]] std::optional<Duration> pay(Slots slots, TimePoint now);
  // Of one slot, which pays if so.
  [[nodiscard]] std::optional<Duration> pay(std::uint32_t slot, std::uint64_t time);
  // What the other slot had room for counts here, too.
  void owe(std::uint32_t slot, std::uint64_t time);
  [[nodiscard]] std::uint64_t interval() const {
    return static_cast<std::uint64_t>(1e9 / settings_.per_second);
  }

  const ClientLimitSettings& settings_;
  ClientLimitSlots slots_;
  std::uint32_t worker_;
  unsigned ipv6_prefix_bits_;
  std::uint64_t seed_;
};

// What one request has of a limit. It asks once, however often its way is looked for.
class LimitedRequest {
 public:
  [[nodiscard]] ClientLimit::Decision take(ClientLimit& limit,
                                           const std::optional<IpAddress>& address,
                                           const std::optional<std::string_view>& field,
                                           TimePoint now);
  [[nodiscard]] bool has_asked() const { return limit_ != nullptr; }
  // It is over, and the next one may ask.
  void end();

 private:
  ClientLimit* limit_ = nullptr;  // that it has asked
  std::optional<ClientLimit::Slots> held_;
};

}  // namespace prophecy::sketcher
