// The two transports against each other and against hostile peers, over real sockets of this
// machine, on ports that the system chooses.
#include <catch2/catch.hpp>

#include "pbft/transport/client_transport.hpp"
#include "transport_peers.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::test;

namespace {

// A client, which proves its connection as soon as it is there.
struct Caller {
  Caller(boost::asio::io_context& io, const Endpoint& address)
      : transport(io, small_settings(), {address},
                  {.on_frame =
                       [this](NodeId, ByteView frame) {
                         received.emplace_back(frame.begin(), frame.end());
                       },
                   .on_state =
                       [this](NodeId, bool up) {
                         if (up && ++ups > 1) prove();
                       }}) {
    transport.start();
    prove();
  }
  ~Caller() { transport.stop(); }
  void prove() { transport.send(0, make_frame(kTell, 1024, 0)); }

  std::vector<Bytes> received;
  int ups = 0;
  ClientTransport transport;
};

// Replica 0, and the port at which its peer would listen.
struct ReplicaZero {
  ReplicaZero() { transport.start(); }

  boost::asio::io_context io{1};
  Result<Acceptor> own = listen_on(io, kAnyPort);
  Result<Acceptor> others = listen_on(io, kAnyPort);
  const std::vector<Endpoint> addresses = {{"127.0.0.1", own->local_endpoint().port()},
                                           {"127.0.0.1", others->local_endpoint().port()}};
  Echo echo;
  ReplicaTransport transport{io, small_settings(), {0, addresses}, std::move(*own), echo};
};

}  // namespace

TEST_CASE("A key message is answered on its connection, before anybody is known") {
  boost::asio::io_context io(1);
  Server server(io);
  {
    Caller caller(io, server.transport->local_address());
    const auto ask = static_cast<std::uint8_t>(MessageType::key_ask);
    caller.transport.send(0, make_frame(ask, 1024, 0));
    REQUIRE(run_until(io, [&] { return caller.received.size() == 1; }));
    CHECK(caller.received[0] == *make_frame(ask, 1024, 0));
  }
  CHECK(server.echo.key_frames == 1);
  CHECK(server.echo.frames == 0);
  CHECK(run_until(io, [&] { return server.echo.closed == 1; }));
}

TEST_CASE("Requests of any size reach the replica, and its answers come back") {
  boost::asio::io_context io(1);
  Server server(io);
  Caller caller(io, server.transport->local_address());
  const std::size_t paddings[] = {0, 1, 65'526, 65'536, 3 << 20, 10};
  for (const std::size_t padding : paddings) {
    caller.transport.send(0, make_frame(kRequest, 1024, 3, padding));
  }
  REQUIRE(run_until(io, [&] { return caller.received.size() == std::size(paddings); }));
  for (std::size_t i = 0; i < std::size(paddings); ++i) {
    CHECK(caller.received[i] == *make_frame(kRequest, 1024, 3, paddings[i]));
  }
  CHECK(caller.transport.counters().frames_sent == 1 + std::size(paddings));
  CHECK(server.transport->counters().frames_received == 1 + std::size(paddings));
}

TEST_CASE("Processes that share a client's id are told apart by their sessions") {
  boost::asio::io_context io(1);
  Server server(io);
  Caller one(io, server.transport->local_address());
  Caller two(io, server.transport->local_address());
  for (std::uint32_t i = 0; i < 50; ++i) {
    one.transport.send(0, make_frame(kRequest, 1024, i));
    two.transport.send(0, make_frame(kRequest, 1024, 100 + i));
  }
  REQUIRE(run_until(io, [&] { return one.received.size() == 50 && two.received.size() == 50; }));
  for (const Bytes& answer : one.received)
    CHECK(peek_header(answer)->session < 100);
  for (const Bytes& answer : two.received)
    CHECK(peek_header(answer)->session >= 100);
}

