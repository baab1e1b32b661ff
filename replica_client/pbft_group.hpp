// A group of kind pbft: fast reads go straight to an origin's HTTP port, replicated requests
// through PBFT, of which this process is a client with many sessions. It is the shell of PbftCalls:
// connections, keys and timers.
//
// Single-threaded, on the loop that it is given.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/log.hpp"
#include "http/client/origin_pool.hpp"
#include "pbft/core/key_exchange.hpp"
#include "pbft/transport/client_transport.hpp"
#include "pbft/transport/core_timer.hpp"
#include "pbft/transport/system_entropy.hpp"
#include "replica_client/core/pbft_calls.hpp"
#include "replica_client/group.hpp"

namespace prophecy::replica_client {

struct PbftGroupSettings {
  pbft::ClientSettings client;
  std::vector<Endpoint> agents;  // in the order of the replicas' ids
  std::vector<http::OriginSettings> origins;
  Duration replicated_deadline = seconds(10);
  Duration key_refresh_interval = seconds(600);
  std::shared_ptr<const pbft::LinkTls> links = nullptr;  // to agents; null: in plain text
};

class PbftGroup final : public ReplicaGroup {
 public:
  PbftGroup(boost::asio::io_context& loop, const PbftGroupSettings& settings,
            const pbft::KeyRing& keys, http::OriginTimeouts& timeouts,
            RefutationHandler& refutations, Logger& log);
  ~PbftGroup() override;

  void start() override;

  [[nodiscard]] std::uint32_t size() const override;
  [[nodiscard]] std::uint32_t faults() const override;
  void fast(http::OriginExchange& exchange, NodeId replica, std::string_view wire,
            const FastForm& form) override;
  std::uint64_t replicated(const ReplicatedRequest& request, ReplicatedHandler& handler) override;
  void cancel_replicated(std::uint64_t id) override;

 private:
  void on_frame(NodeId replica, ByteView frame);
  void on_state(NodeId replica, bool connected);
  void on_open(NodeId replica);
  void on_insecure(NodeId replica, const std::string& reason);
  void on_key_timer();
  void follow_keys();
  void on_timer();
  void send_frames();
  // Sends what the core wants sent, and has it report.
  void perform();

  boost::asio::io_context& loop_;
  std::uint32_t faults_;
  std::vector<std::unique_ptr<http::OriginPool>> origins_;
  pbft::SystemEntropy entropy_;
  pbft::KeyExchange key_exchange_;
  PbftCalls calls_;
  pbft::ClientTransport transport_;
  pbft::CoreTimer timer_;
  pbft::CoreTimer key_timer_;
  RefutationHandler& refutations_;
  Logger& log_;
  // Links that were refused: why, as it was logged last. Until such a link is open again.
  std::map<NodeId, std::string> refused_;
};

}  // namespace prophecy::replica_client
