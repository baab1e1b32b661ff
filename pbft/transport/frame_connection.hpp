// One TCP connection that carries frames in both directions. All frames queued within one turn of
// the event loop go out in one system call, and many frames are cut from one read.
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

#include "pbft/transport/frame_reader.hpp"
#include "pbft/transport/outgoing_queue.hpp"
#include "pbft/transport/socket.hpp"
#include "pbft/transport/transport_settings.hpp"

namespace prophecy::pbft {

// Names an accepted connection for as long as the process runs; never used twice.
using ConnectionTag = std::uint64_t;

enum class CloseReason : std::uint8_t { by_peer, io_error, bad_length, stalled, evicted, stopped };

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

   protected:
    ~Owner() = default;
  };

  // All references must outlive the connection, or its close().
  FrameConnection(Socket socket, ConnectionTag tag, const TransportSettings& settings,
                  TransportCounters& counters, Owner& owner);

  void start();
  void send(Frame frame);
  // Sends first what another queue holds.
  void start_with(OutgoingQueue& waiting);
  // The owner is told, once; but not when it says `stopped`.
  void close(CloseReason reason);

  [[nodiscard]] ConnectionTag tag() const { return tag_; }
  [[nodiscard]] bool is_open() const { return owner_ != nullptr; }
  // Bytes held for an incomplete frame.
  [[nodiscard]] std::size_t pending_bytes() const { return reader_.pending(); }
  // Bytes of frames that have not been sent.
  [[nodiscard]] std::size_t queued_bytes() const { return queue_.bytes(); }
  // True when an incomplete frame, or unsent bytes, have not moved for `stall_timeout`.
  [[nodiscard]] bool is_stalled(TimePoint now) const;

 private:
  void read_some();
  void handle_read(std::size_t size);
  void schedule_flush();
  void flush();
  void wait_writable();

  Socket socket_;
  ConnectionTag tag_;
  const TransportSettings& settings_;
  TransportCounters& counters_;
  Owner* owner_;
  FrameReader reader_;
  OutgoingQueue queue_;
  bool flush_scheduled_ = false;
  bool waits_writable_ = false;
  TimePoint frame_begun_{};    // when the incomplete frame began; meaningful while one is there
  TimePoint write_blocked_{};  // when the socket last stopped taking bytes
};

}  // namespace prophecy::pbft
