// Reads what workers know of requests, while they go on (activity_layout.hpp). Records that are
// being replaced are passed over.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "history_table/history_entry.hpp"
#include "sketcher/core/policy/activity_layout.hpp"
#include "sketcher/core/policy/volatility.hpp"

namespace prophecy::sketcher {

struct RequestActivity {
  Sketch key{};
  std::uint32_t route = 0;
  bool is_head = false;
  std::string url;      // authority and target
  bool is_cut = false;  // the URL is longer
  std::uint64_t hits = 0;
  std::uint64_t group_reads = 0;
  std::uint64_t transitions = 0;
  std::uint32_t first_seconds = 0;
  std::uint32_t last_seconds = 0;
  Volatility volatility;  // as of last_seconds
};

class ActivityView {
 public:
  // Of one worker. Requires ActivityParts::kBytesMin.
  explicit ActivityView(std::span<std::byte> memory) : parts_(memory.data(), memory.size()) {}

  [[nodiscard]] std::optional<RequestActivity> find(const Sketch& key) const;
  void for_each_with_transitions(const std::function<void(RequestActivity)>& visit) const;

  [[nodiscard]] const ActivityHead& head() const { return *parts_.head; }
  [[nodiscard]] std::size_t capacity() const { return parts_.record_count(); }

 private:
  ActivityParts parts_;
};

}  // namespace prophecy::sketcher
