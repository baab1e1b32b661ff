#include "canonical/forwarding.hpp"

#include "canonical/forwarded_hops.hpp"
#include "http/text.hpp"
#include "http/writer.hpp"

namespace prophecy::sketch {
namespace {

constexpr std::string_view kXForwardedFor = "x-forwarded-for";
constexpr std::string_view kForwarded = "forwarded";

// The rightmost hop that is not trusted; where there is none, or where something else than an
// address comes before it, the last one that was reported by a trusted hop.
std::optional<IpAddress> client_of(const LastHops& hops, const AddressRanges& trusted) {
  std::optional<IpAddress> client;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const auto hop = address_of_hop(hops.from_right(i));
    if (!hop) break;
    client = hop;
    if (!contains(trusted, *hop)) break;
  }
  return client;
}

// The port that a client connects to for an authority in its one form.
std::string_view port_of(std::string_view authority, std::string_view scheme) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) return authority.substr(colon + 1);
  return scheme == "https" ? "443" : "80";
}

// Colons and brackets are no part of a token.
void append_value(std::string& out, std::string_view value) {
  const bool quoted = value.find_first_of(":[") != std::string_view::npos;
  if (quoted) out += '"';
  out += value;
  if (quoted) out += '"';
}

void append_node(std::string& out, std::string_view address) {
  const bool v6 = address.find(':') != std::string_view::npos;
  out.append(v6 ? "\"[" : "").append(address).append(v6 ? "]\"" : "");
}

// All that is said of the client, by the chain in front and the peer at its end.
void append_client_part(std::string& out, ForwardingStyle style, const ForwardedChain* chain,
                        std::string_view address) {
  if (style == ForwardingStyle::x_forwarded) {
    out.append(kXForwardedFor).append(": ");
    if (chain != nullptr) chain->append_to(out);
    out.append(address).append("\r\n");
  } else {
    if (chain != nullptr) chain->append_to(out);
    out += "for=";
    append_node(out, address);
    out += ';';
  }
}

}  // namespace

ForwardedChain::ForwardedChain(const http::FieldList& fields, ForwardingStyle style,
                               const AddressRanges* trusted)
    : fields_(fields), name_(style == ForwardingStyle::forwarded ? kForwarded : kXForwardedFor) {
  if (trusted == nullptr) return;
  LastHops hops;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields.name(i) != name_) continue;
    if (style == ForwardingStyle::x_forwarded) {
      add_x_forwarded_hops(fields.value(i), hops);
    } else if (!add_forwarded_hops(fields.value(i), hops)) {
      return;
    }
  }
  kept_ = true;
  client_ = client_of(hops, *trusted);
}

void ForwardedChain::append_to(std::string& out) const {
  if (!kept_) return;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_.name(i) == name_ && !fields_.value(i).empty()) {
      out.append(fields_.value(i)).append(", ");
    }
  }
}

TextRange append_forwarding(std::string& out, const ForwardedChain& chain,
                            const Forwarding& forwarding, std::string_view peer_address,
                            std::string_view scheme, std::string_view authority) {
  const bool is_one_field = forwarding.style == ForwardingStyle::forwarded;
  if (is_one_field) out.append(kForwarded).append(": ");
  TextRange client{out.size(), out.size()};
  if (!peer_address.empty()) {
    append_client_part(out, forwarding.style, &chain, peer_address);
  } else if (is_one_field) {
    chain.append_to(out);
  }
  client.end = out.size();
  if (is_one_field) {
    out += "host=";
    append_value(out, authority);
    out.append(";proto=").append(scheme).append("\r\n");
  } else {
    http::append_field(out, "x-forwarded-host", authority);
    http::append_field(out, "x-forwarded-port", port_of(authority, scheme));
    http::append_field(out, "x-forwarded-proto", scheme);
  }
  return client;
}

void append_client(std::string& out, ForwardingStyle style, std::string_view address) {
  append_client_part(out, style, nullptr, address);
}

bool names_in_via(std::string_view value, std::string_view pseudonym) {
  std::string_view element;
  while (http::next_list_element(value, element)) {
    // received-protocol, blanks, received-by, and perhaps a comment (RFC 9110, 7.6.3).
    const std::size_t protocol_end = element.find_first_of(" \t");
    if (protocol_end == std::string_view::npos) continue;
    const std::string_view rest = http::trim(element.substr(protocol_end));
    if (http::equal_ignoring_case(rest.substr(0, rest.find_first_of(" \t(")), pseudonym)) {
      return true;
    }
  }
  return false;
}

}  // namespace prophecy::sketch
