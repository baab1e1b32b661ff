// A whole group of running replicas on one event loop, with a client on real sockets.
#include "pbft/replica/replica_node.hpp"

#include <atomic>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "canonical/answer_form.hpp"
#include "pbft/client/client.hpp"
#include "pbft/transport/client_transport.hpp"
#include "support.hpp"
#include "support/captured_log.hpp"
#include "support/scripted_origin.hpp"
#include "tools/keys/keygen.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::test;
using prophecy::test::answer;
using prophecy::test::ScriptedOrigin;
using prophecy::test::Step;

namespace {

TimePoint now() {
  return std::chrono::steady_clock::now();
}

// Ports that were free a moment ago.
std::vector<Endpoint> free_addresses(std::size_t count) {
  boost::asio::io_context io(1);
  std::vector<Acceptor> acceptors;
  std::vector<Endpoint> addresses;
  for (std::size_t i = 0; i < count; ++i) {
    acceptors.push_back(std::move(*listen_on(io, {"127.0.0.1", 0})));
    addresses.push_back({"127.0.0.1", acceptors.back().local_endpoint().port()});
  }
  return addresses;
}

struct Group {
  Group(boost::asio::io_context& loop, const std::function<std::string(NodeId)>& service,
        bool has_stranger = false)
      : io(loop) {
    const auto addresses = free_addresses(4);
    REQUIRE(
        tools::generate_group({folder.path() / "g", 1, addresses, 1, has_stranger}).has_value());
    if (has_stranger) make_stranger(addresses);
    for (NodeId id = 0; id < 4; ++id) {
      std::ofstream(path(id)) << "[replica]\nid = " << id << "\ngroup = \""
                              << (has_stranger && id == 3 ? "group-3.toml" : "group.toml")
                              << "\"\nkey_file = \"replica-" << id << ".key\"\nadmin = \"replica-"
                              << id << ".sock\"\n[storage]\nfolder = \"store-" << id
                              << "\"\nsync = \"os\"\n[log]\nlevel = \"error\"\n[service]\n"
                              << service(id);
      REQUIRE(ReplicaStorage::init(*load_replica_identity(path(id))).has_value());
      start(id);
    }
  }
  ~Group() {
    for (NodeId id = 0; id < 4; ++id)
      stop(id);
  }

  // Replica 3 has a key that its own group file alone lists.
  void make_stranger(const std::vector<Endpoint>& addresses) {
    const auto other = folder.path() / "other";
    REQUIRE(tools::generate_group({other, 1, addresses, 1, true}).has_value());
    std::filesystem::copy_file(other / "replica-3.key", folder.path() / "g" / "replica-3.key",
                               std::filesystem::copy_options::overwrite_existing);
    std::string group = text_of(folder.path() / "g" / "group.toml");
    const std::string others = text_of(other / "group.toml");
    for (const std::string key : {"\npublic_key = ", "\npublic_signing_key = "}) {
      const auto line = [&](const std::string& text) {
        const std::size_t begin = text.find(key, text.find("\nid = 3\n"));
        return std::pair(begin, text.find('\n', begin + 1) - begin);
      };
      const auto [begin, size] = line(group);
      const auto [others_begin, others_size] = line(others);
      group.replace(begin, size, others.substr(others_begin, others_size));
    }
    std::ofstream(folder.path() / "g" / "group-3.toml") << group;
  }
  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::filesystem::path path(NodeId id) {
    return folder.path() / "g" / ("replica-" + std::to_string(id) + ".toml");
  }
  void start(NodeId id) {
    auto loaded = load_replica_identity(path(id));
    REQUIRE(loaded.has_value());
    identities[id] = std::make_unique<ReplicaIdentity>(std::move(*loaded));
    auto node = ReplicaNode::create(io, *identities[id], log);
    if (!node.has_value()) FAIL(node.error().message);
    nodes[id] = std::move(*node);
    nodes[id]->start();
  }
  // The node stays until the loop has let go of it.
  void stop(NodeId id) {
    if (!nodes[id]) return;
    nodes[id]->stop();
    stopped.push_back(std::move(nodes[id]));
  }
  // Each replica has learnt the keys of so many: three peers, and the clients.
  bool has_keys_of(std::size_t partners) {
    for (NodeId id = 0; id < 4; ++id) {
      if (status(id)["keys"]["learnt"] != partners) return false;
    }
    return true;
  }
  nlohmann::json status(NodeId id) { return nlohmann::json::parse(nodes[id]->status()); }

