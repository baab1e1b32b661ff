#include "sketcher/config/forwarding_settings.hpp"

#include "http/text.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kPseudonymBytesMax = 64;

}  // namespace

PeerSettings read_peer_settings(ConfigSection& section) {
  PeerSettings peers;
  peers.trusted_peers = read_address_ranges(section, "trusted_peers");
  peers.proxy_protocol = section.choice("proxy_protocol", {"off", "required"}, 0) == 1;
  if (peers.proxy_protocol && peers.trusted_peers.empty()) {
    section.mistake("proxy_protocol", "expected trusted_peers beside it: who may send the header");
  }
  return peers;
}

sketch::Forwarding read_forwarding(ConfigSection section) {
  sketch::Forwarding forwarding;
  forwarding.style = static_cast<sketch::ForwardingStyle>(
      section.choice("style", {"x-forwarded", "forwarded"}, 0));
  const std::string pseudonym = section.text("pseudonym", std::string(forwarding.pseudonym()));
  if (!http::is_token(pseudonym) || pseudonym.size() > kPseudonymBytesMax) {
    section.mistake("pseudonym", "expected a token of at most 64 bytes, got \"" + pseudonym + "\"");
  }
  forwarding.via = "1.1 " + pseudonym;
  constexpr const char* kGroupClient = "group_client_address";
  const std::string client = section.text(kGroupClient, forwarding.group_client.to_string());
  if (const auto address = IpAddress::parse(client)) {
    forwarding.group_client = *address;
  } else {
    section.mistake(kGroupClient, "expected an IP address, got \"" + client + "\"");
  }
  return forwarding;
}

}  // namespace prophecy::sketcher
