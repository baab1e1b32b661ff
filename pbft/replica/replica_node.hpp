// One running replica: the deterministic core, the sockets and timers around it, and the service
// that it executes on.
//
//   ReplicaTransport --frames--> Replica               Executor --> Service --> origin
//          ^                       |  ^                  ^  |
//          |                       v  +---- finished ----|--+
//          +-------- sends ----- Outbox --- executions --+
//                                  |
//                                  +--- writes ---> ReplicaStorage
//
// Everything that the core asks for is carried out in settle(), the one place, after each event.
// When the disk refuses a promise, the node stops: it must not go on without its memory.
//
// Single-threaded. Its io_context must not run any more once the node is destroyed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/io/admin_socket.hpp"
#include "base/io/descriptor_limit.hpp"
#include "base/log.hpp"
#include "http/metrics/metrics_server.hpp"
#include "pbft/core/key_exchange.hpp"
#include "pbft/core/replica.hpp"
#include "pbft/replica/frame_gate.hpp"
#include "pbft/replica/outbox.hpp"
#include "pbft/replica/replica_config.hpp"
#include "pbft/replica/replica_parts.hpp"
#include "pbft/replica/replica_storage.hpp"
#include "pbft/replica/system_inputs.hpp"
#include "pbft/services/executor.hpp"
#include "pbft/services/service.hpp"
#include "pbft/transport/core_timer.hpp"
#include "pbft/transport/replica_transport.hpp"
#include "pbft/transport/system_entropy.hpp"

namespace prophecy::pbft {

class ReplicaNode final : private ReplicaTransport::Handler {
 public:
  // Opens the listeners; nothing moves before start(). `identity` must outlive the node, and so
  // must `gate`, which is null but in tests.
  [[nodiscard]] static Result<std::unique_ptr<ReplicaNode>> create(boost::asio::io_context& io,
                                                                   const ReplicaIdentity& identity,
                                                                   Logger& log,
                                                                   FrameGate* gate = nullptr);

  void start();
  // What the origin is verified by, inside TLS, is read anew.
  void reload_certificates();
  // Closes everything, so that the event loop runs dry.
  void stop();
  // It has stopped of itself.
  [[nodiscard]] bool failed() const { return failed_; }

  // Of the process that runs it.
  [[nodiscard]] static DescriptorNeed descriptors_needed(const ReplicaIdentity& identity);

  // One line of JSON.
  [[nodiscard]] std::string status() const;
  // Prometheus' text format.
  [[nodiscard]] std::string metrics() const;

 private:
  ReplicaNode(boost::asio::io_context& io, const ReplicaIdentity& identity, Acceptor acceptor,
              std::unique_ptr<ReplicaStorage> storage, Logger& log, FrameGate* gate);

  [[nodiscard]] std::unique_ptr<Service> make_service(boost::asio::io_context& io);
  [[nodiscard]] Result<> open_service();
  bool on_frame(ByteView frame) override;
  void on_frames_end() override;
  void on_peer_state(NodeId peer, bool connected) override;
  void on_peer_open(NodeId peer) override;
  void on_peer_gone(NodeId peer) override;
  void on_peer_insecure(NodeId peer, const std::string& reason) override;
  void on_accepted_insecure(const std::string& reason) override;
  Frame on_link_key_frame(NodeId peer, ByteView frame) override;
  KeyAnswer on_accepted_key_frame(ConnectionTag connection, ByteView frame) override;
  void on_accepted_closed(ConnectionTag connection) override;
  void on_timer();
  void on_key_timer();
  void follow_keys();
  void settle();
  void carry_out();
  void on_released(const Result<>& outcome);
  void on_parts_flushed(bool done);
  void on_parts_durable(std::uint64_t id, bool done);
  void on_origin_state(bool up, http::ExchangeEnd down_by);
  void on_origin_returned();
  [[nodiscard]] bool take_finished();
  void on_finished_state(const Executor::FinishedState& finished);
  [[nodiscard]] bool is_worth_sending(const Outgoing& outgoing) const;
  void send(Outgoing& outgoing);
  void pass(Outgoing outgoing);
  void watch_state();
  void watch_recovery();
  [[nodiscard]] ReplicaParts parts() const;
  void report_drops();
  void report_clock();
  void report_states();
  void report_writes();
  void on_fill(std::uint64_t percent);
  [[nodiscard]] std::string answer_admin(std::string_view request_line);
  [[nodiscard]] Result<> look_at_state();
  [[nodiscard]] Result<> adopt_state(const AdoptionOrder& order);
  void watch_adoption();

  const ReplicaIdentity& identity_;
  Logger& log_;
  FrameGate* gate_;
  std::unique_ptr<ReplicaStorage> storage_;
  std::unique_ptr<Service> service_;
  Executor executor_;
  SystemInputs inputs_;
  SystemEntropy entropy_;
  KeyExchange key_exchange_;
  Replica core_;
  ReplicaTransport transport_;
  CoreTimer timer_;
  CoreTimer key_timer_;
  std::unique_ptr<AdminServer> admin_;
  std::unique_ptr<http::MetricsServer> metrics_;
  ReplicaActions actions_;
  std::size_t unsettled_bytes_ = 0;  // of frames in it, that a read's frames have caused so far
  Outbox outbox_;
  std::vector<Executor::Finished> finished_;
  std::vector<Executor::FinishedState> finished_states_;
  std::uint64_t state_changes_ = 0;  // snapshots and restores, to tell them apart
  bool settling_ = false;
  bool stopped_ = false;
  bool failed_ = false;
  // To peers: why, as it was logged last. Until such a link is open again.
  std::map<NodeId, std::string> refused_links_;
  std::optional<TimePoint> insecure_logged_;
  TimePoint started_at_{};
  ReplicaState last_state_ = ReplicaState::normal;
  std::uint64_t last_view_ = 0;
  RecoveryState last_recovery_ = RecoveryState::none;
  TimePoint recovery_told_{};
  AdoptionState last_adoption_ = AdoptionState::none;
  DropCounters reported_drops_{};
  std::uint64_t reported_times_refused_ = 0;
  std::uint64_t reported_states_uncertified_ = 0;
  std::uint64_t fill_percent_ = 0;
  std::uint64_t reported_writes_repeated_ = 0;
  std::uint64_t reported_writes_doubted_ = 0;
  boost::asio::steady_timer report_timer_;
};

}  // namespace prophecy::pbft
