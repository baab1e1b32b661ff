// Places and memory of a replica's accepted connections: neither clients nor strangers keep a
// replica out, no member takes another's share, and a slow peer is told apart from one that
// pretends to be slow.
#include <algorithm>

#include <catch2/catch.hpp>

#include "transport_peers.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::test;
using prophecy::test::kPatience;

namespace {

using Peers = std::vector<std::unique_ptr<RawPeer>>;

struct Loop {
  boost::asio::io_context io{1};
};

struct World : Loop, Server {
  explicit World(const TransportSettings& settings) : Server(io, settings) {}

  std::unique_ptr<RawPeer> stranger() {
    return std::make_unique<RawPeer>(io, transport->local_address());
  }
  // It is proven to be this member's.
  std::unique_ptr<RawPeer> peer_of(NodeId member) {
    auto peer = stranger();
    prove(*peer, member);
    return peer;
  }
  void prove(RawPeer& peer, NodeId member) {
    const std::size_t expected = echo.tells + 1;
    peer.send_frame(make_frame(kTell, member, 0));
    REQUIRE(run_until(
        io, [&] { return echo.tells == expected; }, seconds(1)));
  }
  // Answers to this session go to that peer from now on.
  void route(RawPeer& peer, NodeId client, std::uint32_t session) {
    const std::size_t expected = echo.frames + 1;
    peer.send_frame(make_frame(kRequest, client, session));
    REQUIRE(run_until(io, [&] { return echo.frames == expected; }));
  }
  TransportCounters counters() const { return transport->counters(); }
};

std::size_t open_ones(const Peers& peers) {
  return static_cast<std::size_t>(std::count_if(
      peers.begin(), peers.end(), [](const auto& peer) { return !peer->is_closed(); }));
}

// Answers to clients, and how many of their bytes are still in memory.
struct Answers {
  Frame make(NodeId client, std::size_t bytes) {
    Frame frame = make_frame(kRequest, client, 0, bytes);
    made.push_back(frame);
    return frame;
  }
  std::size_t held_bytes() const {
    std::size_t sum = 0;
    for (const auto& each : made) {
      if (const Frame frame = each.lock()) sum += frame->size();
    }
    return sum;
  }
  std::vector<std::weak_ptr<const Bytes>> made;
};

// The first bytes of a frame that never ends.
Bytes incomplete(std::size_t size) {
  Bytes bytes;
  Writer(bytes).integer(std::uint32_t{1 << 20});
  bytes.resize(size);
  return bytes;
}

// Reads no more than it wants to.
std::size_t read_from(RawPeer& peer, std::size_t most) {
  peer.socket.non_blocking(true);
  std::vector<char> bytes(most);
  boost::system::error_code error;
  return peer.socket.read_some(boost::asio::buffer(bytes), error);
}

}  // namespace

TEST_CASE("Clients that hold all places keep out neither a replica nor another client") {
  TransportSettings settings = small_settings();
  settings.connections_max = 16;
  settings.connections_per_client_max = 4;
  World world(settings);
  std::vector<Peers> greedy(4);
  for (NodeId i = 0; i < greedy.size(); ++i) {
    for (int place = 0; place < 4; ++place)
      greedy[i].push_back(world.peer_of(kFirstClientId + i));
  }
  const auto replica = world.stranger();
  const auto fifth = world.stranger();
  Peers connecting;
  for (int i = 0; i < 50; ++i) {
    connecting.push_back(world.stranger());
    run_for(world.io, milliseconds(1));
  }
  world.prove(*replica, 1);
  replica->send_frame(make_frame(kPart, 1, 0));
  REQUIRE(run_until(
      world.io, [&] { return world.echo.frames == 1; }, seconds(1)));
  CHECK(world.counters().closed_limit == 0);

  const NodeId honest = kFirstClientId + 4;
  world.prove(*fifth, honest);
  world.route(*fifth, honest, 0);
  REQUIRE(run_until(
      world.io, [&] { return fifth->socket.available() > 0; }, seconds(1)));
  CHECK(world.counters().closed_limit == 1);
  for (const Peers& peers : greedy)
    CHECK(open_ones(peers) >= 3);
}

