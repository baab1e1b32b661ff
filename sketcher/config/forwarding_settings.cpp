#include "sketcher/config/forwarding_settings.hpp"

#include "base/config/shared_settings.hpp"
#include "http/text.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kPseudonymBytesMax = 64;

}  // namespace

PeerSettings read_peer_settings(ConfigSection& section) {
  PeerSettings peers;
  peers.trusted_peers = read_address_ranges(
      section, {"trusted_peers",
                "Ranges of addresses, such as `\"10.0.0.0/8\"` or `\"2001:db8::1\"`, of the "
                "proxies in front; they must not contain addresses of the proxies' clients. "
                "Forwarded addresses from these proxies are kept and passed on, and the rightmost "
                "address outside these ranges is the client's. Forwarded addresses of all other "
                "peers are replaced. A range of IPv6 contains no IPv4 address."});
  peers.proxy_protocol =
      section.choice(
          {"proxy_protocol",
           "`\"required\"`: every connection begins with a PROXY header, version 1 or 2, and comes "
           "from one of `trusted_peers`; any other is closed. The address in the header is the "
           "client's, also for `connections_per_address_max`. With LOCAL, UNKNOWN, a Unix socket's "
           "or an unspecified family it is the peer's own. An announced address that is among "
           "`trusted_peers` itself counts as a further proxy: the forwarded addresses in its "
           "requests are kept. The forwarded addresses of any other are replaced. Extensions are "
           "skipped; the whole header has at most 4096 bytes, and `header` in `[timeouts]` to "
           "arrive."},
          {"off", "required"}, 0) == 1;
  if (peers.proxy_protocol && peers.trusted_peers.empty()) {
    section.mistake("proxy_protocol", "expected trusted_peers beside it: who may send the header");
  }
  return peers;
}

sketch::Forwarding read_forwarding(ConfigSection section) {
  sketch::Forwarding forwarding;
  forwarding.style = static_cast<sketch::ForwardingStyle>(section.choice(
      {"style",
       "Fields that carry a request's source to origins, and that trusted peers may send: "
       "`\"x-forwarded\"`, the fields X-Forwarded-For, -Host, -Port and -Proto; or "
       "`\"forwarded\"`, the field Forwarded of RFC 7239. All but the chain of addresses repeats "
       "the request's authority and the listener's scheme."},
      {"x-forwarded", "forwarded"}, 0));
  const std::string pseudonym =
      section.text({"pseudonym",
                    "This sketcher's name in Via, towards origins and clients: a token of at most "
                    "64 bytes. A request whose Via names it has been here before, and is rejected. "
                    "So sketchers in a chain need different names."},
                   std::string(forwarding.pseudonym()));
  if (!http::is_token(pseudonym) || pseudonym.size() > kPseudonymBytesMax) {
    section.mistake("pseudonym", "expected a token of at most 64 bytes");
  }
  forwarding.via = "1.1 " + pseudonym;
  constexpr const char* kGroupClient = "group_client_address";
  const std::string client = section.text(
      {"group_client_address",
       "The client's address, in X-Forwarded-For or Forwarded, of a read that a group answers for "
       "the history: an IP address that no rule at the origins trusts. The answer is remembered "
       "for all clients, so the group gets the address of none of them. Such a read has `Prophecy` "
       "as its User-Agent, and no Referer, trace or request id, nor any other field that is "
       "forwarded without being keyed. An origin whose answers depend on one of these needs "
       "`key_client_address` or `keyed_headers` (see the group file); otherwise every client gets "
       "the answer to these constants. Fast reads, writes, and reads of routes with `reads` of "
       "`\"replicated\"` or `\"read-only\"` carry each client's own. A change of this address "
       "empties a kept table."},
      forwarding.group_client.to_string());
  if (const auto address = IpAddress::parse(client)) {
    forwarding.group_client = *address;
  } else {
    section.mistake(kGroupClient, "expected an IP address");
  }
  return forwarding;
}

}  // namespace prophecy::sketcher
