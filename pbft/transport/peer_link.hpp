// The outgoing connection to one replica, made again for ever, with capped exponential backoff.
//
//           start()           connected         its key shown       its first frame
//   stopped -----> connecting ---------> securing ---------> silent ---------> open
//                    ^   | failed          | failed           | closed           | closed
//                    |   v                 v                  v                  |
//                    +- backoff <------------------------------------------------+
//
// In plain text there is no `securing`. A link that is `silent` takes frames, but the peer may
// still refuse it: with TLS 1.3 the side that connects is through with the handshake before the
// other side has seen its key. Frames that are sent while connecting or securing wait for that
// attempt; in backoff they are dropped and counted: a node that stays away gets no pile of outdated
// frames when it is back.
//
// Single-threaded. Its io_context must not run any more once the link is destroyed.
#pragma once

#include <memory>

#include "base/ids.hpp"
#include "pbft/transport/frame_connection.hpp"

namespace prophecy::pbft {

class PeerLink final : private FrameConnection::Owner {
 public:
  class Handler {
   public:
    virtual void on_link_frame(NodeId peer, ByteView frame) = 0;
    // After the frames of one read.
    virtual void on_link_frames_end() {}
    // Frames can be sent from now on, or no more.
    virtual void on_link_state(NodeId peer, bool connected) = 0;
    // The first frame of a connection has come, before on_link_frame() gets it: the peer has
    // accepted our key.
    virtual void on_link_open(NodeId /*peer*/) {}
    // Once after a connection has ended: the peer's machine refuses another one, so nothing listens
    // there. The end alone shows nothing: a forged reset looks the same.
    virtual void on_link_refused(NodeId /*peer*/) {}
    // An attempt, or a connection, has ended for that reason: one side alone encrypts links, or a
    // key is not the one that it has to be.
    virtual void on_link_insecure(NodeId /*peer*/, const std::string& /*reason*/) {}

   protected:
    ~Handler() = default;
  };

  PeerLink(boost::asio::io_context& io, NodeId peer, Endpoint address,
           const TransportSettings& settings, TransportCounters& counters, Handler& handler);

  void start();
  // Closes without telling the handler.
  void stop();
  void send(Frame frame);
  // For the transport's sweep: closes a connection that does not move.
  void check_stall(TimePoint now);
  [[nodiscard]] bool connected() const { return state_ == State::open; }
  // Bytes of frames that have not been sent.
  [[nodiscard]] std::size_t queued_bytes() const {
    return waiting_.bytes() + (connection_ ? connection_->queued_bytes() : 0);
  }

 private:
  enum class State : std::uint8_t { stopped, connecting, securing, silent, open, backoff };

  void connect();
  void handle_connected(const boost::system::error_code& error);
  // The timer of this attempt: it takes too long.
  void expect_within_timeout();
  void back_off();
  void on_frame(FrameConnection& connection, ByteView frame) override;
  void on_frames_end(FrameConnection& connection) override;
  void on_closed(FrameConnection& connection, CloseReason reason) override;
  void on_secured(FrameConnection& connection) override;

  boost::asio::io_context& io_;
  NodeId peer_;
  Endpoint address_;
  const TransportSettings& settings_;
  TransportCounters& counters_;
  Handler& handler_;
  State state_ = State::stopped;
  Socket socket_;              // while connecting
  Timer timer_;                // connect timeout or backoff
  std::uint64_t attempt_ = 0;  // tells the timer and the outcome of an old attempt apart
  Duration backoff_;
  TimePoint opened_{};
  bool lost_ = false;      // the last connection has ended, and no attempt has had an answer since
  OutgoingQueue waiting_;  // while connecting
  std::shared_ptr<FrameConnection> connection_;
};

}  // namespace prophecy::pbft
