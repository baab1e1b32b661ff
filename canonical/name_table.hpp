// Maps the lower-case names of header fields to small values: a flat open-addressing table, since
// every field of every message is looked up in it. Built once, then only read (by any thread).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prophecy::sketch {

class NameTable {
 public:
  NameTable();

  // Adds the name, or replaces its value.
  void set(std::string_view name, std::uint8_t value);

  struct Entry {
    std::string name;  // empty: a free slot
    std::uint64_t hash = 0;
    std::uint8_t value = 0;
    std::uint16_t number = 0;  // names are numbered from 0 as they come
  };
  // Null for one that is not there.
  [[nodiscard]] const Entry* find(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return used_; }
  // By name, for whatever must not depend on the table's layout.
  [[nodiscard]] std::vector<Entry> sorted() const;

 private:
  [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint64_t hash) const;
  void grow();

  std::vector<Entry> slots_;  // a power of two of them, at most half of them used
  std::size_t used_ = 0;
};

}  // namespace prophecy::sketch
