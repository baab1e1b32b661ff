// `View` says who the members of a ring are, at one number. Views follow one another by
// compare-and-set on one node of the coordination service; so there is one view of each number.
//
// A view also lists the views before it that some partition may still be held under: `former`.
// Their placements say who may have been an owner, and has to have stopped, before a new owner
// begins (fence.hpp). A former view is left out once one after it is *settled*: each of its members
// has seen all former holders of its partitions stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "dht/core/boot_time.hpp"
#include "dht/core/placement.hpp"
#include "dht/core/steps.hpp"

namespace prophecy::dht {

// Counts the views of a ring, from 1 on.
using ViewNumber = std::uint64_t;
constexpr ViewNumber kViewNumberMax = (ViewNumber{1} << 62) - 1;

// One life of a member's process; drawn at random when it starts. A new one resumes nothing.
using Instance = std::uint64_t;

constexpr std::size_t kMembersMax = 64;
constexpr std::size_t kNameBytesMax = 64;        // letters, digits, '.', '-' and '_'
constexpr std::size_t kWordBytesMax = 128;       // of a parameter; the same letters
constexpr std::size_t kWorkerAddressesMax = 64;  // of a member: one for each worker
constexpr std::size_t kAddressesMax = kWorkerAddressesMax + 1;
constexpr std::size_t kFormerViewsMax = 4;      // in a view
constexpr std::size_t kViewBytesMax = 1 << 18;  // as text
constexpr Span kLeaseMin = std::chrono::milliseconds(100);
constexpr Span kLeaseMax = std::chrono::minutes(5);

// Parameters that all members of a ring share. A process whose own differ may not take part: it
// would know other keys, other digests, or other ends of leases.
struct Parameters {
  std::string cluster;  // an id, drawn when the ring was made
  std::string digest;   // of sketches
  std::string secret;   // a fingerprint of the installation's secret
  std::string profile;  // a fingerprint of the canonical profiles and groups
  Span lease = std::chrono::seconds(4);
  Span group_only{};  // how long answers may be given through the group alone, without a lease

  bool operator==(const Parameters&) const = default;
};

// Why a process with the first parameters may not join a ring with the second; nothing if it may.
[[nodiscard]] std::optional<std::string> why_foreign(const Parameters& own, const Parameters& ring);

// A process that may hold partitions of a view, as far as placement goes. One of weight 0 holds
// none: it forwards requests alone, or drains.
struct Holder {
  std::string name;
  Instance instance = 0;
  std::uint32_t weight = 100;

  bool operator==(const Holder&) const = default;
};

struct Member {
  Holder holder;
  // For other members: where its workers take requests; and the last one, where its ring process
  // hands partitions over.
  std::vector<Endpoint> addresses;
  Steps steps = {};  // that it speaks

  bool operator==(const Member&) const = default;
};

struct FormerView {
  ViewNumber number = 0;
  std::vector<Holder> holders;  // by name

  bool operator==(const FormerView&) const = default;
};

// One of the members has a weight, at least. All of them speak its step.
struct View {
  ViewNumber number = 0;
  Step step = 1;
  Parameters parameters;
  std::vector<Member> members;  // by name, one at least
  // The views before this one, without a gap, oldest first.
  std::vector<FormerView> former;
  // Under views before the first of `former` nothing is held any more. If false, anybody may.
  bool is_former_complete = true;

  bool operator==(const View&) const = default;
};

// Why a process with these steps cannot become a member beside those of the view; nothing if it
// can. Both sides report it.
[[nodiscard]] std::optional<std::string> why_out_of_step(const Steps& own, const View& view);

[[nodiscard]] const Member* find_member(const View& view, std::string_view name);
[[nodiscard]] std::vector<Holder> holders_of(const View& view);
[[nodiscard]] bool has_weight(const std::vector<Holder>& holders);
// Holders in the order of `holders`.
[[nodiscard]] Placement place(const std::vector<Holder>& holders, std::size_t partitions);

[[nodiscard]] bool is_name(std::string_view text);

// ---- As text, for operators' eyes and zkCli. There is one spelling of each value: decoding
// accepts what encoding writes, byte for byte, and nothing else. An error says what is wrong.

[[nodiscard]] std::string encode(const View& view);
[[nodiscard]] Result<View> decode_view(std::string_view text);

// The ephemeral node of a process that would like to be a member.
struct Announcement {
  Parameters parameters;
  Member member;

  bool operator==(const Announcement&) const = default;
};
[[nodiscard]] std::string encode(const Announcement& announcement);
[[nodiscard]] Result<Announcement> decode_announcement(std::string_view text);

// A member's own node, which it alone writes, whenever it renews its lease.
struct LeaseRecord {
  Instance instance = 0;
  // It has adopted this view: it holds nothing any more that this view gives to others.
  ViewNumber view = 0;
  // The member has seen all former holders of its partitions of this view stopped.
  ViewNumber settled = 0;

  bool operator==(const LeaseRecord&) const = default;
};
[[nodiscard]] std::string encode(const LeaseRecord& record);
[[nodiscard]] Result<LeaseRecord> decode_lease(std::string_view text);

}  // namespace prophecy::dht
