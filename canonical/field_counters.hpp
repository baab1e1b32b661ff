// Counts of the fields that canonicalisation took out of requests and answers, by name, so that an
// operator sees what was dropped. A field that the profile names is counted by the number of its
// rule: one addition. Any other name is a client's or an origin's choice: a bounded number of them
// are counted by name, the rest as "other".
//
// Lie in memory that processes share; one writer, and any process may read at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/counter.hpp"
#include "canonical/profile.hpp"

namespace prophecy::sketch {

// Without rules of their own. A slot without a size is free, whatever a writer that was killed may
// have left in its name.
class UnknownFieldCounters {
 public:
  static constexpr std::size_t kNamesMax = 128;
  static constexpr std::size_t kNameBytesMax = 47;

  // A name is a token in lower case, as parsers let it through.
  void add(std::string_view name);
  void for_each(const std::function<void(std::string_view name, std::uint64_t count)>& take) const;
  // Too many, or too long.
  [[nodiscard]] std::uint64_t others() const { return others_.get(); }

 private:
  static constexpr std::size_t kProbesMax = 8;

  struct Slot {
    std::atomic<std::uint8_t> size{0};
    std::array<char, kNameBytesMax> name{};
    Counter count;
  };

  std::array<Slot, kNamesMax> slots_;
  Counter others_;
};

// Of both kinds of messages.
struct UnknownFields {
  UnknownFieldCounters requests;
  UnknownFieldCounters answers;
};

// A view. Without counters nothing is counted.
struct FieldCounters {
  std::span<Counter> known;  // by the number of the profile's rule
  UnknownFields* unknown = nullptr;

  void on_request_field(std::uint16_t number, std::string_view name) const {
    if (number < known.size()) {
      known[number].add();
    } else if (unknown != nullptr) {
      unknown->requests.add(name);
    }
  }
  void on_answer_field(std::uint16_t number, std::string_view name) const {
    if (number < known.size()) {
      known[number].add();
    } else if (unknown != nullptr) {
      unknown->answers.add(name);
    }
  }
};

}  // namespace prophecy::sketch