TEST_CASE("Whoever plays a client's requests again gets no answers, nor keeps them from it") {
  boost::asio::io_context io(1);
  Server server(io);
  const Endpoint address = server.transport->local_address();
  const Frame recorded = make_frame(kRequest, 1024, 7);
  RawPeer thief(io, address);
  RawPeer second_thief(io, address);
  const auto play = [&](RawPeer& by) {
    const std::size_t expected = server.echo.frames + 1;
    by.send_frame(recorded);
    REQUIRE(run_until(io, [&] { return server.echo.frames == expected; }));
  };
  {
    Caller caller(io, address);
    caller.transport.send(0, recorded);
    REQUIRE(run_until(io, [&] { return caller.received.size() == 1; }));
    play(thief);
    // The answer comes here.
    REQUIRE(run_until(io, [&] { return caller.received.size() == 2; }));
  }
  REQUIRE(run_until(io, [&] { return server.echo.closed == 1; }));
  play(thief);
  CHECK(server.transport->counters().dropped_not_connected == 1);
  Caller again(io, address);
  again.transport.send(0, recorded);
  REQUIRE(run_until(io, [&] { return again.received.size() == 1; }));
  play(second_thief);
  play(thief);
  REQUIRE(run_until(io, [&] { return again.received.size() == 3; }));
  run_for(io, milliseconds(20));
  CHECK(thief.socket.available() == 0);
  CHECK(second_thief.socket.available() == 0);
}

TEST_CASE("What is not authentic draws nothing, on a connection that is proven") {
  boost::asio::io_context io(1);
  Server server(io);
  server.echo.authentic = false;
  RawPeer liar(io, server.transport->local_address());
  liar.send_frame(make_frame(kTell, 1024, 0));
  liar.send_frame(make_frame(kRequest, 1024, 8));
  REQUIRE(run_until(io, [&] { return server.echo.frames == 1; }));
  server.transport->send_to_client(1024, 8, make_frame(kRequest, 1024, 8));
  CHECK(server.transport->counters().dropped_not_connected == 1);
}

TEST_CASE("A part is taken from the member alone that has proven its connection") {
  boost::asio::io_context io(1);
  Server server(io);
  RawPeer peer(io, server.transport->local_address());
  const auto dropped = [&] { return server.transport->counters().dropped_unproven; };
  peer.send_frame(make_frame(kPart, 1024, 0));
  REQUIRE(run_until(io, [&] { return dropped() == 1; }));
  peer.send_frame(make_frame(kTell, 1024, 0));
  peer.send_frame(make_frame(kPart, 1025, 0));
  peer.send_frame(make_frame(kPart, 1024, 0));
  REQUIRE(run_until(io, [&] { return server.echo.frames == 1; }));
  CHECK(server.echo.last == *make_frame(kPart, 1024, 0));
  CHECK(dropped() == 2);
}

TEST_CASE("A client comes back by itself when the replica does") {
  boost::asio::io_context io(1);
  auto server = std::make_unique<Server>(io);
  const Endpoint address = server->transport->local_address();
  Caller caller(io, address);
  REQUIRE(run_until(io, [&] { return caller.ups == 1; }));
  // A replica that has said nothing yet may be none.
  CHECK_FALSE(caller.transport.connected(0));
  caller.transport.send(0, make_frame(kRequest, 1024, 0));
  REQUIRE(run_until(io, [&] { return caller.transport.connected(0); }));
  server.reset();
  REQUIRE(run_until(io, [&] { return !caller.transport.connected(0); }));
  caller.received.clear();
  run_for(io, milliseconds(50));
  caller.transport.send(0, make_frame(kRequest, 1024, 1));

  server = std::make_unique<Server>(io, small_settings(), address);
  REQUIRE(run_until(io, [&] { return caller.ups == 2; }));
  caller.transport.send(0, make_frame(kRequest, 1024, 2));
  REQUIRE(run_until(io, [&] { return !caller.received.empty(); }));
  CHECK(peek_header(caller.received.back())->session == 2);
}

