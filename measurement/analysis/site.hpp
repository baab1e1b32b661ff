// Which site a URL belongs to, by its host: the registrable domain of the Public Suffix List, as
// libpsl has it built in.
//
// No I/O. `Parties` may be shared by threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prophecy::measurement {

// The host in a UrlTable's text, METHOD SCHEME://AUTHORITY/...; without a port.
[[nodiscard]] std::string_view host_of(std::string_view url);
// The host that an operator names, alone or in a URL; nothing if the text has none.
[[nodiscard]] std::optional<std::string> named_host(std::string_view text);
// The host itself if it is an address, a public suffix or a single label.
[[nodiscard]] std::string site_of(std::string_view host);

enum class PartyMode : std::uint8_t {
  list,       // first party: a listed name, or below one; as in the paper, whose list is Alexa's
  same_site,  // first party: of the same site as a listed name
};

// Divides URLs into first and third party.
class Parties {
 public:
  Parties(PartyMode mode, const std::vector<std::string>& names);
  [[nodiscard]] bool is_first(std::string_view host) const;

 private:
  PartyMode mode_;
  std::vector<std::string> names_;  // sites, if they are compared
};

}  // namespace prophecy::measurement
