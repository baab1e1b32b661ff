// Counts by reason, where a reason is one of the static texts that our own refusals give. A text
// has a slot from its first use on; what would be one too many is counted as "other". So the counts
// are complete without a list of all reasons, and there is a bound for what they take.
//
// Lies in memory that processes share. One writer; any process may read at any time. A slot without
// a size is free, whatever a writer that was killed may have left in its text.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace prophecy::sketcher {

class ReasonCounters {
 public:
  static constexpr std::size_t kReasonsMax = 96;
  static constexpr std::size_t kReasonBytesMax = 63;  // what is longer is cut

  void add(std::string_view reason);
  // Adds what is counted here to `totals`.
  void add_to(std::map<std::string, std::uint64_t>& totals) const;

 private:
  struct Slot {
    std::atomic<std::uint8_t> size{0};  // of the text; 0: free
    std::array<char, kReasonBytesMax> text{};
    std::atomic<std::uint64_t> count{0};
  };

  std::array<Slot, kReasonsMax> slots_;  // used from the front
  std::atomic<std::uint64_t> other_{0};
};

}  // namespace prophecy::sketcher