TEST_CASE("Replicas send over their own connections and see their peers go") {
  boost::asio::io_context io(1);
  auto first = listen_on(io, kAnyPort);
  auto second = listen_on(io, kAnyPort);
  REQUIRE((first.has_value() && second.has_value()));
  const std::vector<Endpoint> addresses = {{"127.0.0.1", first->local_endpoint().port()},
                                           {"127.0.0.1", second->local_endpoint().port()}};
  Echo echo[2];
  ReplicaTransport zero(io, small_settings(), {0, addresses}, std::move(*first), echo[0]);
  auto one = std::make_unique<ReplicaTransport>(
      io, small_settings(), ReplicaTransportParts{1, addresses}, std::move(*second), echo[1]);
  zero.start();
  one->start();
  zero.send_to_replica(1, make_frame(kPrepare, 0, 0));
  REQUIRE(run_until(io, [&] { return echo[1].frames == 1 && echo[1].peers[0]; }));
  CHECK(echo[1].last == *make_frame(kPrepare, 0, 0));
  CHECK(echo[0].peers[1]);
  one->stop();
  REQUIRE(run_until(io, [&] { return !echo[0].peers[1]; }));
  zero.stop();
}

TEST_CASE_METHOD(ReplicaZero, "No part is taken on a link that this replica has opened") {
  REQUIRE(run_until(io, [&] { return echo.ups == 1; }));
  Socket accepted(io);
  others->accept(accepted);
  Bytes bytes;
  for (const std::uint8_t type : {kPart, kPrepare})
    Writer(bytes).sized(*make_frame(type, 1, 0));
  boost::asio::write(accepted, boost::asio::buffer(bytes));
  REQUIRE(run_until(io, [&] { return echo.frames == 1; }));
  CHECK(echo.last == *make_frame(kPrepare, 1, 0));
  CHECK(transport.counters().dropped_unproven == 1);
  transport.stop();
}

TEST_CASE_METHOD(ReplicaZero,
                 "A peer is gone when its connection has ended and another is refused") {
  const auto reset = [&] {
    Socket accepted(io);
    others->accept(accepted);
    accepted.set_option(boost::asio::socket_base::linger(true, 0));
    accepted.close();
  };
  REQUIRE(run_until(io, [&] { return echo.ups == 1; }));

  SECTION("A reset alone shows nothing, however often") {
    for (int connections = 2; connections < 5; ++connections) {
      reset();
      REQUIRE(run_until(io, [&] { return echo.ups == connections; }));
    }
    CHECK(echo.gone.empty());
    transport.stop();
  }
  SECTION("Refused once, refused often: it is told once") {
    reset();
    others->close();
    REQUIRE(run_until(io, [&] { return !echo.gone.empty(); }));
    run_for(io, milliseconds(150));
    CHECK(echo.gone == std::vector<NodeId>{1});
    transport.stop();
  }
}

TEST_CASE("A peer that was never there is not gone") {
  boost::asio::io_context io(1);
  auto own = listen_on(io, kAnyPort);
  REQUIRE(own.has_value());
  Endpoint nobody;
  {
    const auto closed = listen_on(io, kAnyPort);
    nobody = {"127.0.0.1", closed->local_endpoint().port()};
  }
  Echo echo;
  const Endpoint address{"127.0.0.1", own->local_endpoint().port()};
  ReplicaTransport transport(io, small_settings(), {0, {address, nobody}}, std::move(*own), echo);
  transport.start();
  run_for(io, milliseconds(100));
  CHECK(echo.gone.empty());
  transport.stop();
}

TEST_CASE("A frame length out of bounds ends the connection, after what came before it") {
  boost::asio::io_context io(1);
  Server server(io);
  RawPeer peer(io, server.transport->local_address());
  Bytes bytes;
  Writer writer(bytes);
  writer.sized(*make_frame(kPrepare, 1, 0));
  writer.integer(std::uint32_t{0xfffffff0});
  peer.send(bytes);
  REQUIRE(
      run_until(io, [&] { return server.transport->inbound() == 0 && server.echo.frames == 1; }));
  CHECK(server.transport->counters().closed_garbage == 1);
  CHECK(peer.is_closed());
}

TEST_CASE("An incomplete frame is not waited for for ever") {
  boost::asio::io_context io(1);
  TransportSettings settings = small_settings();
  settings.stall_timeout = milliseconds(80);
  Server server(io, settings);
  RawPeer slow(io, server.transport->local_address());
  RawPeer idle(io, server.transport->local_address());
  const std::uint8_t half_a_prefix[] = {1, 0};
  slow.send(half_a_prefix);
  REQUIRE(run_until(io, [&] { return server.transport->counters().closed_stalled == 1; }));
  CHECK(slow.is_closed());
  CHECK_FALSE(idle.is_closed());
}

