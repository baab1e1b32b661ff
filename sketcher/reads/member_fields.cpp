#include "sketcher/reads/member_fields.hpp"

#include <algorithm>
#include <array>

#include "base/ip_address.hpp"
#include "http/text.hpp"
#include "sketcher/config/group_settings.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kPeersMax = 256;
constexpr std::size_t kPeersBytesMax = 16 << 10;
constexpr std::string_view kVerified = ";verified";

}  // namespace

const AddressRanges* TrustedPeers::find(std::string_view text) {
  if (const auto found = known_.find(text); found != known_.end()) return &found->second;
  if (known_.size() >= kPeersMax || text.size() > kPeersBytesMax) return nullptr;
  AddressRanges ranges;
  std::string_view rest = text;
  std::string_view element;
  while (http::next_list_element(rest, element)) {
    const auto range = AddressRange::parse(element);
    if (!range) return nullptr;
    ranges.push_back(*range);
  }
  return &known_.emplace(text, std::move(ranges)).first->second;
}

std::string to_text(const AddressRanges& ranges) {
  std::string text;
  for (const AddressRange& range : ranges) {
    if (!text.empty()) text += ", ";
    range.append_to(text);
  }
  return text;
}

std::string to_text(const FloorField& floor) {
  std::string text = std::to_string(floor.group);
  if (floor.write)
    text += ' ' + std::to_string(floor.write->sigma) + ' ' + std::to_string(floor.write->base);
  return text;
}

std::optional<FloorField> read_floor(std::string_view text) {
  std::array<std::uint64_t, 3> numbers{};
  std::size_t count = 0;
  for (bool is_last = false; !is_last;) {
    if (count == numbers.size()) return std::nullopt;
    const std::size_t end = std::min(text.find(' '), text.size());
    if (!http::parse_decimal(text.substr(0, end), numbers[count++])) return std::nullopt;
    is_last = end == text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if ((count != 1 && count != 3) || numbers[0] >= kGroupsMax || numbers[1] > kSigmaMax ||
      numbers[2] > kSigmaMax) {
    return std::nullopt;
  }
  FloorField floor{.group = static_cast<std::uint32_t>(numbers[0]), .write = {}};
  if (count == 3) floor.write = SigmaOrder::Placed{.sigma = numbers[1], .base = numbers[2]};
  return floor;
}

std::string client_field(const ClientInfo& client) {
  std::string text = client.address;
  if (client.client_certificate_verified) text += kVerified;
  return text;
}

bool read_client(const http::FieldList& said, std::string_view scheme, TrustedPeers& peers,
                 ClientInfo& client) {
  const auto text = said.find(kClientField);
  if (!text) return false;
  std::string_view address = *text;
  client.client_certificate_verified = address.ends_with(kVerified);
  if (client.client_certificate_verified) address.remove_suffix(kVerified.size());
  if (!IpAddress::parse(address)) return false;
  client.address.assign(address);
  client.secure = scheme == "https";
  client.floor.assign(said.find(kFloorField).value_or(std::string_view()));
  client.trusted_peers = nullptr;
  if (const auto ranges = said.find(kPeersField)) {
    client.trusted_peers = peers.find(*ranges);
    return client.trusted_peers != nullptr;
  }
  return true;
}

}  // namespace prophecy::sketcher
