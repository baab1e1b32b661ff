// Load on a replica group: clients that each have one call in flight and make the next as soon as
// it is answered. After a warm-up, what is answered within the measured time is counted.
//
//   connecting --- all replicas, all connections ---> warming_up ---> measuring ---> done
//       +--- not in time ---> failed
//
// Single-threaded. Its io_context must not run any more once the load is destroyed.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "bench/load/latency_histogram.hpp"
#include "pbft/client/client.hpp"
#include "pbft/group/group_file.hpp"

namespace prophecy::tools {

struct PbftLoadSettings {
  std::uint32_t clients = 1;
  std::uint32_t connections = 1;  // to each replica; at most one for each client
  pbft::CallKind kind = pbft::CallKind::ordered;
  bool tentative = false;  // replies are accepted that are
  std::size_t operation_bytes = 0;
  std::size_t result_bytes = 0;  // any other is counted as wrong
  Duration warm_up{};
  Duration duration{};
  std::uint64_t operations_max = 0;  // ends earlier, once so many are agreed; 0: no bound
  // Greater than any that this client has used before in this group.
  std::uint64_t first_timestamp = 1;
  std::shared_ptr<const pbft::LinkTls> links = nullptr;  // null: in plain text
};

struct PbftLoadReport {
  Duration measured{};
  std::uint64_t agreed = 0;  // with a result of the expected size
  std::uint64_t wrong_results = 0;
  std::uint64_t failed = 0;  // any other end
  std::uint64_t fell_back = 0;
  std::uint64_t retransmissions = 0;
  LatencyHistogram latency;  // of all that were agreed
  Duration user{};           // processor time of this process
  Duration system{};
};

class PbftLoad {
 public:
  struct Callbacks {
    std::function<void()> on_measuring;
    std::function<void(const PbftLoadReport&)> on_done;
    std::function<void(const Error&)> on_failed;
  };

  // Requires clients >= connections >= 1, and kSessionsMax clients at most; of `keys` one ring for
  // each connection, which makes session keys of its own. They must outlive the load.
  PbftLoad(boost::asio::io_context& io, const PbftLoadSettings& settings,
           const pbft::GroupFile& group, std::span<const pbft::KeyRing> keys, Callbacks callbacks);
  ~PbftLoad();

  void start();

 private:
  class Connection;
  enum class State : std::uint8_t { connecting, warming_up, measuring, done };

  void on_connected();
  void begin();
  void begin_measuring();
  void end_at(TimePoint time);
  void end();
  void on_completion(const pbft::Completion& completion, TimePoint begun, TimePoint now);
  void stop();

  PbftLoadSettings settings_;
  Callbacks callbacks_;
  State state_ = State::connecting;
  Bytes operation_;
  boost::asio::steady_timer timer_;
  std::vector<std::unique_ptr<Connection>> connections_;
  PbftLoadReport report_;
  TimePoint measuring_since_{};
};

}  // namespace prophecy::tools