TEST_CASE("When places are short, clients have equal shares, and none takes another's") {
  TransportSettings settings = small_settings();
  settings.connections_max = 4;
  settings.connections_per_client_max = 4;
  World world(settings);
  Peers one;
  Peers other;
  for (int i = 0; i < 4; ++i)
    one.push_back(world.peer_of(1024));
  for (int i = 0; i < 2; ++i)
    other.push_back(world.peer_of(1025));
  CHECK(open_ones(one) == 2);
  for (int i = 0; i < 4; ++i)
    one.push_back(world.peer_of(1024));
  CHECK(open_ones(one) == 2);
  CHECK(open_ones(other) == 2);
  // Its oldest and its newest.
  CHECK_FALSE(one.front()->is_closed());
  CHECK_FALSE(one.back()->is_closed());
}

TEST_CASE("Links of replicas take no places of clients, and are bounded for each replica") {
  TransportSettings settings = small_settings();
  settings.connections_max = 2;
  settings.connections_per_replica_max = 3;
  World world(settings);
  const auto client = world.peer_of(1024);
  Peers links;
  for (int i = 0; i < 5; ++i)
    links.push_back(world.peer_of(1));
  const auto other = world.peer_of(2);
  CHECK(world.counters().closed_crowded == 2);
  CHECK(open_ones(links) == 3);
  CHECK_FALSE(links.back()->is_closed());
  CHECK_FALSE(client->is_closed());
  CHECK_FALSE(other->is_closed());
}

TEST_CASE("Unsent bytes of a client are bounded on all its connections together") {
  TransportSettings settings = small_settings();
  settings.unsent_bytes = {.per_member = 1 << 20, .clients = 4 << 20};
  World world(settings);
  const auto other = world.peer_of(1025);
  world.route(*other, 1025, 0);
  Peers peers;
  constexpr std::uint32_t kConnections = 12;
  for (std::uint32_t i = 0; i < kConnections; ++i) {
    peers.push_back(world.peer_of(1024));
    world.route(*peers.back(), 1024, i);
  }
  Answers answers;
  std::size_t most = 0;
  for (int i = 0; i < 40; ++i) {
    for (std::uint32_t session = 0; session < kConnections; ++session)
      world.transport->send_to_client(1024, session, answers.make(1024, 256 << 10));
    most = std::max(most, answers.held_bytes());
    for (const auto& peer : peers)
      (void)read_from(*peer, 1024);
    run_for(world.io, milliseconds(2));
  }
  CHECK(most > 512 << 10);
  CHECK(most <= 1 << 20);
  CHECK(world.counters().dropped_queue_full > 0);

  // Another client's answer comes whole.
  const Frame whole = make_frame(kRequest, 1025, 0, 900 << 10);
  world.transport->send_to_client(1025, 0, whole);
  std::size_t got = 0;
  const std::size_t all = 4 + make_frame(kRequest, 1025, 0)->size() + 4 + whole->size();
  CHECK(run_until(world.io, [&] { return (got += read_from(*other, 1 << 20)) == all; }));
}

TEST_CASE("A connection goes when the first frames of all are half sent and hold too much") {
  TransportSettings settings = small_settings();
  settings.unsent_bytes = {.per_member = 5 << 20, .clients = 64 << 20};
  World world(settings);
  Peers peers;
  Answers answers;
  // Each frame but its last bytes fits into the system's buffers, more or less.
  for (std::uint32_t i = 0; i < 4; ++i) {
    peers.push_back(world.peer_of(1024));
    world.route(*peers.back(), 1024, i);
    for (int frame = 0; frame < 4; ++frame) {
      world.transport->send_to_client(1024, i, answers.make(1024, 3 << 20));
      run_for(world.io, milliseconds(20));
      CHECK(answers.held_bytes() <= 5 << 20);
    }
  }
  CHECK(world.counters().closed_overfull > 0);
  CHECK(world.transport->inbound() > 0);
}

TEST_CASE("Unsent bytes of all clients are bounded, at the expense of those with most") {
  TransportSettings settings = small_settings();
  settings.unsent_bytes = {.per_member = 1 << 20, .clients = 2 << 20};
  World world(settings);
  const auto honest = world.peer_of(1024);
  world.route(*honest, 1024, 0);
  Peers greedy;
  for (NodeId client = 1025; client < 1031; ++client) {
    greedy.push_back(world.peer_of(client));
    world.route(*greedy.back(), client, 0);
  }
  Answers answers;
  for (int i = 0; i < 40; ++i) {
    for (NodeId client = 1025; client < 1031; ++client)
      world.transport->send_to_client(client, 0, answers.make(client, 128 << 10));
    CHECK(answers.held_bytes() <= 2 << 20);
    run_for(world.io, milliseconds(2));
  }
  const Frame whole = make_frame(kRequest, 1024, 0, 200 << 10);
  world.transport->send_to_client(1024, 0, whole);
  for (NodeId client = 1025; client < 1031; ++client)
    world.transport->send_to_client(client, 0, answers.make(client, 128 << 10));
  std::size_t got = 0;
  const std::size_t all = 4 + make_frame(kRequest, 1024, 0)->size() + 4 + whole->size();
  CHECK(run_until(world.io, [&] { return (got += read_from(*honest, 1 << 20)) == all; }));
}

