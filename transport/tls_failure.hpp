// Why a client's handshake has failed, as one of few static texts, for counters.
#pragma once

#include <string_view>

namespace prophecy::transport {

// By what OpenSSL has said last in this thread: to be asked right after the failure.
[[nodiscard]] std::string_view reason_of_failed_handshake();

}  // namespace prophecy::transport
