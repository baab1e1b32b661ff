// View-change messages are bounded by the group's own window: the new-view message holds those of
// all replicas, and has to fit into a frame.
#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/views/view_frames.hpp"

namespace prophecy::pbft::test {
namespace {

ReplicaSettings small_window() {
  ReplicaSettings settings;
  settings.window = 2 * settings.checkpoint_interval;
  return settings;
}

// Pre-prepared batches at the numbers of the window, as evenly as they go.
std::vector<BatchRecord> pre_prepared(std::size_t count) {
  const std::uint64_t window = small_window().window;
  std::vector<BatchRecord> records;
  for (std::uint64_t sequence = 1; sequence <= window; ++sequence) {
    const std::uint64_t here = count / window + (sequence <= count % window ? 1 : 0);
    for (std::uint64_t i = 0; i < here; ++i) {
      Digest batch{};
      batch[0] = static_cast<std::uint8_t>(i + 1);
      records.push_back({sequence, 0, batch});
    }
  }
  return records;
}

}  // namespace

TEST_CASE("A view-change message with more batches than fit for each replica is rejected") {
  const std::size_t most = kProposalsPerNumber * small_window().window;
  const std::size_t beyond = GENERATE(0U, 1U);
  Subject backup(3, small_window());
  for (const NodeId peer : {1U, 2U})
    backup.feed(view_change(peer, 1, {}, pre_prepared(most + beyond)));
  // f+1 that ask for a view take this replica along.
  CHECK(backup.replica.status().view == (beyond == 0 ? 1 : 0));
}

TEST_CASE("A new view with such a message is rejected as well") {
  const std::size_t most = kProposalsPerNumber * small_window().window;
  const std::size_t beyond = GENERATE(0U, 1U);
  Subject backup(3, small_window());
  backup.feed(new_view(
      1, 1,
      {view_change(0, 1), view_change(1, 1), view_change(2, 1, {}, pre_prepared(most + beyond))}));
  CHECK(backup.replica.status().view == (beyond == 0 ? 1 : 0));
}

}  // namespace prophecy::pbft::test
