// Which settings of replicas and clients can work.
#include "pbft/core/state/settings.hpp"

#include <vector>

#include <catch2/catch.hpp>

namespace prophecy::pbft::test {
namespace {

// One that is good at this value, and bad at the next.
template <typename Settings>
struct Bound {
  const char* name;
  void (*good)(Settings&);
  void (*bad)(Settings&);
};

template <typename Settings>
void check_bounds(const std::vector<Bound<Settings>>& bounds) {
  for (const auto& bound : bounds) {
    CAPTURE(bound.name);
    Settings good;
    bound.good(good);
    CHECK(check(good).has_value());
    Settings bad;
    bound.bad(bad);
    CHECK_FALSE(check(bad).has_value());
  }
}

using Of = ReplicaSettings;
using OfClient = ClientSettings;

}  // namespace

TEST_CASE("Settings that cannot work are refused") {
  CHECK(check(ReplicaSettings{}).has_value());
  CHECK(check(ClientSettings{}).has_value());
  const auto refused = [](auto change) {
    ReplicaSettings settings;
    change(settings);
    return !check(settings).has_value();
  };
  CHECK(refused([](auto& s) { s.faults = 0; }));
  CHECK(refused([](auto& s) { s.faults = 22; }));
  CHECK(refused([](auto& s) { s.window = s.checkpoint_interval; }));
  CHECK(refused([](auto& s) { s.log_bytes_max = s.checkpoint_bytes; }));
  // Every group size has a window; the largest groups not the largest one.
  for (std::uint32_t faults = 1; faults <= 21; ++faults)
    CHECK_FALSE(refused([&](auto& s) { s.faults = faults; }));
  CHECK_FALSE(refused([](auto& s) { s.window = 8192; }));
  CHECK(refused([](auto& s) {
    s.window = 8192;
    s.faults = 21;
  }));
  for (std::uint32_t faults = 1; faults <= 21; ++faults) {
    const auto with_window = [&](std::uint64_t window) {
      return refused([&](auto& s) {
        s.faults = faults;
        s.window = window;
      });
    };
    CHECK_FALSE(with_window(std::min(window_max(faults), kWindowMax)));
    CHECK(with_window(window_max(faults) + 1));
  }
  CHECK(refused([](auto& s) { s.heartbeat_interval = milliseconds(1); }));
  ClientSettings sessions;
  sessions.first_session = 4090;
  CHECK_FALSE(check(sessions).has_value());
}

TEST_CASE("A replica's settings are good up to each bound, and bad beyond it") {
  check_bounds<Of>({
      {"batches in flight", [](Of& s) { s.batches_in_flight_max = 2; },
       [](Of& s) { s.batches_in_flight_max = 1; }},
      {"partial batches in flight", [](Of& s) { s.partial_batches_in_flight_max = 1; },
       [](Of& s) { s.partial_batches_in_flight_max = 0; }},
      {"fewest requests in a batch", [](Of& s) { s.batch_requests_max = 1; },
       [](Of& s) { s.batch_requests_max = 0; }},
      {"most requests in a batch", [](Of& s) { s.batch_requests_max = kBatchRequestsMax; },
       [](Of& s) { s.batch_requests_max = kBatchRequestsMax + 1; }},
      {"smallest batch", [](Of& s) { s.batch_bytes_max = 1; },
       [](Of& s) { s.batch_bytes_max = 0; }},
      {"largest batch", [](Of& s) { s.batch_bytes_max = kBatchBytesChosenMax; },
       [](Of& s) { s.batch_bytes_max = kBatchBytesChosenMax + 1; }},
      {"checkpoint interval", [](Of& s) { s.checkpoint_interval = 1; },
       [](Of& s) { s.checkpoint_interval = 0; }},
      {"checkpoint bytes", [](Of& s) { s.checkpoint_bytes = 1; },
       [](Of& s) { s.checkpoint_bytes = 0; }},
      {"smallest window", [](Of& s) { s.window = 2 * s.checkpoint_interval; },
       [](Of& s) { s.window = 2 * s.checkpoint_interval - 1; }},
      {"largest window", [](Of& s) { s.window = kWindowMax; },
       [](Of& s) { s.window = kWindowMax + 1; }},
      {"retained batches", [](Of& s) { s.retained_batches = 65536; },
       [](Of& s) { s.retained_batches = 65537; }},
      {"log", [](Of& s) { s.log_bytes_max = 2 * s.checkpoint_bytes; },
       [](Of& s) { s.log_bytes_max = 2 * s.checkpoint_bytes - 1; }},
      {"requests that wait", [](Of& s) { s.queue_requests_max = 2; },
       [](Of& s) { s.queue_requests_max = 1; }},
      {"bytes that wait", [](Of& s) { s.queue_bytes_max = kFrameBytesMax; },
       [](Of& s) { s.queue_bytes_max = kFrameBytesMax - 1; }},
      {"smallest body", [](Of& s) { s.body_bytes_max = 1; }, [](Of& s) { s.body_bytes_max = 0; }},
      {"largest body", [](Of& s) { s.body_bytes_max = kOperationBytesMax; },
       [](Of& s) { s.body_bytes_max = kOperationBytesMax + 1; }},
      {"front of an operation", [](Of& s) { s.operation_front_bytes = 1; },
       [](Of& s) { s.operation_front_bytes = 0; }},
      {"tolerance for time", [](Of& s) { s.agreed_time_tolerance = Duration{1}; },
       [](Of& s) { s.agreed_time_tolerance = Duration::zero(); }},
      {"status interval", [](Of& s) { s.status_interval = Duration{1}; },
       [](Of& s) { s.status_interval = Duration::zero(); }},
      {"heartbeat interval", [](Of& s) { s.heartbeat_interval = s.status_interval; },
       [](Of& s) { s.heartbeat_interval = s.status_interval - Duration{1}; }},
      {"time-out", [](Of& s) { s.view_change_timeout = s.status_interval; },
       [](Of& s) { s.view_change_timeout = s.status_interval - Duration{1}; }},
      {"longest time-out", [](Of& s) { s.view_change_timeout_max = s.view_change_timeout; },
       [](Of& s) { s.view_change_timeout_max = s.view_change_timeout - Duration{1}; }},
  });
}

// A full log is emptied by a checkpoint alone, and nobody is to blame for it: so one has to be due
// before the log is full, whatever batches a faulty primary makes.
TEST_CASE("No batches fill the log of an agent before a checkpoint is due") {
  const ReplicaSettings settings;
  const std::uint64_t beside_operations =
      settings.checkpoint_interval * (kBatchOverheadMax + kBatchBodiesMax * settings.body_cost);
  CHECK(settings.checkpoint_bytes + beside_operations <= settings.log_bytes_max);
}

TEST_CASE("A client's settings are good up to each bound, and bad beyond it") {
  check_bounds<OfClient>({
      {"fewest faults", [](OfClient& s) { s.faults = 1; }, [](OfClient& s) { s.faults = 0; }},
      {"most faults", [](OfClient& s) { s.faults = 21; }, [](OfClient& s) { s.faults = 22; }},
      {"fewest sessions", [](OfClient& s) { s.session_count = 1; },
       [](OfClient& s) { s.session_count = 0; }},
      {"most sessions", [](OfClient& s) { s.session_count = kSessionsMax; },
       [](OfClient& s) { s.session_count = kSessionsMax + 1; }},
      {"first session", [](OfClient& s) { s.first_session = kSessionsMax - s.session_count; },
       [](OfClient& s) { s.first_session = kSessionsMax - s.session_count + 1; }},
      {"retransmission", [](OfClient& s) { s.retransmit_after = Duration{1}; },
       [](OfClient& s) { s.retransmit_after = Duration::zero(); }},
      {"latest retransmission", [](OfClient& s) { s.retransmit_after_max = s.retransmit_after; },
       [](OfClient& s) { s.retransmit_after_max = s.retransmit_after - Duration{1}; }},
      {"operation in a request", [](OfClient& s) { s.inline_bytes_max = kInlineBytesMax; },
       [](OfClient& s) { s.inline_bytes_max = kInlineBytesMax + 1; }},
      {"smallest leaf", [](OfClient& s) { s.body_leaf_bytes = 1; },
       [](OfClient& s) { s.body_leaf_bytes = 0; }},
      {"largest leaf", [](OfClient& s) { s.body_leaf_bytes = 128 * 1024; },
       [](OfClient& s) { s.body_leaf_bytes = 128 * 1024 + 1; }},
      {"first timestamp", [](OfClient& s) { s.first_timestamp = 1; },
       [](OfClient& s) { s.first_timestamp = 0; }},
  });
}

}  // namespace prophecy::pbft::test
