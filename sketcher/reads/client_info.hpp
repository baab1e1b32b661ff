// What is known of a client before its first request: where it is, and how it has come.
#pragma once

#include <string>
#include <string_view>

#include "base/address_range.hpp"

namespace prophecy::sketcher {

struct ClientInfo {
  std::string address;  // numeric, without the port; empty: not known yet
  // The ranges that hold the address, when it may say for whom it speaks; else null.
  const AddressRanges* trusted_peers = nullptr;
  bool secure = false;                       // through TLS
  bool client_certificate_verified = false;  // it has shown one of an authority that we trust
  // Not empty: no client's request; another member asks for this (kFloorField, member_fields.hpp).
  std::string floor = {};

  [[nodiscard]] std::string_view scheme() const { return secure ? "https" : "http"; }
};

}  // namespace prophecy::sketcher
