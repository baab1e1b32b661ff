// Encrypted links: the sessions in memory, and the transports that use them, over real sockets of
// this machine.
#include <map>

#include <catch2/catch.hpp>

#include "pbft/links/link_tls.hpp"
#include "pbft/transport/client_transport.hpp"
#include "pbft/transport/replica_transport.hpp"
#include "pbft/wire/frame_header.hpp"
#include "support.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::test;

namespace {

using Status = LinkChannel::Status;

constexpr std::uint8_t kRequestType = static_cast<std::uint8_t>(MessageType::request);
constexpr std::uint8_t kTellType = static_cast<std::uint8_t>(MessageType::key_tell);

// Two replicas and two clients.
struct Keys {
  Keys() {
    for (const NodeId id : {NodeId{0}, NodeId{1}, NodeId{1024}, NodeId{1025}}) {
      auto keys = generate_private_keys();
      REQUIRE(keys.has_value());
      members.push_back({id, *public_keys_of(*keys)});
      private_keys.emplace(id, *keys);
    }
  }
  [[nodiscard]] std::shared_ptr<const LinkTls> of(NodeId id) const {
    auto tls = LinkTls::make(id, private_keys.at(id), members);
    REQUIRE(tls.has_value());
    return *tls;
  }
  // A member's id, with a key that nobody has listed.
  [[nodiscard]] std::shared_ptr<const LinkTls> stranger(NodeId id) const {
    auto tls = LinkTls::make(id, *generate_private_keys(), members);
    REQUIRE(tls.has_value());
    return *tls;
  }

  std::vector<Member> members;
  std::map<NodeId, PrivateKeys> private_keys;
};

void carry(LinkChannel& from, LinkChannel& to) {
  for (ByteView output = from.output(); !output.empty(); output = from.output()) {
    const auto space = to.space();
    const std::size_t size = std::min(output.size(), space.size());
    std::copy_n(output.begin(), size, space.begin());
    to.filled(size);
    from.sent(size);
    if (!to.is_secured()) static_cast<void>(to.handshake());
  }
}

// Both sides, until neither has anything to say.
void shake_hands(LinkChannel& client, LinkChannel& server) {
  static_cast<void>(client.handshake());
  static_cast<void>(server.handshake());
  for (int i = 0; i < 10; ++i) {
    carry(client, server);
    carry(server, client);
  }
}

// All that has come.
Bytes read_all(LinkChannel& channel) {
  Bytes all;
  Bytes part(1000);
  for (;;) {
    const LinkChannel::Read read = channel.read(part);
    if (read.status != Status::done) return all;
    all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(read.bytes));
  }
}

}  // namespace

