// `HandOverLink` is one connection between the ring's processes of two members: TCP, TLS 1.3 with a
// certificate on both sides, then frames of dht/wire.
//
//    connecting --> securing --> open --> closed
//
// Nothing of a peer is decoded before the handshake has shown that it is a member. What is held for
// a link is bounded: a frame that arrives, and answers until they exceed kUnsentMax; then nothing
// more is read until the peer has taken them.
//
// Single-threaded. Its owner destroys it in a turn of its own after it has told that it is closed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/timeout_queue.hpp"
#include "dht/wire/hand_over_frames.hpp"
#include "sketcher/shared/member_directory.hpp"
#include "transport/byte_stream.hpp"
#include "transport/readiness_loop.hpp"

namespace prophecy::sketcher {

class HandOverLink final : private transport::ReadinessHandler, private TimeoutEntry {
 public:
  enum class End : std::uint8_t {
    lost,       // by the peer, or it could not be reached
    stranger,   // its certificate is not one of a member
    malformed,  // it does not speak the protocol
    silent,     // its handshake took too long
  };
  class Owner {
   public:
    // The member whose certificate the link's peer has shown; nothing: none.
    [[nodiscard]] virtual std::optional<std::string> member_of(
        const HandOverLink& link, const transport::TlsChannel& channel) = 0;
    virtual void on_open(HandOverLink& link) = 0;
    virtual void on_message(HandOverLink& link, dht::HandOverMessage message) = 0;
    // The last call for it.
    virtual void on_closed(HandOverLink& link, End end) = 0;

   protected:
    ~Owner() = default;
  };
  static constexpr std::size_t kUnsentMax = 256 << 10;
  // So much is sent at once; what is less leaves at the end of the turn, together.
  static constexpr std::size_t kSentAtOnce = 16 << 10;

  // All outlive it. One that a peer has made: `channel` is the server's side, made from socket().
  HandOverLink(transport::ReadinessLoop& readiness, TimeoutQueue& handshakes, Owner& owner,
               UniqueFd socket);
  ~HandOverLink() override;

  // Once, in either way.
  using MakeChannel =
      std::function<std::unique_ptr<transport::TlsChannel>(transport::ReadySocket&)>;
  void accept(const MakeChannel& make);
  // Its socket is connecting.
  void connect(MakeChannel make);

  [[nodiscard]] bool is_open() const { return state_ == State::open; }
  // Once it is open.
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // Requires that it is open.
  void send(ByteView frame);
  [[nodiscard]] std::size_t unsent() const { return output_.size() - output_begin_; }
  // Of output, what has been sent lately among it.
  [[nodiscard]] std::size_t held_bytes() const override { return output_.size(); }
  void close(End end = End::lost);

 private:
  enum class State : std::uint8_t { connecting, securing, open, closed };

  void on_ready(std::uint32_t events) override;
  void on_timeout() override { close(End::silent); }
  void on_connected();
  void secure();
  void shake_hands();
  void read();
  void deliver();
  void flush();

  transport::ReadinessLoop& readiness_;
  TimeoutQueue& handshakes_;
  Owner& owner_;
  transport::ByteStream stream_;
  MakeChannel make_;
  dht::HandOverReader reader_;
  std::string peer_;
  std::string output_;
  std::size_t output_begin_ = 0;
  State state_ = State::connecting;
};

}  // namespace prophecy::sketcher
