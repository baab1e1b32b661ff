// `Connection` carries bytes to one ZooKeeper server at a time, in plain TCP or inside TLS:
//
//    closed -- open() --> connecting --> (securing) --> open -- close(), lost --> closed
//
// Bytes that the socket does not take are kept; the Session above bounds them by the calls that it
// lets be under way. Single-threaded. Its loop must not run any more once it is destroyed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/bytes.hpp"
#include "base/endpoint.hpp"
#include "transport/byte_stream.hpp"
#include "transport/readiness_loop.hpp"
#include "transport/tls_client.hpp"

namespace prophecy::zookeeper {

class Connection final : private transport::ReadinessHandler {
 public:
  // Each may close the connection; none may open it.
  class Handler {
   public:
    virtual void on_opened() = 0;
    virtual void on_bytes(ByteView bytes) = 0;
    // It is closed, for another reason than close().
    virtual void on_lost(std::string reason) = 0;

   protected:
    ~Handler() = default;
  };

  Connection(boost::asio::io_context& loop, Handler& handler)
      : readiness_(transport::ReadinessLoop::of(loop)), handler_(handler) {}
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // REQUIRES: closed. `tls` is null for plain TCP, and outlives the connection.
  void open(const Endpoint& server, transport::TlsClient* tls);
  // REQUIRES: open.
  void send(ByteView bytes);
  void close();

 private:
  enum class State : std::uint8_t { closed, connecting, securing, open };

  void on_ready(std::uint32_t events) override;
  [[nodiscard]] int start_connecting(const Endpoint& server);
  void on_connected(int error);
  void shake_hands();
  void on_established();
  void write();
  void read();
  void lose(std::string reason);

  transport::ReadinessLoop& readiness_;
  Handler& handler_;
  transport::TlsClient* tls_ = nullptr;
  std::optional<transport::ByteStream> stream_;
  State state_ = State::closed;
  int connect_error_ = 0;
  std::string unsent_;
};

}  // namespace prophecy::zookeeper
