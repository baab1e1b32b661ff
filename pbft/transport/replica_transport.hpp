// A replica's side of the wire. It listens for replicas and clients alike, and keeps one outgoing
// connection to every other replica for what it has to say to them. Replies to a client go back
// on the connection that it has proven to be its own, and has spoken on last (ClientRoutes).
//
//      peers  ==accepted==>  frames in        frames out  ==PeerLink==>  peers
//      clients <==accepted==>  requests in, replies out
//
// Single-threaded. Its io_context must not run any more once the transport is destroyed.
#pragma once

#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "pbft/transport/client_routes.hpp"
#include "pbft/transport/inbound_connections.hpp"
#include "pbft/transport/peer_link.hpp"

namespace prophecy::pbft {

struct KeyAnswer {
  Frame frame;  // null: none
  // What came was of the member that it names, and made for this very connection.
  bool proves = false;
};

struct ReplicaTransportParts {
  NodeId self = 0;
  std::vector<Endpoint> replicas;  // replicas[i] is the address of replica i
};

class ReplicaTransport final : private PeerLink::Handler, private FrameConnection::Owner {
 public:
  class Handler {
   public:
    // Returns whether the frame is authentic. What follows from it is to be sent in
    // on_frames_end(), when the route for an answer is known.
    virtual bool on_frame(ByteView frame) = 0;
    // After the frames of one read.
    virtual void on_frames_end() = 0;
    // As PeerLink::Handler has them, like the next ones.
    virtual void on_peer_state(NodeId peer, bool connected) = 0;
    virtual void on_peer_open(NodeId /*peer*/) {}
    // Its process has ended; see PeerLink::Handler::on_link_refused().
    virtual void on_peer_gone(NodeId peer) = 0;
    // A message of the exchange of session keys, which is answered where it came from: on the
    // connection that we keep to this peer, or on an accepted one.
    virtual Frame on_link_key_frame(NodeId peer, ByteView frame) = 0;
    virtual KeyAnswer on_accepted_key_frame(ConnectionTag tag, ByteView frame) = 0;
    virtual void on_accepted_closed(ConnectionTag tag) = 0;
    // A connection to this peer, or an accepted one, was closed for that reason: see CloseReason.
    virtual void on_peer_insecure(NodeId /*peer*/, const std::string& /*reason*/) {}
    virtual void on_accepted_insecure(const std::string& /*reason*/) {}

   protected:
    ~Handler() = default;
  };

  ReplicaTransport(boost::asio::io_context& io, const TransportSettings& settings,
                   const ReplicaTransportParts& parts, Acceptor acceptor, Handler& handler);

  void start();
  // Closes everything; the handler hears nothing more.
  void stop();

  void send_to_replica(NodeId replica, Frame frame);
  // Drops and counts the frame when the client is away: it asks again.
  void send_to_client(NodeId client, std::uint32_t session, Frame frame);

  // A frame of that replica has come on the connection to it.
  [[nodiscard]] bool connected(NodeId replica) const;
  // Where it listens, with the port that the system chose if it was to.
  [[nodiscard]] Endpoint local_address() const;
  [[nodiscard]] std::size_t inbound() const { return inbound_.size(); }
  // Of all connections together.
  [[nodiscard]] TransportCounters counters() const;
  // Of the connection to this replica, on which it is spoken to.
  [[nodiscard]] const TransportCounters& counters_to(NodeId replica) const;
  [[nodiscard]] std::size_t queued_bytes_to(NodeId replica) const;

 private:
  void accept();
  void on_frame(FrameConnection& connection, ByteView frame) override;
  void on_frames_end(FrameConnection& connection) override;
  void on_bytes_held(FrameConnection& connection) override;
  void on_closed(FrameConnection& connection, CloseReason reason) override;
  void on_link_frame(NodeId peer, ByteView frame) override;
  void on_link_frames_end() override;
  void on_link_state(NodeId peer, bool connected) override;
  void on_link_open(NodeId peer) override;
  void on_link_refused(NodeId peer) override;
  void on_link_insecure(NodeId peer, const std::string& reason) override;
  void sweep();

  TransportSettings settings_;
  TransportCounters counters_;  // of accepted connections
  Handler& handler_;
  Acceptor acceptor_;
  InboundConnections inbound_;
  ClientRoutes routes_;
  std::vector<TransportCounters> link_counters_;  // by replica
  std::vector<std::unique_ptr<PeerLink>> links_;  // null at our own place
  Timer sweep_timer_;
  Timer accept_pause_;  // after an error of accept(), as when descriptors are used up
};

}  // namespace prophecy::pbft
