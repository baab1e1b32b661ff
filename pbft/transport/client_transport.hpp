// A client's side of the wire: one connection to each replica of a group, kept up for ever.
//
// Single-threaded. Its io_context must not run any more once the transport is destroyed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "pbft/transport/peer_link.hpp"

namespace prophecy::pbft {

class ClientTransport final : private PeerLink::Handler {
 public:
  struct Callbacks {
    // Valid during the call only. `replica` is the connection's; the frame proves its own sender.
    std::function<void(NodeId replica, ByteView frame)> on_frame;
    std::function<void(NodeId replica, bool connected)> on_state;
    // See PeerLink::Handler. They may be missing, as on_state may.
    std::function<void(NodeId replica, const std::string& reason)> on_insecure = {};
    std::function<void(NodeId replica)> on_open = {};
  };

  // `replicas[i]` is the address of replica i.
  ClientTransport(boost::asio::io_context& io, const TransportSettings& settings,
                  const std::vector<Endpoint>& replicas, Callbacks callbacks);

  void start();
  // Closes everything; no callback follows.
  void stop();
  // Never fails: what cannot be sent is dropped and counted, and the protocol sends it again.
  void send(NodeId replica, Frame frame);

  [[nodiscard]] bool connected(NodeId replica) const;
  [[nodiscard]] const TransportCounters& counters() const { return counters_; }

 private:
  void on_link_frame(NodeId peer, ByteView frame) override;
  void on_link_state(NodeId peer, bool connected) override;
  void on_link_open(NodeId peer) override;
  void on_link_insecure(NodeId peer, const std::string& reason) override;
  void sweep();

  TransportSettings settings_;
  TransportCounters counters_;
  Callbacks callbacks_;
  std::vector<std::unique_ptr<PeerLink>> links_;
  Timer sweep_timer_;
};

}  // namespace prophecy::pbft
