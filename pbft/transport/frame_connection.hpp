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
#include <optional>
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
    // pending_bytes() or queued_bytes() has changed. The owner may close any connection here.
    virtual void on_bytes_held(FrameConnection& /*connection*/) {}
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
  // Drops and counts the oldest frame that is not sent. False: its first bytes are out, or there
  // is none. The owner is not told.
  [[nodiscard]] bool drop_oldest();
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
  // Bytes of frames that have not been sent, encrypted or not.
  [[nodiscard]] std::size_t queued_bytes() const { return queue_.bytes() + encrypted_bytes_; }
  // False: inside TLS, and its handshake is not over.
  [[nodiscard]] bool is_secured() const { return !tls_ || tls_->is_secured(); }
  // True when a frame has been incomplete for `stall_timeout`, when the peer has taken fewer than
  // `stall_bytes` in that time while more waited, or when the handshake has taken
  // `connect_timeout`. To be asked several times in each `stall_timeout`.
  [[nodiscard]] bool is_stalled(TimePoint now);

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
  void flush_plain();
  // Bytes of frames into the TLS session, if it has no other to send. False: there are none.
  [[nodiscard]] bool encrypt();
  void flush_encrypted();
  void wait_writable();
  // Bytes that the peer's system has confirmed, since the start.
  [[nodiscard]] std::uint64_t taken_bytes();
  [[nodiscard]] bool has_write_stalled(TimePoint now);

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
  TimePoint frame_begun_{};  // when the incomplete frame began; meaningful while one is there
  std::size_t encrypted_bytes_ = 0;  // that the socket has not taken
  std::uint64_t written_bytes_ = 0;  // that the socket has taken since the start
  // From here on is measured how fast the peer takes bytes. A socket that is writable now and then
  // shows nothing: a peer can make it so with some bytes for each of our megabytes.
  struct Mark {
    TimePoint time;
    std::uint64_t taken = 0;
  };
  std::optional<Mark> blocked_;  // while bytes wait that the socket does not take
};

}  // namespace prophecy::pbft
