// Helpers of the transport's tests: a replica that echoes, and a peer that does as it likes,
// over real sockets of this machine, on ports that the system chooses.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>

#include "pbft/transport/replica_transport.hpp"
#include "pbft/wire/frame_header.hpp"
#include "support.hpp"

namespace prophecy::pbft::test {

inline constexpr std::uint8_t kRequest = static_cast<std::uint8_t>(MessageType::request);
inline constexpr std::uint8_t kPrepare = static_cast<std::uint8_t>(MessageType::prepare);
inline constexpr std::uint8_t kPart = static_cast<std::uint8_t>(MessageType::part);
inline constexpr std::uint8_t kTell = static_cast<std::uint8_t>(MessageType::key_tell);
inline const Endpoint kAnyPort{"127.0.0.1", 0};

inline TransportSettings small_settings() {
  TransportSettings settings;
  settings.frame_bytes_max = 4 << 20;
  settings.backoff_max = milliseconds(100);
  return settings;
}

// Answers every request with the same frame; takes every frame for authentic that says so.
class Echo final : public ReplicaTransport::Handler {
 public:
  Frame on_link_key_frame(NodeId /*peer*/, ByteView /*frame*/) override { return nullptr; }
  // Answers with the question. Who tells a key is taken at his word.
  KeyAnswer on_accepted_key_frame(ConnectionTag /*tag*/, ByteView frame) override {
    if (peek_header(frame)->type == MessageType::key_tell) {
      ++tells;
      return {nullptr, true};
    }
    ++key_frames;
    return {std::make_shared<const Bytes>(frame.begin(), frame.end()), false};
  }
  void on_accepted_closed(ConnectionTag /*tag*/) override { ++closed; }
  bool on_frame(ByteView frame) override {
    ++frames;
    last.assign(frame.begin(), frame.end());
    const auto header = peek_header(frame);
    if (!header || !authentic) return false;
    if (header->type == MessageType::request) answers.push_back({*header, last});
    return true;
  }
  void on_frames_end() override {
    for (auto& [header, bytes] : answers) {
      transport->send_to_client(header.sender, header.session,
                                std::make_shared<const Bytes>(std::move(bytes)));
    }
    answers.clear();
  }
  void on_peer_state(NodeId peer, bool connected) override {
    peers[peer] = connected;
    ups += connected ? 1 : 0;
  }
  void on_peer_gone(NodeId peer) override { gone.push_back(peer); }

  ReplicaTransport* transport = nullptr;
  bool authentic = true;
  std::size_t frames = 0;
  std::size_t key_frames = 0;
  std::size_t tells = 0;
  std::size_t closed = 0;
  Bytes last;
  std::map<NodeId, bool> peers;
  int ups = 0;
  std::vector<NodeId> gone;

 private:
  std::vector<std::pair<FrameHeader, Bytes>> answers;
};

struct Server {
  explicit Server(boost::asio::io_context& io, const TransportSettings& settings = small_settings(),
                  const Endpoint& address = kAnyPort) {
    auto acceptor = listen_on(io, address);
    REQUIRE(acceptor.has_value());
    transport = std::make_unique<ReplicaTransport>(
        io, settings, ReplicaTransportParts{0, {kAnyPort}}, std::move(*acceptor), echo);
    echo.transport = transport.get();
    transport->start();
  }
  ~Server() { transport->stop(); }

  Echo echo;
  std::unique_ptr<ReplicaTransport> transport;
};

// A peer that does whatever a test wants.
struct RawPeer {
  explicit RawPeer(boost::asio::io_context& io) : socket(io) {}
  RawPeer(boost::asio::io_context& io, const Endpoint& address) : socket(io) {
    socket.connect(to_asio(address));
  }
  void send(ByteView bytes) {
    boost::asio::write(socket, boost::asio::buffer(bytes.data(), bytes.size()));
  }
  void send_frame(const Frame& frame) {
    Bytes bytes;
    Writer(bytes).sized(*frame);
    send(bytes);
  }
  // True when the other side has closed.
  bool is_closed() {
    boost::system::error_code error;
    socket.non_blocking(true, error);
    char byte;
    (void)socket.read_some(boost::asio::buffer(&byte, 1), error);
    return error && error != boost::asio::error::would_block;
  }
  boost::asio::ip::tcp::socket socket;
};

}  // namespace prophecy::pbft::test
