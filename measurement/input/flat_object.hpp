// `FlatObject` reads one small JSON object, and keeps its texts and scalars by name. Members that
// are objects or arrays are passed over. The last one of several members with one name counts.
//
// No I/O. For one thread at a time; reuses its memory from object to object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measurement/input/json_reader.hpp"

namespace prophecy::measurement {

class FlatObject : private JsonHandler {
 public:
  FlatObject() : reader_(*this) {}
  FlatObject(const FlatObject&) = delete;
  FlatObject& operator=(const FlatObject&) = delete;

  // Empty, or what is wrong with the text. Views of the last object end.
  [[nodiscard]] std::string_view read(std::string_view json);
  // The value of a member that is a text or a scalar; empty if there is none.
  [[nodiscard]] std::string_view text(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }

 private:
  struct Member {
    std::string name;
    std::string value;
  };
  void on_begin(bool object) override;
  void on_end(bool object) override;
  void on_key(std::string_view key) override;
  void on_text(std::string_view piece) override;
  void on_text_end() override;
  void on_scalar(std::string_view text) override;
  [[nodiscard]] const Member* find(std::string_view name) const;

  JsonReader reader_;
  std::vector<Member> members_;  // the first `count_` are of this object
  std::size_t count_ = 0;
  int depth_ = 0;
  bool is_object_ = false;
  bool kept_ = false;  // the value at hand is the last member's
};

}  // namespace prophecy::measurement
