// Where an origin listens, and how it is spoken to, as the configuration says it.
#pragma once

#include <optional>

#include "base/endpoint.hpp"
#include "base/ids.hpp"
#include "transport/tls_settings.hpp"

namespace prophecy::sketcher {

struct OriginAddress {
  NodeId replica = 0;  // of a shadow: its number among the group's
  Endpoint address;
  std::optional<transport::TlsClientSettings> tls;
  std::uint32_t weight = 1;  // for fast reads
  std::size_t place = 0;     // among those of its group in the configuration
};

}  // namespace prophecy::sketcher