TEST_CASE("A client that takes nothing is closed, and its frames are dropped within bounds") {
  boost::asio::io_context io(1);
  TransportSettings settings = small_settings();
  settings.stall_timeout = milliseconds(150);
  settings.queue_bytes_max = 1 << 20;
  Server server(io, settings);
  RawPeer deaf(io, server.transport->local_address());
  deaf.send_frame(make_frame(kTell, 1024, 0));
  deaf.send_frame(make_frame(kRequest, 1024, 0));
  REQUIRE(run_until(io, [&] { return server.echo.frames == 1; }));
  for (int i = 0; i < 200; ++i) {
    server.transport->send_to_client(1024, 0, make_frame(kRequest, 1024, 0, 256 << 10));
    run_for(io, microseconds(100));
  }
  CHECK(server.transport->counters().dropped_queue_full > 0);
  REQUIRE(run_until(io, [&] { return server.transport->counters().closed_stalled == 1; }));
}

TEST_CASE("Strangers crowd out only strangers, and a member only itself") {
  boost::asio::io_context io(1);
  TransportSettings settings = small_settings();
  settings.unproven_connections_max = 3;
  settings.connections_per_replica_max = 2;
  Server server(io, settings);
  const Endpoint address = server.transport->local_address();
  RawPeer member(io, address);
  member.send_frame(make_frame(kTell, 1024, 0));
  REQUIRE(run_until(io, [&] { return server.echo.tells == 1; }));

  // What they send is authentic: they have recorded it.
  std::vector<std::unique_ptr<RawPeer>> strangers;
  for (int i = 0; i < 10; ++i) {
    strangers.push_back(std::make_unique<RawPeer>(io, address));
    strangers.back()->send_frame(make_frame(kRequest, 1025, 0));
  }
  REQUIRE(run_until(io, [&] { return server.transport->counters().accepted == 11; }));
  run_for(io, milliseconds(20));
  CHECK(server.transport->counters().closed_evicted == 7);
  CHECK_FALSE(member.is_closed());
  CHECK(strangers[0]->is_closed());
  CHECK_FALSE(strangers[9]->is_closed());

  std::vector<std::unique_ptr<RawPeer>> greedy;
  for (int i = 0; i < 4; ++i) {
    greedy.push_back(std::make_unique<RawPeer>(io, address));
    greedy.back()->send_frame(make_frame(kTell, 2, 0));
    const std::size_t expected = server.echo.tells + 1;
    REQUIRE(run_until(io, [&] { return server.echo.tells == expected; }));
  }
  CHECK(server.transport->counters().closed_crowded == 2);
  // The oldest and the newest stay.
  CHECK_FALSE(greedy[0]->is_closed());
  CHECK(greedy[1]->is_closed());
  CHECK(greedy[2]->is_closed());
  CHECK_FALSE(greedy[3]->is_closed());
  CHECK_FALSE(member.is_closed());
}

TEST_CASE("Incomplete frames of strangers are bounded together") {
  boost::asio::io_context io(1);
  TransportSettings settings = small_settings();
  settings.unproven_bytes_max = 300'000;
  Server server(io, settings);
  RawPeer first(io, server.transport->local_address());
  RawPeer second(io, server.transport->local_address());
  Bytes bytes;
  Writer(bytes).integer(std::uint32_t{1 << 20});
  bytes.resize(200'000);
  first.send(bytes);
  REQUIRE(run_until(io, [&] { return server.transport->counters().bytes_received == 200'000; }));
  CHECK(server.transport->counters().closed_evicted == 0);
  second.send(bytes);
  REQUIRE(run_until(io, [&] { return server.transport->counters().closed_evicted == 1; }));
  CHECK(first.is_closed());
  CHECK_FALSE(second.is_closed());
}

TEST_CASE("A port in use is one clear line") {
  boost::asio::io_context io(1);
  Server server(io);
  const auto again = listen_on(io, server.transport->local_address());
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().message == "cannot listen on " +
                                     to_string(server.transport->local_address()) +
                                     ": Address already in use");
}
