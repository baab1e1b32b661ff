// The table `tls` of an origin's configuration, the same in every program.
#pragma once

#include "base/config/config.hpp"
#include "transport/tls_settings.hpp"

namespace prophecy::transport {

[[nodiscard]] TlsClientSettings read_tls_client(ConfigSection section);

}  // namespace prophecy::transport