TEST_CASE("links: members show their keys, and nobody between them reads what they say") {
  const Keys keys;
  const auto client_tls = keys.of(1024);
  const auto replica_tls = keys.of(0);
  const auto client = client_tls->connect(0);
  const auto server = replica_tls->accept();
  REQUIRE(client);
  REQUIRE(server);
  shake_hands(*client, *server);
  REQUIRE(client->is_secured());
  REQUIRE(server->is_secured());
  const std::string secret = "what the group agrees on";
  Bytes bytes;
  while (bytes.size() < 100'000)
    bytes.insert(bytes.end(), secret.begin(), secret.end());
  REQUIRE(client->write(bytes));
  Bytes received;
  for (ByteView output = client->output(); !output.empty(); output = client->output()) {
    CHECK(as_text(output).find(secret) == std::string_view::npos);
    const std::size_t size = std::min<std::size_t>(output.size(), 777);
    std::copy_n(output.begin(), size, server->space().begin());
    server->filled(size);
    client->sent(size);
    const Bytes part = read_all(*server);
    received.insert(received.end(), part.begin(), part.end());
  }
  CHECK(received == bytes);
  REQUIRE(server->write(as_bytes("answer")));
  carry(*server, *client);
  CHECK(as_text(read_all(*client)) == "answer");
}

TEST_CASE("links: a key that is not the one in the group file is refused at both sides") {
  const Keys keys;
  const bool is_client_wrong = GENERATE(true, false);
  // The other replica's key will not do either.
  const auto client_tls = is_client_wrong ? keys.stranger(1024) : keys.of(1024);
  const auto server_tls = is_client_wrong ? keys.of(0) : keys.of(1);
  const auto client = client_tls->connect(0);
  const auto server = server_tls->accept();
  shake_hands(*client, *server);
  CHECK_FALSE(server->is_secured());
  if (is_client_wrong) {
    CHECK(server->failure() == "its key is not one of another member of the group file");
    // In TLS 1.3 the side that connects is secured first.
    CHECK(read_all(*client).empty());
    CHECK(client->failure().starts_with("TLS: "));
  } else {
    CHECK(client->failure() == "its key is not the one that the group file lists for it");
    CHECK_FALSE(client->is_secured());
    CHECK(server->failure().starts_with("TLS: "));
  }
}

TEST_CASE("links: a member does not speak to itself") {
  const Keys keys;
  const auto tls = keys.of(0);
  const auto client = tls->connect(0);
  const auto server = tls->accept();
  shake_hands(*client, *server);
  CHECK_FALSE(server->is_secured());
}

TEST_CASE("links: plain text and nonsense are refused") {
  const Keys keys;
  const auto tls = keys.of(0);
  const auto server = tls->accept();
  CHECK(server->handshake() == Status::blocked);
  const std::string frame = std::string("\x05\0\0\0", 4) + "hello";
  std::copy_n(frame.begin(), frame.size(), server->space().begin());
  server->filled(frame.size());
  CHECK(server->handshake() == Status::failed);
  CHECK(server->failure() == kPeerIsPlain);

  const auto client = tls->connect(1);
  CHECK(client->handshake() == Status::blocked);
  const ByteView alert = refusing_alert();
  std::copy_n(alert.begin(), alert.size(), client->space().begin());
  client->filled(alert.size());
  CHECK(client->handshake() == Status::failed);
  CHECK(client->failure() == kPeerIsPlain);
}

TEST_CASE("links: the first bytes of TLS are known") {
  const Keys keys;
  const auto tls = keys.of(1024);
  const auto client = tls->connect(0);
  static_cast<void>(client->handshake());
  CHECK(looks_like_tls(client->output()));
  CHECK(looks_like_tls(refusing_alert()));
  CHECK_FALSE(looks_like_tls(client->output().first(6)));
  CHECK_FALSE(looks_like_tls({}));
  // Frames of many lengths, as a peer in plain text sends them.
  for (std::uint32_t size = 1; size < 1'000'000; size += 7) {
    Bytes frame;
    Writer(frame).integer(size);
    Writer(frame).integer(std::uint32_t{0x01020304});
    if (looks_like_tls(frame)) FAIL("a frame of " << size << " bytes");
  }
}

namespace {

TransportSettings settings_with(std::shared_ptr<const LinkTls> tls) {
  TransportSettings settings;
  settings.frame_bytes_max = 4 << 20;
  settings.backoff_max = milliseconds(100);
  settings.tls = std::move(tls);
  return settings;
}

// Answers each request with itself.
class LinkEcho final : public ReplicaTransport::Handler {
 public:
  Frame on_link_key_frame(NodeId /*peer*/, ByteView /*frame*/) override { return nullptr; }
  KeyAnswer on_accepted_key_frame(ConnectionTag /*tag*/, ByteView /*frame*/) override {
    return {nullptr, true};
  }
  void on_accepted_closed(ConnectionTag /*tag*/) override {}
  bool on_frame(ByteView frame) override {
    answers.emplace_back(frame.begin(), frame.end());
    return true;
  }
  void on_frames_end() override {
    for (Bytes& answer : answers)
      transport->send_to_client(1024, 0, std::make_shared<const Bytes>(std::move(answer)));
    answers.clear();
  }
  void on_peer_state(NodeId /*peer*/, bool /*connected*/) override {}
  void on_peer_gone(NodeId /*peer*/) override {}
  void on_accepted_insecure(const std::string& reason) override { problems.push_back(reason); }

  ReplicaTransport* transport = nullptr;
  std::vector<std::string> problems;
  std::vector<Bytes> answers;
};

// Replica 0.
struct LinkServer {
  LinkServer(boost::asio::io_context& io, std::shared_ptr<const LinkTls> tls)
      : LinkServer(io, settings_with(std::move(tls))) {}
  LinkServer(boost::asio::io_context& io, const TransportSettings& settings) {
    auto acceptor = listen_on(io, {"127.0.0.1", 0});
    REQUIRE(acceptor.has_value());
    transport = std::make_unique<ReplicaTransport>(
        io, settings, ReplicaTransportParts{0, {{"127.0.0.1", 0}}}, std::move(*acceptor), echo);
    echo.transport = transport.get();
    transport->start();
  }
  ~LinkServer() { transport->stop(); }

  LinkEcho echo;
  std::unique_ptr<ReplicaTransport> transport;
};

struct LinkCaller {
  LinkCaller(boost::asio::io_context& io, const Endpoint& address,
             std::shared_ptr<const LinkTls> tls)
      : transport(io, settings_with(std::move(tls)), {address},
                  {.on_frame =
                       [this](NodeId, ByteView frame) {
                         received.emplace_back(frame.begin(), frame.end());
                       },
                   .on_state = [this](NodeId, bool up) { (up ? ups : downs) += 1; },
                   .on_insecure = [this](NodeId,
                                         const std::string& reason) { problems.push_back(reason); },
                   .on_open = [this](NodeId) { ++opens; }}) {
    transport.start();
  }
  ~LinkCaller() { transport.stop(); }

  std::vector<Bytes> received;
  std::vector<std::string> problems;
  int ups = 0;
  int downs = 0;
  int opens = 0;
  ClientTransport transport;
};

}  // namespace

TEST_CASE("links: frames of any size pass through encrypted connections") {
  const Keys keys;
  boost::asio::io_context io(1);
  LinkServer server(io, keys.of(0));
  LinkCaller caller(io, server.transport->local_address(), keys.of(1024));
  // They wait for the handshake.
  caller.transport.send(0, make_frame(kTellType, 1024, 0));
  const std::size_t paddings[] = {0, 1, 65'526, 65'536, 3 << 20, 10};
  for (const std::size_t padding : paddings)
    caller.transport.send(0, make_frame(kRequestType, 1024, 0, padding));
  REQUIRE(run_until(io, [&] { return caller.received.size() == std::size(paddings); }));
  for (std::size_t i = 0; i < std::size(paddings); ++i)
    CHECK(caller.received[i] == *make_frame(kRequestType, 1024, 0, paddings[i]));
  CHECK(caller.ups == 1);
  CHECK(caller.opens == 1);
  CHECK(caller.transport.connected(0));
  CHECK(caller.transport.counters().frames_sent == 1 + std::size(paddings));
  CHECK(server.transport->counters().frames_received == 1 + std::size(paddings));
  CHECK(caller.problems.empty());
  CHECK(server.echo.problems.empty());
}

TEST_CASE("links: where one side alone encrypts, both say so") {
  const Keys keys;
  boost::asio::io_context io(1);
  const bool is_server_plain = GENERATE(true, false);
  LinkServer server(io, is_server_plain ? nullptr : keys.of(0));
  LinkCaller caller(io, server.transport->local_address(),
                    is_server_plain ? keys.of(1024) : nullptr);
  caller.transport.send(0, make_frame(kTellType, 1024, 0));
  // In plain text it is connected at first, and says something each time.
  REQUIRE(run_until(io, [&] {
    if (!is_server_plain && caller.ups > caller.downs && caller.problems.empty())
      caller.transport.send(0, make_frame(kTellType, 1024, 0));
    return !caller.problems.empty() && !server.echo.problems.empty();
  }));
  const std::string plain = std::string("127.0.0.1: ") + kPeerIsPlain;
  const std::string encrypted = std::string("127.0.0.1: ") + kPeerIsEncrypted;
  CHECK(caller.problems[0] == (is_server_plain ? plain : encrypted));
  CHECK(server.echo.problems[0] == (is_server_plain ? encrypted : plain));
  CHECK(caller.received.empty());
  CHECK(caller.opens == 0);
  CHECK(server.transport->counters().closed_insecure > 0);
  CHECK(caller.transport.counters().closed_insecure > 0);
  if (is_server_plain) {
    CHECK(caller.ups == 0);
    CHECK(caller.downs == 0);
  }
}

TEST_CASE("links: a stranger's key opens no connection") {
  const Keys keys;
  boost::asio::io_context io(1);
  LinkServer server(io, keys.of(0));
  LinkCaller caller(io, server.transport->local_address(), keys.stranger(1024));
  caller.transport.send(0, make_frame(kRequestType, 1024, 0));
  // Each attempt ends in the same way: the link is never open.
  REQUIRE(run_until(io, [&] {
    CHECK_FALSE(caller.transport.connected(0));
    return server.echo.problems.size() >= 3 && caller.problems.size() >= 3;
  }));
  CHECK(caller.opens == 0);
  CHECK(caller.problems[2] == caller.problems[0]);
  CHECK(server.echo.problems[0] ==
        "127.0.0.1: its key is not one of another member of the group file");
  CHECK(server.transport->counters().frames_received == 0);
}

TEST_CASE("links: a side that does not shake hands is left after the time to connect") {
  const Keys keys;
  boost::asio::io_context io(1);
  auto acceptor = listen_on(io, {"127.0.0.1", 0});
  REQUIRE(acceptor.has_value());
  boost::system::error_code error;
  const auto local = acceptor->local_endpoint(error);
  LinkCaller caller(io, {"127.0.0.1", local.port()}, keys.of(1024));
  caller.transport.send(0, make_frame(kRequestType, 1024, 0));
  REQUIRE(run_until(
      io, [&] { return caller.transport.counters().dropped_not_connected == 1; }, seconds(5)));
  CHECK(caller.ups == 0);
  CHECK_FALSE(caller.transport.connected(0));
}

namespace {

// Connects, and says nothing.
struct Silent {
  Silent(boost::asio::io_context& io, const Endpoint& address) : socket(io) {
    socket.connect(to_asio(address));
  }
  Socket socket;
};

}  // namespace

TEST_CASE("links: a stranger that does not shake hands is closed after the time to connect") {
  const Keys keys;
  boost::asio::io_context io(1);
  TransportSettings settings = settings_with(keys.of(0));
  settings.connect_timeout = milliseconds(100);
  settings.stall_timeout = milliseconds(400);  // a quarter of it: how often it is looked for
  LinkServer server(io, settings);
  LinkCaller caller(io, server.transport->local_address(), keys.of(1024));
  const Silent silent(io, server.transport->local_address());
  REQUIRE(run_until(io, [&] { return server.transport->inbound() == 2 && caller.ups == 1; }));
  REQUIRE(run_until(io, [&] { return server.transport->inbound() == 1; }));
  CHECK(server.transport->counters().closed_stalled == 1);
  // A link that is secured may be silent.
  run_for(io, milliseconds(300));
  CHECK(server.transport->inbound() == 1);
  CHECK(caller.downs == 0);
}

TEST_CASE("links: strangers that do not shake hands crowd out each other alone") {
  const Keys keys;
  boost::asio::io_context io(1);
  TransportSettings settings = settings_with(keys.of(0));
  settings.unproven_connections_max = 2;
  LinkServer server(io, settings);
  LinkCaller caller(io, server.transport->local_address(), keys.of(1024));
  // A frame shows that the server is through with the handshake; it proves nothing.
  caller.transport.send(0, make_frame(kRequestType, 1024, 0));
  REQUIRE(run_until(io, [&] { return server.transport->counters().frames_received == 1; }));
  std::vector<std::unique_ptr<Silent>> strangers;
  strangers.reserve(10);
  for (int i = 0; i < 10; ++i)
    strangers.push_back(std::make_unique<Silent>(io, server.transport->local_address()));
  REQUIRE(run_until(io, [&] { return server.transport->counters().closed_evicted == 9; }));
  CHECK(server.transport->inbound() == 2);
  caller.transport.send(0, make_frame(kTellType, 1024, 0));
  caller.transport.send(0, make_frame(kRequestType, 1024, 0));
  REQUIRE(run_until(io, [&] { return caller.received.size() == 1; }));
  CHECK(caller.downs == 0);
}
