// What concurrent clients saw of one key: which operations there were, when each was invoked and
// when it was answered, by one monotonic clock. docs/consistency.md defines what is asked of it.
//
// As text, a line an operation, in any order; fields are separated by blanks, times are whole
// nanoseconds, "-" stands for an answer that never came, "#" begins a comment:
//
//   initial KEY VALUE
//   write   KEY VALUE    INVOKED ANSWERED|-
//   publish KEY VALUE    INVOKED ANSWERED|- [ACCEPTABLE]
//   read    KEY VALUE|?  INVOKED ANSWERED|- [ACCEPTABLE]
//   audit   KEY VALUE    INVOKED ANSWERED
//
// Each key has one line `initial`. A publish is a write that, once it was answered, reads are not
// older than. A write whose fate its client does not know (an error, a broken
// connection) was never answered. A read that failed has the value "?": what it returned is not
// known, but it may have made others see what it saw. Who knows when the sketcher accepted a read's
// answer, or a publish, says since when it may have been: otherwise since it was invoked. An audit
// is a read that is linearizable. Values are words; one key is never written the same value twice.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace prophecy::consistency {

using Instant = std::int64_t;  // ns
constexpr Instant kNever = std::numeric_limits<Instant>::max();

// A value of one key, as the number of its name. 0 is what the key had at first.
using Value = std::uint32_t;
constexpr Value kInitial = 0;

enum class Kind : std::uint8_t { write, publish, read, audit };

[[nodiscard]] constexpr bool is_write(Kind kind) {
  return kind == Kind::write || kind == Kind::publish;
}

struct Operation {
  Kind kind = Kind::read;
  std::optional<Value> value;  // none: a read that failed
  Instant invoked = 0;
  Instant answered = kNever;
  Instant acceptable = 0;  // of a read or a publish: it was accepted then, or later
};

// X precedes Y: its answer was received before Y was sent (paper, section 4.1).
[[nodiscard]] inline bool precedes(const Operation& x, const Operation& y) {
  return x.answered < y.invoked;
}

class History {
 public:
  explicit History(std::string_view initial = "initial");

  std::vector<Operation> operations;

  // The number of a name, which is added where it is new.
  [[nodiscard]] Value number_of(std::string_view name);
  // What an operation was, for people.
  [[nodiscard]] std::string describe(const Operation& operation) const;

  [[nodiscard]] const std::string& name_of(Value value) const { return names_[value]; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, Value, std::less<>> numbers_;
};

using Histories = std::map<std::string, History>;  // by key

// An error names the line.
[[nodiscard]] Result<Histories> parse_histories(std::string_view text);
[[nodiscard]] std::string to_text(const Histories& histories);

}  // namespace prophecy::consistency