TEST_CASE("Incomplete frames of a member are bounded on all its connections together") {
  TransportSettings settings = small_settings();
  settings.pending_bytes = {.per_member = 500'000, .clients = 1'000'000};
  World world(settings);
  const NodeId member = GENERATE(NodeId{1}, kFirstClientId);
  const auto other = world.peer_of(1025);
  const auto received = [&](std::size_t before, std::size_t size) {
    return run_until(world.io, [&] { return world.counters().bytes_received == before + size; });
  };
  std::size_t before = world.counters().bytes_received;
  other->send(incomplete(300'000));
  REQUIRE(received(before, 300'000));
  Peers peers;
  for (int i = 0; i < 6; ++i) {
    peers.push_back(world.peer_of(member));
    before = world.counters().bytes_received;
    peers.back()->send(incomplete(200'000));
    REQUIRE(received(before, 200'000));
  }
  CHECK(open_ones(peers) == 2);
  CHECK(world.counters().closed_overfull == 4);
  CHECK_FALSE(other->is_closed());
}

TEST_CASE("Incomplete frames of all clients are bounded, and those of replicas are none of them") {
  TransportSettings settings = small_settings();
  settings.pending_bytes = {.per_member = 500'000, .clients = 1'000'000};
  World world(settings);
  const auto replica = world.peer_of(1);
  replica->send(incomplete(400'000));
  Peers clients;
  std::size_t sent = world.counters().bytes_received + 400'000;
  for (NodeId client = 1024; client < 1032; ++client) {
    clients.push_back(world.peer_of(client));
    sent += 4 + make_frame(kTell, client, 0)->size();
    clients.back()->send(incomplete(300'000));
    sent += 300'000;
    REQUIRE(run_until(world.io, [&] { return world.counters().bytes_received == sent; }));
  }
  CHECK(open_ones(clients) == 3);
  CHECK_FALSE(replica->is_closed());
}

TEST_CASE("A peer that takes a little now and then is stalled") {
  TransportSettings settings = small_settings();
  settings.stall_timeout = milliseconds(600);
  settings.stall_bytes = 8 << 20;
  World world(settings);
  const auto slow = world.peer_of(1024);
  world.route(*slow, 1024, 0);
  Answers answers;
  for (int i = 0; i < 8; ++i)
    world.transport->send_to_client(1024, 0, answers.make(1024, 4'000'000));
  // Its socket is writable time and again, but not for half of what it has to take.
  const auto is_closed = [&] {
    (void)read_from(*slow, 64 << 10);
    run_for(world.io, milliseconds(10));
    return world.counters().closed_stalled == 1;
  };
  CHECK(run_until(world.io, is_closed, seconds(4)));
}

TEST_CASE("A peer that is slow and steady gets all of its answer") {
  TransportSettings settings = small_settings();
  settings.frame_bytes_max = 16 << 20;
  settings.stall_timeout = seconds(1);
  World world(settings);
  // Between two times at which its socket is writable lies more than `stall_timeout`.
  const auto slow = std::make_unique<RawPeer>(world.io);
  slow->socket.open(boost::asio::ip::tcp::v4());
  slow->socket.set_option(boost::asio::socket_base::receive_buffer_size(256 << 10));
  slow->socket.connect(to_asio(world.transport->local_address()));
  world.prove(*slow, 1024);
  world.route(*slow, 1024, 0);
  const Frame answer = make_frame(kRequest, 1024, 0, 5 << 20);
  world.transport->send_to_client(1024, 0, answer);
  const std::size_t all = 4 + make_frame(kRequest, 1024, 0)->size() + 4 + answer->size();
  std::size_t got = 0;
  const auto is_over = [&] {
    got += read_from(*slow, 64 << 10);
    run_for(world.io, milliseconds(80));
    return got == all || world.counters().closed_stalled > 0;
  };
  CHECK(run_until(world.io, is_over, 3 * kPatience));
  CHECK(got == all);
}
