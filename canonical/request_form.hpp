// The canonical form of a request: what s(q) covers, and what an origin gets to see. On a read
// the two are the same but for the visible exceptions (RequestRule::forwarded).
//
// The wire text is a request that http::RequestParser accepts; it goes to an origin on a fast read
// and is the operation that a replicated write orders. The order of its fields is fixed: host,
// keyed fields by name, other fields by name, the sketcher's own. A read that the group answers for
// the history has a text without the visible exceptions: append_group_wire().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "canonical/dropped_fields.hpp"
#include "canonical/field_counters.hpp"
#include "canonical/forwarding.hpp"
#include "canonical/nominated.hpp"
#include "canonical/profile.hpp"
#include "canonical/set_fields.hpp"
#include "canonical/visible_exceptions.hpp"
#include "http/message.hpp"

namespace prophecy::sketch {

// What the sketcher knows of a request beyond its bytes.
struct RequestContext {
  std::string_view scheme = "http";  // "http" or "https"
  std::string_view client_address;   // the peer's, numeric; empty: none is written
  // The ranges that hold the peer, when its word about others is taken; null: it is not.
  const AddressRanges* trusted_peers = nullptr;
  // The protocol that the request asks to change to, where that is let through; empty: none is.
  // Nobody verifies the answer, so all end-to-end fields are forwarded, as on a write, and the
  // request to change to this protocol as well.
  std::string_view upgrade{};
  // The fields that its route takes out of it; null: none.
  const DroppedFields* dropped = nullptr;
  // The fields that its route sets in it, each of which the profile keys; null: none.
  const SetFields* set = nullptr;
};

struct RequestForm {
  bool is_read = false;
  bool is_head = false;
  Bytes key;              // typed and length-prefixed: method, scheme, authority, target, keyed
                          // fields; empty for a write
  std::string authority;  // in its one form
  std::string target;     // in origin form, or "*"
  std::string client;  // the client's address, which differs from the peer's behind a trusted one
  std::string wire;    // the request for the origin: an HTTP/1.1 head framed by us, and the body
  ByteSourcePtr large_body;      // behind the wire, in place of a body in it
  VisibleExceptions exceptions;  // in the wire, of a read that is verified

  // Appends the read as its group gets it: with constants in place of the visible exceptions, so
  // that it is a function of the key and of the configuration. Of all else it is the wire.
  void append_group_wire(std::string& out) const { exceptions.append_group_wire(wire, out); }
  // Whether that text is another one than the wire.
  [[nodiscard]] bool has_exceptions() const { return exceptions.any_in(wire); }

  void clear();  // keeps the storage
  // Nobody looks at it any more: gives back what is beyond so much for each of its texts.
  void shrink(std::size_t bytes_max);
  // What it takes in memory, be it used or not.
  [[nodiscard]] std::size_t held_bytes() const {
    return key.capacity() + authority.capacity() + target.capacity() + client.capacity() +
           wire.capacity();
  }
};

// Why a request is refused, and with which status (400, 421, 501, 508).
struct Refusal {
  std::uint16_t status;
  std::string_view reason;  // static text
};
constexpr Refusal kReadWithBody{400, "a read with a body"};

// Fills `form` from a parsed request, in steps: locate(), since where it goes decides by which
// profile it is read; take_head(); complete(), once its body is there. One object a worker, for its
// scratch space; not thread-safe.
class RequestCanonicalizer {
 public:
  explicit RequestCanonicalizer(Forwarding forwarding = {});
  // Method, authority and target. Requires a whole request of RequestParser's. After a refusal,
  // here and below, the rest of `form` is not to be used.
  [[nodiscard]] std::optional<Refusal> locate(const http::Request& request,
                                              const RequestContext& context, RequestForm& form);
  // All but the body. Requires that the same request was located. `counters` are of the profile.
  [[nodiscard]] std::optional<Refusal> take_head(const http::Request& request,
                                                 const RequestContext& context,
                                                 const Profile& profile, RequestForm& form,
                                                 const FieldCounters& counters = {});
  // The body and its length. Requires that the head of the same request was taken.
  static void complete(const http::Request& request, RequestForm& form);
  // take_head() and complete().
  [[nodiscard]] std::optional<Refusal> canonicalize(const http::Request& request,
                                                    const RequestContext& context,
                                                    const Profile& profile, RequestForm& form,
                                                    const FieldCounters& counters = {});

 private:
  [[nodiscard]] std::optional<Refusal> take_target(const http::Request& request,
                                                   const RequestContext& context,
                                                   RequestForm& form);
  // Sets host_; false: it is not an authority.
  [[nodiscard]] bool take_host(std::string_view host, std::string_view scheme);
  [[nodiscard]] std::optional<Refusal> take_fields(const http::FieldList& fields,
                                                   const RequestContext& context,
                                                   const Profile& profile, bool is_read,
                                                   const FieldCounters& counters);
  // Joins the values from `position` in keyed_ on that have one name; moves behind them.
  [[nodiscard]] std::string_view join_keyed(const http::FieldList& fields, std::size_t& position);
  // Yields what the wire tells of where the request comes from.
  [[nodiscard]] std::string_view write_generated(const http::Request& request,
                                                 const RequestContext& context, RequestForm& form,
                                                 bool client_is_exception);

  Forwarding forwarding_;
  NominatedNames nominated_;
  http::FieldList set_;  // the request's fields, with those that its route sets
  // The Host field in its one form, and what it was made of; of nothing where there is no scheme.
  std::string host_;
  std::string host_field_;
  std::string host_scheme_;
  std::string joined_;
  std::vector<std::size_t> keyed_;      // positions in these fields, sorted by name
  std::vector<std::size_t> forwarded_;  // the same
};

}  // namespace prophecy::sketch
