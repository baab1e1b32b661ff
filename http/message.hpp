// HTTP/1.x messages as values. Storage is kept between messages: clear() empties without freeing
// (but for a large body), so a connection that is in use allocates only while its messages grow.
//
// Not thread-safe. Views handed out stay valid until the next change of the object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.hpp"
#include "base/byte_source.hpp"

namespace prophecy::http {

// The header fields of one message in the order of arrival. Names are kept in lower case, values
// without surrounding white space. Everything lies in one string.
class FieldList {
 public:
  void clear();
  // Drops the storage as well, when it has grown beyond `bytes_max`.
  void clear_and_shrink(std::size_t bytes_max);

  void add(std::string_view name, std::string_view value);
  // The same in the pieces that a parser meets: those of the name, those of the value, and its end.
  // Before its end, a field is seen as the open one alone.
  void extend_name(std::string_view piece);
  void extend_value(std::string_view piece);
  void end_field();
  [[nodiscard]] std::string_view open_name() const {
    return {text_.data() + open_.name_begin, open_.value_begin - open_.name_begin};
  }
  [[nodiscard]] std::string_view open_value() const {
    return std::string_view(text_).substr(open_.value_begin);
  }

  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  [[nodiscard]] std::string_view name(std::size_t index) const {
    const Field& field = at(index);
    return {text_.data() + field.name_begin, field.value_begin - field.name_begin};
  }
  [[nodiscard]] std::string_view value(std::size_t index) const {
    const Field& field = at(index);
    return {text_.data() + field.value_begin, field.value_end - field.value_begin};
  }

  // The value of the first field of that (lower-case) name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
  // What the storage takes, be it used or not.
  [[nodiscard]] std::size_t held_bytes() const {
    return text_.capacity() + fields_.capacity() * sizeof(Field);
  }

 private:
  struct Field {
    std::uint32_t name_begin = 0;
    std::uint32_t value_begin = 0;
    std::uint32_t value_end = 0;  // not set while it is open
  };
  [[nodiscard]] const Field& at(std::size_t index) const {
    ASSERT(index < fields_.size());
    return fields_[index];
  }
  [[nodiscard]] std::uint32_t offset() const;  // of what comes next

  std::string text_;
  std::vector<Field> fields_;
  Field open_;
};

struct Request {
  std::string method;
  std::string target;              // as it stood on the wire
  std::uint8_t version_minor = 1;  // HTTP/1.x
  bool keep_alive = true;          // what version and Connection ask for
  FieldList fields;
  std::string body;  // after transfer decoding
  // In place of a body that is too large for memory; whoever reads the request's bytes puts it
  // here.
  ByteSourcePtr large_body;

  [[nodiscard]] std::uint64_t body_size() const {
    return large_body ? large_body->size() : body.size();
  }
  void clear();
  // What it takes in memory, be it used or not.
  [[nodiscard]] std::size_t held_bytes() const {
    return target.capacity() + fields.held_bytes() + body.capacity();
  }
};

struct Response {
  std::uint16_t status = 0;
  std::uint8_t version_minor = 1;
  bool keep_alive = true;
  FieldList fields;
  std::string body;  // after transfer decoding

  void clear();
};

// What an emptied body keeps of its storage. More is given back, or a connection that once carried
// a large body would hold that much memory for as long as it stays open.
constexpr std::size_t kKeptBodyBytesMax = 256 << 10;

// Whether the message's Connection fields name this one, in lower case, as of this connection only.
[[nodiscard]] bool nominates(const FieldList& fields, std::string_view name);

// Safe methods (RFC 9110, 9.2.1): GET, HEAD, OPTIONS and TRACE. They ask for no change.
[[nodiscard]] bool is_safe_method(std::string_view method);
// Safe methods that the history serves: GET and HEAD.
[[nodiscard]] bool is_read_method(std::string_view method);
// Methods that may be repeated without changing the result (RFC 9110, 9.2.2; RFC 4918).
[[nodiscard]] bool is_idempotent_method(std::string_view method);

}  // namespace prophecy::http
