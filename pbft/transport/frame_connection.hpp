// One TCP connection that carries frames in both directions, in plain text or inside TLS. All
// frames queued within one turn of the event loop go out in one system call, and many frames are
// cut from one read. Inside TLS, frames wait until both sides have shown their keys.
//
//      start()                       close()
//   ---------> open  ----------------------------------> closed
//                |  end of stream, error, bad length        ^
//                +------------------------------------------+   (the owner hears of it)
//
// Single-threaded: used only from its io_context. Kept alive by its own pending operations;
// the owner must close() it before it goes away itself, and hears nothing after that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pbft/links/link_channel.hpp"
#include "pbft/transport/frame_reader.hpp"
#include "pbft/transport/outgoing_queue.hpp"
#include "pbft/transport/socket.hpp"
#include "pbft/transport/transport_settings.hpp"

namespace prophecy::pbft {

// Names an accepted connection for as long as the process runs; never used twice.
using ConnectionTag = std::uint64_t;

enum class CloseReason : std::uint8_t {
  by_peer,
  io_error,
  bad_length,
  insecure,  // one side alone speaks TLS, or a key is not the one that it has to be
  stalled,
  evicted,
  stopped,
};

class FrameConnection : public std::enable_shared_from_this<FrameConnection> {
 public:
  class Owner {
   public:
    // The frame is valid during the call only. The owner may close any connection here.
    virtual void on_frame(FrameConnection& connection, ByteView frame) = 0;
    // After the frames of one read.
    virtual void on_frames_end(FrameConnection& /*connection*/) {}
    // An incomplete frame has grown, or is through.
    virtual void on_pending(FrameConnection& /*connection*/) {}
    virtual void on_closed(FrameConnection& connection, CloseReason reason) = 0;
    // Inside TLS: frames can be sent from now on. Not told in plain text.
    virtual void on_secured(FrameConnection& /*connection*/) {}

   protected:
    ~Owner() = default;
  };

  // All references must outlive the connection, or its close(). `tls`: null for plain text.
  FrameConnection(Socket socket, std::unique_ptr<LinkChannel> tls, ConnectionTag tag,
                  const TransportSettings& settings, TransportCounters& counters, Owner& owner);

  void start();
  void send(Frame frame);
  // Sends first what another queue holds.
  void start_with(OutgoingQueue& waiting);
  // The owner is told, once; but not when it says `stopped`.
  void close(CloseReason reason);

  [[nodiscard]] ConnectionTag tag() const { return tag_; }
  [[nodiscard]] bool is_open() const { return owner_ != nullptr; }
  // After `insecure`: the peer's address, and why, for people.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Bytes held for an incomplete frame.
  [[nodiscard]] std::size_t pending_bytes() const { return reader_.pending(); }
  // Bytes of frames that have not been sent.
  [[nodiscard]] std::size_t queued_bytes() const { return queue_.bytes(); }
  // False: inside TLS, and its handshake is not over.
  [[nodiscard]] bool is_secured() const { return !tls_ || tls_->is_secured(); }
  // True when an incomplete frame, or unsent bytes, have not moved for `stall_timeout`, or when the
  // handshake has taken `connect_timeout`.
  [[nodiscard]] bool is_stalled(TimePoint now) const;

 private:
  void read_some();
  void handle_read(std::size_t size);
  // Hands out the frames that `size` more bytes complete. False: it is closed.
  [[nodiscard]] bool take_bytes(std::size_t size);
  void handle_encrypted(std::size_t size);
  // False: it is closed.
  [[nodiscard]] bool shake_hands();
  void close_insecure(const std::string& reason);
  void schedule_flush();
  void flush();
  // Bytes of frames into the TLS session, if it has no other to send. False: there are none.
  [[nodiscard]] bool encrypt();
  void flush_encrypted();
  void wait_writable();

  Socket socket_;
  std::unique_ptr<LinkChannel> tls_;
  ConnectionTag tag_;
  const TransportSettings& settings_;
  TransportCounters& counters_;
  Owner* owner_;
  FrameReader reader_;
  OutgoingQueue queue_;
  boost::asio::ip::address peer_;
  std::string problem_;
  bool has_read_ = false;
  bool flush_scheduled_ = false;
  bool waits_writable_ = false;
  TimePoint started_{};
  TimePoint frame_begun_{};    // when the incomplete frame began; meaningful while one is there
  TimePoint write_blocked_{};  // when the socket last stopped taking bytes
};

}  // namespace prophecy::pbft
