// What members of a ring tell each other of a request beyond the client's own: where it comes from.
// A member writes these fields for requests that it forwards, and drops them from what clients
// send; they are read of members alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/address_range.hpp"
#include "http/message.hpp"
#include "sketcher/core/read/sigma_order.hpp"
#include "sketcher/reads/client_info.hpp"

namespace prophecy::sketcher {

// "ADDRESS", or "ADDRESS;verified" of a client with a certificate of an authority that we trust.
constexpr std::string_view kClientField = "prophecy-client";
// The ranges of trusted peers, separated by commas; absent when the client is none.
constexpr std::string_view kPeersField = "prophecy-peers";
// The value of kMemberField (answer.hpp) in an answer of the member's own, and the reason for which
// it has not begun a request: another one is the owner.
constexpr std::string_view kOwnAnswer = "own";
constexpr std::string_view kNotMine = "not-mine";
// In place of a client's request: the URI's owner is to raise its floor, for a write that this
// member has had answered (R7 of docs/ring.md). "GROUP SIGMA BASE", or "GROUP" of a group without
// an order; the group is its place in the configuration.
constexpr std::string_view kFloorField = "prophecy-floor";
// The reason of the answer that it is done.
constexpr std::string_view kFloorRaised = "floor-raised";

struct FloorField {
  std::uint32_t group = 0;
  std::optional<SigmaOrder::Placed> write;
};
[[nodiscard]] std::string to_text(const FloorField& floor);
// Nothing: malformed.
[[nodiscard]] std::optional<FloorField> read_floor(std::string_view text);

// Ranges as members name them. There are as many of them as listeners in the ring; those that are
// parsed stay.
class TrustedPeers {
 public:
  // Null: malformed, or more than there can be.
  [[nodiscard]] const AddressRanges* find(std::string_view text);

 private:
  std::map<std::string, AddressRanges, std::less<>> known_;
};

[[nodiscard]] std::string to_text(const AddressRanges& ranges);
[[nodiscard]] std::string client_field(const ClientInfo& client);

// False: not said, or not understood. `scheme` is the request's.
[[nodiscard]] bool read_client(const http::FieldList& said, std::string_view scheme,
                               TrustedPeers& peers, ClientInfo& client);

}  // namespace prophecy::sketcher