  boost::asio::io_context& io;
  TemporaryFolder folder;
  Logger log{"test", {LogLevel::error, LogFormat::text}};
  std::array<std::unique_ptr<ReplicaIdentity>, 4> identities;
  std::array<std::unique_ptr<ReplicaNode>, 4> nodes;
  std::vector<std::unique_ptr<ReplicaNode>> stopped;
};

// A client's core on a ClientTransport, as small as it can be.
struct NodeCaller {
  explicit NodeCaller(Group& group, std::uint32_t first_session = 0)
      : keys(*load_key_ring(group.identities[0]->group, kFirstClientId,
                            group.folder.path() / "g" / "client-1024.key")),
        key_exchange(keys, {.refresh_interval = seconds(600), .sessions = {first_session, 16}},
                     entropy),
        client(settings(first_session), keys),
        transport(group.io, {.frame_bytes_max = kFrameBytesMax},
                  group.identities[0]->group.addresses(),
                  {.on_frame =
                       [this](NodeId replica, ByteView frame) {
                         if (is_key_message(peek_header(frame)->type)) {
                           const auto step = key_exchange.on_link_frame(replica, frame, now());
                           if (step.answer) transport.send(replica, step.answer);
                           if (step.authentic) client.on_connected(replica, actions);
                         } else {
                           client.on_frame(frame, now(), actions);
                         }
                         settle();
                       },
                   .on_state =
                       [this](NodeId replica, bool connected) {
                         if (!connected) return key_exchange.on_disconnected(replica);
                         transport.send(replica, key_exchange.on_connected(replica, now()));
                       }}),
        timer(group.io, [this] {
          client.on_tick(now(), actions);
          settle();
        }) {
    key_exchange.start(now());
    transport.start();
  }
  ~NodeCaller() {
    timer.stop();
    transport.stop();
  }
  static ClientSettings settings(std::uint32_t first_session) {
    ClientSettings made;
    made.first_session = first_session;
    made.session_count = 16;
    // Of a later run than any before it, under the same id.
    made.first_timestamp = static_cast<std::uint64_t>(now().time_since_epoch().count());
    return made;
  }
  CallId call(const std::string& operation, CallKind kind) {
    const CallId id = client.submit(as_bytes(operation), kind, now() + seconds(8), now(), actions);
    settle();
    return id;
  }
  void settle() {
    for (Outgoing& outgoing : actions.sends) {
      last_sent = outgoing.frame;
      transport.send(outgoing.to, outgoing.frame);
    }
    for (Completion& completion : actions.completions)
      done[completion.call] = completion;
    actions.clear();
    timer.arm(client.next_timer());
  }

  KeyRing keys;
  SystemEntropy entropy;
  KeyExchange key_exchange;
  Client client;
  ClientTransport transport;
  CoreTimer timer;
  ClientActions actions;
  Frame last_sent;
  std::map<CallId, Completion> done;
};

std::string null_service(NodeId /*id*/) {
  return "kind = \"null\"\n";
}

}  // namespace

TEST_CASE("A group agrees on operations over real sockets") {
  boost::asio::io_context io(1);
  Group group(io, null_service);
  NodeCaller one(group, 0);
  NodeCaller two(group, 16);
  // What is called before there are session keys is sent again.
  REQUIRE(run_until(io, [&] { return group.has_keys_of(5); }));
  for (int i = 0; i < 100; ++i) {
    (void)one.call("write", CallKind::ordered);
    (void)two.call("read", CallKind::read_only);
  }
  REQUIRE(run_until(io, [&] { return one.done.size() == 100 && two.done.size() == 100; }));
  for (const auto& [id, completion] : one.done) {
    CHECK(completion.outcome == CallOutcome::agreed);
    CHECK(completion.sigma > 0);
  }
  for (const auto& [id, completion] : two.done)
    CHECK(completion.outcome == CallOutcome::agreed);
  // Backups answer at once clients of whom they have seen no request: they said hello.
  CHECK(one.client.counters().retransmissions == 0);
  REQUIRE(run_until(io, [&] { return group.status(3)["core"]["requests_executed"] == 100; }));
  CHECK(group.status(0)["primary"] == 0);
  CHECK(group.status(0)["peers"][0]["connected"] == true);
}

