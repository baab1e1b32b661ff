// VisibleExceptions makes the text of a read that its group is sent, out of the text for a fast
// read.
//
// A fast read carries fields that s(q) does not cover: User-Agent, Referer, the client's address
// and the like, for the origins' logs. They are the visible exceptions (docs/canonical-form.md).
// What a group agrees on is remembered for every client with an equal key, so the text for the
// group is a function of the key and of the configuration alone. It carries a constant address and
// a constant User-Agent. An address is never left out: applications and access rules take a request
// without one for a local one. The other exceptions are left out.
//
// The exceptions stand in two places of the text, since RequestCanonicalizer fixes the order of its
// fields. Each place is remembered while the text is written, and nothing is written twice.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip_address.hpp"
#include "canonical/forwarding.hpp"

namespace prophecy::sketch {

constexpr std::string_view kGroupUserAgent = "Prophecy";

// A value. By default there are no exceptions: the group is sent the same text.
class VisibleExceptions {
 public:
  // `fields` hold the fields that are forwarded and not keyed. With `has_agent`, User-Agent is one.
  void set_fields(TextRange fields, bool has_agent) {
    fields_ = fields;
    client_ = {fields.end, fields.end};
    has_agent_ = has_agent;
  }
  // `client` is the range that append_forwarding() has yielded; set_fields() has been called.
  void set_client(TextRange client, const Forwarding& forwarding) {
    client_ = client;
    style_ = forwarding.style;
    group_client_ = forwarding.group_client;
  }

  // Both require `wire` to be the text that the ranges belong to.
  void append_group_wire(std::string_view wire, std::string& out) const;
  // Whether the two texts differ.
  [[nodiscard]] bool any_in(std::string_view wire) const;

 private:
  void append_group_fields(std::string& out) const;
  void append_group_client(std::string& out) const;

  TextRange fields_;
  TextRange client_;  // behind fields_
  bool has_agent_ = false;
  ForwardingStyle style_ = ForwardingStyle::x_forwarded;
  std::optional<IpAddress> group_client_;  // nothing: the client's address is no exception
};

}  // namespace prophecy::sketch
