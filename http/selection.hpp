// What a client makes its read depend on, and how much of the representation it wants: the
// preconditions and the range of RFC 9110 (13 and 14), evaluated in the order of its
// section 13.2.2. It is for whoever holds the representation to do so; for the sketcher that is
// itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/byte_range.hpp"
#include "http/message.hpp"

namespace prophecy::http {

// Of a 200.
struct Representation {
  std::string_view etag;           // strong, with its quotes; empty: it has none
  std::string_view last_modified;  // empty: not known
  std::uint64_t length = 0;        // of the body
};

struct Selection {
  enum class Kind : std::uint8_t {
    whole,
    part,           // 206: the `size` bytes from `first` on
    not_modified,   // 304
    failed,         // 412
    unsatisfiable,  // 416
  };
  Kind kind = Kind::whole;
  std::uint64_t first = 0;
  std::uint64_t size = 0;
};

// False for most requests: they select the whole.
[[nodiscard]] bool is_conditional(const FieldList& request);

// Of a request that is a GET or a HEAD. Only a GET has a range. For a HEAD no tag is known, without
// the body: what it says of one holds, and If-None-Match matches by "*" alone.
[[nodiscard]] Selection select(const FieldList& request, bool is_head,
                               const Representation& representation);

// Whether a field's list of entity tags names `tag`, or is "*" (RFC 9110, 13.1). A weak tag equals
// the strong one where weak comparison is asked for, and nothing otherwise.
enum class TagComparison : std::uint8_t { weak, strong };
[[nodiscard]] bool names_tag(std::string_view list, std::string_view tag, TagComparison comparison);

}  // namespace prophecy::http
