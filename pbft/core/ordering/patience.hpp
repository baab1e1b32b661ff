// The requests that this replica has from their clients and that are not ordered yet: what it
// holds against a primary that does not order them, and hands to the next one.
//
// One for each session, the newest; bounded in bytes, half of them for one client.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"
#include "pbft/core/state/client_table.hpp"
#include "pbft/core/state/settings.hpp"

namespace prophecy::pbft {

class Patience {
 public:
  Patience(const ReplicaSettings& settings, ClientTable& clients)
      : bytes_max_(settings.queue_bytes_max), clients_(clients) {}

  // A request that is authentic and newer than what its session has had ordered. Without room, or
  // when it is known, nothing happens.
  // It waits from `since` on, which may be to come; `ordered` is the last batch before it.
  void note(const RequestMessage& request, ByteView frame, TimePoint since, std::uint64_t ordered);
  // Forgets what has been ordered, or is agreed on and only waits for its execution. Yields since
  // when the oldest of the others has been waiting.
  [[nodiscard]] std::optional<TimePoint> waiting_since();
  // The others, oldest first.
  [[nodiscard]] std::vector<Frame> frames();
  // All begin to wait anew: there is another primary.
  void restart(TimePoint now, std::uint64_t ordered);
  // The primary could order nothing for so long, until now: that is no time of waiting. But it is
  // for those that were passed over, so that a primary that is always busy with some requests does
  // not keep its place while it leaves others out.
  void excuse(Duration length, TimePoint now, std::uint64_t ordered);
  // Of the oldest: many batches have been ordered since it began to wait.
  [[nodiscard]] bool is_passed_over(std::uint64_t ordered) const;

 private:
  struct Entry {
    NodeId client = 0;
    std::uint32_t session = 0;
    std::uint64_t timestamp = 0;
    TimePoint since;
    std::uint64_t ordered = 0;  // the last batch when it began to wait
    Frame frame;
  };
  using Entries = std::list<Entry>;

  void forget(Entries::iterator entry);
  [[nodiscard]] static bool is_passed_over(const Entry& entry, std::uint64_t ordered);
  [[nodiscard]] bool is_ordered(const Entry& entry);

  std::uint64_t bytes_max_;
  ClientTable& clients_;
  Entries entries_;  // by `since`
  std::map<std::pair<NodeId, std::uint32_t>, Entries::iterator> by_session_;
  std::unordered_map<NodeId, std::uint64_t> bytes_of_client_;
  std::uint64_t bytes_ = 0;
};

}  // namespace prophecy::pbft
