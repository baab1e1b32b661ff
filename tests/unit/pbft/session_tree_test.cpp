// The session table as a part of a state: what is kept of it, and what is none.
#include "pbft/core/execution/session_tree.hpp"

#include <catch2/catch.hpp>

#include "base/codec.hpp"
#include "pbft/every_batch.hpp"

namespace prophecy::pbft::test {
namespace {

Digest keep(PartStore& parts, const std::vector<Digest>& children, const Bytes& payload) {
  const Bytes part = encode_part(children, payload);
  REQUIRE(parts.keep(sha256(part), part));
  return sha256(part);
}

// The tree over the timestamps of a table in which these clients have these blocks of sessions.
struct BlocksOf {
  NodeId client;
  std::vector<std::uint16_t> blocks;
};

Digest order_tree(PartStore& parts, const std::vector<BlocksOf>& clients) {
  std::vector<Digest> nodes;
  for (const BlocksOf& of : clients) {
    std::vector<Digest> blocks;
    for (const std::uint16_t block : of.blocks) {
      Bytes payload;
      Writer writer(payload);
      writer.integer(of.client);
      writer.integer(block);
      for (std::uint32_t i = 0; i < kSessionsPerBlock; ++i)
        writer.integer(std::uint64_t{i});
      blocks.push_back(keep(parts, {}, payload));
    }
    Bytes payload;
    Writer(payload).integer(of.client);
    nodes.push_back(keep(parts, blocks, payload));
  }
  return keep(parts, nodes, Bytes(8 + sizeof(Digest) + 8));
}

// What the replies of a block say of one session.
struct ReplyRecord {
  std::uint8_t kind = 1;
  std::uint8_t form = 0;
  std::string_view sized;  // with form 1
};

// The tree over the replies of the first block's sessions from 1 on, with these parts below it.
Digest replies_tree(PartStore& parts, const std::vector<ReplyRecord>& replies,
                    const std::vector<Digest>& results = {}) {
  Bytes payload;
  Writer writer(payload);
  writer.integer(kClient);
  writer.integer(std::uint16_t{0});
  for (std::uint32_t i = 0; i < kSessionsPerBlock; ++i) {
    const bool is_named = i > 0 && i <= replies.size();
    writer.integer(is_named ? replies[i - 1].kind : std::uint8_t{0});
    if (!is_named || replies[i - 1].kind == 0) continue;
    writer.integer(std::uint64_t{i} << 16);
    writer.raw(sha256(as_bytes("result")));
    writer.integer(replies[i - 1].form);
    if (replies[i - 1].form == 1) writer.sized(as_bytes(replies[i - 1].sized));
  }
  Bytes client;
  Writer(client).integer(kClient);
  return keep(parts, {keep(parts, {keep(parts, results, payload)}, client)}, {});
}

}  // namespace

TEST_CASE("A session table names each client and each block once") {
  MemoryPartStore parts;
  ClientTable clients(1000);
  const auto loads = [&](const std::vector<BlocksOf>& table) {
    return load_sessions(parts, {order_tree(parts, table), Digest{}}, clients);
  };
  CHECK(loads({{kClient, {0, 2}}, {kClient + 1, {0}}}));
  CHECK(clients.find(kClient, 2 * kSessionsPerBlock + 5)->last_timestamp == 5);
  CHECK(clients.find(kClient + 1, 1)->last_timestamp == 1);
  CHECK_FALSE(loads({{kClient, {0, 0}}}));
  CHECK_FALSE(loads({{kClient, {2, 0}}}));
  CHECK_FALSE(loads({{kClient, {0}}, {kClient, {1}}}));
  CHECK_FALSE(loads({{kClient, {kSessionsMax / kSessionsPerBlock}}}));
  CHECK(clients.take_changes().empty());
}

TEST_CASE("A session table brings back each reply with its result, wherever that lies") {
  ClientTable before(std::uint64_t{1} << 20);
  const auto reply = [&](std::uint32_t number, ReplyStatus status, const std::string& result,
                         bool is_kept) {
    Session& session = before.session(kClient, number);
    before.begin(session, 100 + number);
    before.set_reply(session, status, Sigma{number} << 16, sha256(as_bytes(result)));
    if (is_kept) before.keep_result(session, to_bytes(result));
  };
  reply(0, ReplyStatus::done, "in the block", true);
  reply(1, ReplyStatus::done, std::string(5'000, 'a'), true);
  reply(2, ReplyStatus::done, "forgotten", false);
  reply(3, ReplyStatus::done, std::string(300'000, 'b'), true);  // in pieces
  reply(4, ReplyStatus::unavailable, "", true);
  before.begin(before.session(kClient, 5), 105);  // without a reply
  reply(kSessionsPerBlock, ReplyStatus::done, std::string(6'000, 'c'), true);

  MemoryPartStore parts;
  const auto [roots, is_order_kept] = SessionTree().build(before, {7, {}, 9}, parts);
  REQUIRE(is_order_kept);
  ClientTable after(std::uint64_t{1} << 20);
  REQUIRE(load_sessions(parts, roots, after));
  for (const std::uint32_t number : {0u, 1u, 2u, 3u, 4u, 5u, kSessionsPerBlock}) {
    CAPTURE(number);
    const Session* was = before.find(kClient, number);
    const Session* is = after.find(kClient, number);
    REQUIRE(is != nullptr);
    CHECK(is->last_timestamp == was->last_timestamp);
    constexpr auto kKnown = Session::Reply::known;
    REQUIRE((is->reply == kKnown) == (was->reply == kKnown));
    CHECK(is->status == was->status);
    CHECK(is->sigma == was->sigma);
    CHECK(is->digest == was->digest);
    CHECK(is->has_result == was->has_result);
    CHECK(to_bytes(as_text(is->result())) == to_bytes(as_text(was->result())));
  }
  CHECK_FALSE(after.find(kClient, 2)->has_result);
  CHECK(after.find(kClient, 3)->has_result);
}

// A store in memory with room for so much alone.
struct TightParts final : MemoryPartStore {
  explicit TightParts(std::size_t most) : bytes_max(most) {}
  bool keep(const Digest& digest, ByteView part) override {
    ++offered;
    return (holds(digest) || bytes() + part.size() <= bytes_max) &&
           MemoryPartStore::keep(digest, part);
  }
  std::size_t bytes_max;
  std::size_t offered = 0;
};

// No two pieces of it are the same.
Bytes result_of(std::size_t size, std::uint8_t number) {
  Bytes result(size, number);
  for (std::size_t at = 0; at + 1 < size; at += 4096) {
    result[at] = static_cast<std::uint8_t>(at >> 12);
    result[at + 1] = static_cast<std::uint8_t>(at >> 20);
  }
  return result;
}

void reply_with(ClientTable& clients, std::uint32_t number, const Bytes& result,
                NodeId client = kClient) {
  Session& session = clients.session(client, number);
  clients.begin(session, session.last_timestamp + 1);
  clients.set_reply(session, ReplyStatus::done, 1 << 16, sha256(result));
  clients.keep_result(session, result);
}

TEST_CASE("Results for which a store has no room are missing in a session table until it has") {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const bool is_tight = GENERATE(true, false);
  CAPTURE(is_tight);
  // With more room than that, 32 MiB are new in one table.
  TightParts parts(is_tight ? 2 * kMiB : 100 * kMiB);
  ClientTable clients(std::uint64_t{1} << 30);
  for (std::uint8_t number = 0; number < 10; ++number)
    reply_with(clients, number, result_of(is_tight ? kMiB : 12 * kMiB, number));
  reply_with(clients, 11, to_bytes("small"));
  SessionTree tree;
  const auto results_of_next = [&] {
    const auto [roots, is_order_kept] = tree.build(clients, {}, parts);
    REQUIRE(is_order_kept);
    REQUIRE(parts.pin(roots.order));
    REQUIRE(parts.pin(roots.replies));
    parts.sweep();
    ClientTable loaded(std::uint64_t{1} << 30);
    REQUIRE(load_sessions(parts, roots, loaded));
    CHECK(loaded.find(kClient, 11)->has_result);
    int results = 0;
    for (std::uint32_t number = 0; number < 10; ++number) {
      REQUIRE(loaded.find(kClient, number)->reply == Session::Reply::known);
      results += loaded.find(kClient, number)->has_result ? 1 : 0;
    }
    return results;
  };
  CHECK(results_of_next() == (is_tight ? 1 : 2));
  parts.bytes_max = 1000 * kMiB;
  CHECK(results_of_next() == (is_tight ? 10 : 4));
  CHECK(results_of_next() == (is_tight ? 10 : 6));
}

TEST_CASE("Large results keep no small ones out of a session table") {
  MemoryPartStore parts;
  ClientTable clients(std::uint64_t{1} << 30);
  for (std::uint8_t number = 0; number < 3; ++number)
    reply_with(clients, number, result_of(std::size_t{12} << 20, number));
  reply_with(clients, 0, to_bytes("small"), kClient + 1);
  const SessionTree::Roots roots = SessionTree().build(clients, {}, parts).roots;
  ClientTable loaded(std::uint64_t{1} << 30);
  REQUIRE(load_sessions(parts, roots, loaded));
  CHECK_FALSE(loaded.find(kClient, 2)->has_result);
  CHECK(loaded.find(kClient + 1, 0)->has_result);
}

TEST_CASE("A session table is named though a store refuses its parts, and leaves none there") {
  TightParts parts(0);
  ClientTable clients(1'000'000);
  for (std::uint8_t number = 0; number < 20; ++number)
    reply_with(clients, number, Bytes(5'000, number));
  SessionTree tree;
  const auto refused = tree.build(clients, {}, parts);
  CHECK_FALSE(refused.is_order_kept);
  CHECK(refused.roots.replies == Digest{});
  CHECK(parts.parts() == 0);
  CHECK(parts.offered <= 7);  // no result behind the first that was refused
  // Room for the order alone: a block, its client and the root.
  parts.bytes_max = 800;
  const auto named = tree.build(clients, {}, parts);
  CHECK(named.is_order_kept);
  CHECK(named.roots.order == refused.roots.order);
  CHECK(named.roots.replies == Digest{});
  CHECK(parts.parts() == 3);
  parts.bytes_max = 100'000;
  const auto whole = tree.build(clients, {}, parts);
  CHECK(whole.is_order_kept);
  CHECK(whole.roots.order == refused.roots.order);
  ClientTable loaded(1'000'000);
  REQUIRE(load_sessions(parts, whole.roots, loaded));
  CHECK(loaded.find(kClient, 0)->has_result);
}

TEST_CASE("A checkpoint is claimed though the store has no room for its sessions") {
  Subject backup(1, every_batch());
  backup.parts.refuses_all = true;
  backup.tells_state = false;
  const CheckpointMessage claim = execute_one(backup);
  CHECK(claim.order != Digest{});
  CHECK(claim.replies == Digest{});
  CHECK(claim.service == Digest{});
  // It says the same of the order as the others, so it becomes stable.
  for (const NodeId peer : {0u, 2u})
    backup.feed(encode_checkpoint(1, claim.order, {}, {}, ring(peer)));
  CHECK(backup.replica.status().last_stable == 1);
}

TEST_CASE("A reply of a kind or a form that there is not makes a session table none") {
  MemoryPartStore parts;
  const Digest order = order_tree(parts, {{kClient, {0}}});
  const Digest result = keep(parts, {}, to_bytes("result"));
  ClientTable clients(1000);
  const auto loads = [&](const std::vector<ReplyRecord>& replies,
                         const std::vector<Digest>& results = {}) {
    return load_sessions(parts, {order, replies_tree(parts, replies, results)}, clients);
  };
  CHECK(loads({{1, 0, {}}, {1, 1, "result"}, {2, 2, {}}}, {result}));
  CHECK_FALSE(clients.find(kClient, 1)->has_result);
  CHECK(clients.find(kClient, 2)->has_result);
  CHECK(clients.find(kClient, 3)->has_result);
  CHECK_FALSE(loads({{3, 0, {}}}));
  CHECK_FALSE(loads({{1, 3, {}}}));
  CHECK_FALSE(loads({{1, 2, {}}}));  // in a child that is not there
  // A result of another digest is no result, and no harm either.
  CHECK(loads({{1, 1, "other"}}));
  CHECK_FALSE(clients.find(kClient, 1)->has_result);
}

}  // namespace prophecy::pbft::test