TEST_CASE("A socket full of one answered request brings a few answers") {
  boost::asio::io_context io(1);
  Group group(io, [](NodeId /*id*/) { return "kind = \"null\"\nanswer_bytes = \"1MiB\"\n"; });
  NodeCaller caller(group);
  REQUIRE(run_until(io, [&] { return group.has_keys_of(4); }));
  (void)caller.call("write", CallKind::ordered);
  const Frame request = caller.last_sent;
  REQUIRE(run_until(io, [&] { return caller.done.size() == 1; }));
  REQUIRE(run_until(io, [&] { return group.status(1)["core"]["requests_executed"] == 1; }));
  const TimePoint began = now();
  constexpr std::uint64_t kCopies = 600;
  for (std::uint64_t i = 0; i < kCopies; ++i)
    caller.transport.send(1, request);
  const auto repeated = [&]() -> std::uint64_t {
    return group.status(1)["core"]["replies_repeated"];
  };
  REQUIRE(run_until(io, [&] {
    return repeated() + group.status(1)["dropped"]["rate_limited"].get<std::uint64_t>() >= kCopies;
  }));
  CHECK(repeated() > 0);
  CHECK(static_cast<std::int64_t>(repeated()) <= 2 + (now() - began) / milliseconds(25));
}

TEST_CASE("One stopped backup changes nothing, and it catches up when it is back in time") {
  boost::asio::io_context io(1);
  Group group(io, null_service);
  NodeCaller caller(group);
  (void)caller.call("write", CallKind::ordered);
  REQUIRE(run_until(io, [&] { return caller.done.size() == 1; }));
  group.stop(2);
  for (int i = 0; i < 20; ++i)
    (void)caller.call("write", CallKind::ordered);
  REQUIRE(run_until(io, [&] { return caller.done.size() == 21; }));
  for (const auto& [id, completion] : caller.done) {
    CHECK(completion.outcome == CallOutcome::agreed);
  }
}

TEST_CASE("The group agrees on what its origins answer") {
  boost::asio::io_context io(1);
  std::array<std::unique_ptr<ScriptedOrigin>, 4> origins;
  for (NodeId id = 0; id < 4; ++id) {
    const std::string body = id == 3 ? "a lie" : "the page";
    origins[id] = std::make_unique<ScriptedOrigin>(io, std::deque<Step>{answer(body)});
  }
  Group group(io, [&](NodeId id) {
    return "kind = \"http\"\norigin = \"" + to_string(origins[id]->address()) + "\"\n";
  });
  NodeCaller caller(group);
  const CallId read = caller.call("GET / HTTP/1.1\r\nhost: x\r\n\r\n", CallKind::read_only);
  const CallId write =
      caller.call("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n", CallKind::ordered);
  REQUIRE(run_until(io, [&] { return caller.done.size() == 2; }));
  for (const CallId call : {read, write}) {
    REQUIRE(caller.done[call].outcome == CallOutcome::agreed);
    const auto form = sketch::decode(caller.done[call].result);
    REQUIRE(form.has_value());
    CHECK(form->body == "the page");
  }
  CHECK(caller.done[write].sigma > 0);
}

TEST_CASE("The admin socket tells the status and refuses anything else") {
  boost::asio::io_context io(1);
  Group group(io, null_service);
  const auto ask = [&](const std::string& line) {
    std::string answer;
    std::atomic<bool> answered = false;
    std::thread tool([&] {
      const auto result =
          admin_request(group.folder.path() / "g" / "replica-1.sock", line, seconds(5));
      answer = result.has_value() ? *result : result.error().message;
      answered = true;
    });
    CHECK(run_until(io, [&] { return answered.load(); }));
    tool.join();
    return nlohmann::json::parse(answer);
  };
  CHECK(ask(R"({"command":"status"})")["replica"] == 1);
  CHECK(ask(R"({"command":"halt"})").contains("error"));
  CHECK(ask("nonsense").contains("error"));
  CHECK(ask("[]").contains("error"));
  CHECK(ask(R"({"command":["status"]})").contains("error"));
}

TEST_CASE("A link that is refused again and again is logged once, on both sides") {
  const prophecy::test::CapturedLog captured;
  boost::asio::io_context io(1);
  Group group(io, null_service, true);
  // Replica 3 is through with its handshakes before the others have seen its key.
  REQUIRE(run_until(io, [&] {
    CHECK(group.status(3)["peers"][0]["connected"] == false);
    return group.status(3)["transport"]["closed_insecure"] >= 30 &&
           group.status(0)["peers"][0]["connected"] == true;
  }));
  for (const std::string peer : {"0", "1", "2"})
    CHECK(captured.lines_with("link-refused peer=" + peer) == 1);
  CHECK(captured.lines_with("link-refused peer=3") == 3);
}
