// Requests that are ordered by digest: their bodies come apart from them, and nothing is said about
// them before.
#include <algorithm>
#include <functional>

#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/shell/map_part_store.hpp"
#include "pbft/wire/body.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

TEST_CASE("A tree names the bytes, and every part of it proves itself") {
  const auto root = tree().part(tree().name().root);
  REQUIRE(root.has_value());
  CHECK(tree().name().size == 450);
  CHECK(sha256(*root) == tree().name().root);
  const auto leaves = decode_body_root(*root, 450);
  REQUIRE(leaves.has_value());
  CHECK(leaves->size() == 5);
  Bytes all;
  for (const Digest& leaf : *leaves) {
    const auto part = tree().part(leaf);
    REQUIRE(part.has_value());
    CHECK(sha256(*part) == leaf);
    const auto bytes = decode_body_leaf(*part);
    REQUIRE(bytes.has_value());
    all.insert(all.end(), bytes->begin(), bytes->end());
  }
  CHECK(all == *bytes_of_size(450));
  CHECK_FALSE(tree().part(sha256(all)).has_value());
}

TEST_CASE("A body is divided into no more parts than its size allows") {
  const BodyTree fine(bytes_of_size(100'000), 1);
  const auto leaves = decode_body_root(*fine.part(fine.name().root), 100'000);
  REQUIRE(leaves.has_value());
  CHECK(leaves->size() <= body_leaves_max(100'000));
  const std::vector<Digest> many(body_leaves_max(10) + 1);
  CHECK_FALSE(decode_body_root(encode_part(many, {}), 10).has_value());
  CHECK_FALSE(decode_body_root(encode_part({}, {}), 10).has_value());
  CHECK_FALSE(decode_body_leaf(*fine.part(fine.name().root)).has_value());
  CHECK_FALSE(decode_body_leaf(encode_part({}, {})).has_value());
}

// Zeros, in so many pieces.
class Zeros final : public ByteSource {
 public:
  explicit Zeros(std::size_t pieces) : leaves_(pieces, digest_of_leaf(Bytes(kSourcePieceBytes))) {}
  [[nodiscard]] std::uint64_t size() const override { return leaves_.size() * kSourcePieceBytes; }
  [[nodiscard]] bool read(std::uint64_t, std::span<char> into) const override {
    std::fill(into.begin(), into.end(), '\0');
    return true;
  }
  [[nodiscard]] std::span<const Digest> leaf_digests() const override { return leaves_; }

 private:
  std::vector<Digest> leaves_;
};

constexpr std::size_t kManyPieces = 2048;  // more leaves may be of such a size than a part can name

// A batch with one request, at a replica that has its body; the operation that is executed.
Execution executed(Subject& backup, const BodyName& name, const std::function<void()>& feed) {
  const Proposal proposal = pre_prepare(1, {by_digest(1, name)});
  backup.feed(proposal.frame);
  feed();
  backup.feed(prepare(2, 1, proposal.batch));
  backup.feed(commit(0, 1, proposal.batch));
  backup.feed(commit(2, 1, proposal.batch));
  REQUIRE(backup.actions.executions.size() == 1);
  return backup.actions.executions[0];
}

TEST_CASE("A body of very many leaves has nodes, and is executed without being put together") {
  const auto front = bytes_of_size(300);
  const BodyTree large(front, std::make_shared<const Zeros>(kManyPieces));
  const std::uint64_t size = 300 + kManyPieces * kSourcePieceBytes;
  CHECK(large.name().size == size);
  REQUIRE(has_body_nodes(size));
  const auto nodes = decode_body_root(*large.part(large.name().root), size);
  REQUIRE(nodes.has_value());
  REQUIRE(nodes->size() == 1);
  CHECK(decode_body_node(*large.part(nodes->front()))->size() == 1 + kManyPieces);

  Subject backup(1);
  const Execution execution = executed(backup, large.name(), [&] { deliver(backup, large); });
  CHECK(execution.operation.size() == kInlineBytesMax);
  REQUIRE(execution.whole != nullptr);
  CHECK(execution.whole->size() == size);
  std::string read(400, 'x');
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{5'000'000}, std::uint64_t{7}}) {
    REQUIRE(execution.whole->read(offset, read));
    for (std::size_t i = 0; i < read.size(); ++i) {
      const char expected = offset + i < 300 ? static_cast<char>((*front)[offset + i]) : '\0';
      REQUIRE(read[i] == expected);
    }
  }
}

// What only a client that does not use BodyTree makes.
struct HandMade {
  Bytes leaf = encode_part({}, Bytes(kSourcePieceBytes));
  Bytes node, root;
  BodyName name;

  HandMade(std::size_t leaves_each, std::size_t nodes) {
    node = encode_part(std::vector<Digest>(leaves_each, sha256(leaf)), {});
    root = encode_part(std::vector<Digest>(nodes, sha256(node)), {});
    name = {kManyPieces * kSourcePieceBytes, sha256(root)};
  }
};

TEST_CASE("What a body names more than once is fetched once") {
  const HandMade made(kManyPieces / 2, 2);
  Subject backup(1);
  const Execution execution = executed(backup, made.name, [&] {
    for (const Bytes* part : {&made.root, &made.node, &made.leaf}) {
      std::vector<Digest> asked;
      for (const Asked& one : asked_by(backup))
        asked.insert(asked.end(), one.parts.begin(), one.parts.end());
      CHECK(asked == std::vector<Digest>{sha256(*part)});
      backup.feed(encode_part_message(*part, ring(kClient)));
    }
  });
  CHECK(backup.replica.counters().bodies_fetched == 1);
  CHECK(execution.whole->size() == made.name.size);
}

TEST_CASE("Nodes that are none, or that name too much, break a body") {
  Subject backup(1);
  const auto breaks = [&](const Bytes& root, const std::vector<Bytes>& parts) {
    backup.feed(by_digest(1, {kManyPieces * kSourcePieceBytes, sha256(root)}));
    backup.feed(encode_part_message(root, ring(kClient)));
    for (const Bytes& part : parts)
      backup.feed(encode_part_message(part, ring(kClient)));
    CHECK(backup.replica.counters().bodies_fetched == 0);
    CHECK(backup.replica.counters().bodies_given_up == 1);
  };
  SECTION("a leaf in place of a node") {
    const Bytes leaf = encode_part({}, Bytes(10));
    breaks(encode_part(std::vector<Digest>{sha256(leaf)}, {}), {leaf});
  }
  SECTION("more nodes than are needed") {
    const HandMade made(1, body_nodes_max(kManyPieces * kSourcePieceBytes) + 1);
    breaks(made.root, {});
  }
  SECTION("more leaves than are allowed") {
    const HandMade made(kPartChildrenMax, 2);
    breaks(made.root, {made.node});
  }
  SECTION("fewer bytes than were named") {
    const HandMade made(kManyPieces - 1, 1);
    breaks(made.root, {made.node, made.leaf});
  }
  SECTION("a node below a node") {
    const HandMade inner(1, 1);
    const Bytes outer = encode_part(std::vector<Digest>{sha256(inner.node)}, {});
    breaks(encode_part(std::vector<Digest>{sha256(outer)}, {}), {outer, inner.node});
  }
}

TEST_CASE("A body beyond a replica's own limit is neither fetched nor prepared") {
  ReplicaSettings settings;
  settings.body_bytes_max = 449;
  Subject backup(1, settings);
  backup.feed(by_digest(1));
  CHECK(asked_by(backup).empty());
  // A batch may name a little more: small ones together.
  const BodyName large{settings.body_bytes_max + kBatchBytesMax + 1, tree().name().root};
  backup.feed(pre_prepare(1, {by_digest(1, large)}).frame);
  CHECK(asked_by(backup).empty());
}

TEST_CASE("A request by digest is a name, and nothing else") {
  const Frame frame = by_digest(1);
  const auto decoded = decode_request(*frame, kReplicas);
  REQUIRE(decoded.has_value());
  CHECK(decoded->body == tree().name());
  CHECK_FALSE(decoded->read_only);
  CHECK(operation_bytes(*decoded) == 450);
  const std::size_t flags_at = kHeaderSize + 12;
  SECTION("both flags") {
    Bytes bytes = *frame;
    bytes[flags_at] = 3;
    CHECK_FALSE(decode_request(bytes, kReplicas).has_value());
  }
  SECTION("an operation that is no name") {
    Bytes bytes = *test::request(1, "operation");
    bytes[flags_at] = kRequestByDigest;
    CHECK_FALSE(decode_request(bytes, kReplicas).has_value());
  }
  SECTION("no bytes, or too many") {
    CHECK_FALSE(decode_request(*by_digest(1, {0, {}}), kReplicas).has_value());
    CHECK_FALSE(decode_request(*by_digest(1, {kOperationBytesMax + 1, {}}), kReplicas).has_value());
    CHECK(decode_request(*by_digest(1, {kOperationBytesMax, {}}), kReplicas).has_value());
  }
}

TEST_CASE("A batch may not name more bytes than a replica would fetch for it") {
  const BodyName huge{kOperationBytesMax, {}};
  const Proposal one = pre_prepare(1, {by_digest(1, huge)});
  CHECK(decode_pre_prepare(*one.frame, kReplicas).has_value());
  const Proposal two = pre_prepare(1, {by_digest(1, huge), by_digest(1, huge, 1)});
  CHECK_FALSE(decode_pre_prepare(*two.frame, kReplicas).has_value());
}

TEST_CASE("A backup prepares a batch once the bodies that it names are here") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {by_digest(1)});
  backup.feed(proposal.frame);
  CHECK(backup.sent(MessageType::prepare) == 0);
  REQUIRE(asked_by(backup).size() == 1);
  CHECK(asked_by(backup)[0].of == kClient);
  CHECK(asked_by(backup)[0].parts == std::vector<Digest>{tree().name().root});
  deliver(backup);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
  CHECK(backup.replica.counters().bodies_fetched == 1);
}

TEST_CASE("A body that does not come from its client is asked of replicas, the primary first") {
  Subject backup(1);
  backup.feed(pre_prepare(1, {by_digest(1)}).frame);
  std::vector<NodeId> order;
  for (int i = 0; i < 4; ++i) {
    backup.jump(seconds(4));
    for (const Asked& asked : asked_by(backup))
      order.push_back(asked.of);
  }
  CHECK(order == std::vector<NodeId>{0, 2, 3, kClient});
}

TEST_CASE("The operation that is executed is the body") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {request(1, "small"), by_digest(1, tree().name(), 1)});
  backup.feed(proposal.frame);
  deliver(backup);
  backup.feed(prepare(2, 1, proposal.batch));
  backup.feed(commit(0, 1, proposal.batch));
  backup.feed(commit(2, 1, proposal.batch));
  REQUIRE(backup.actions.executions.size() == 2);
  CHECK(as_text(backup.actions.executions[0].operation) == "small");
  const ByteView operation = backup.actions.executions[1].operation;
  CHECK(Bytes(operation.begin(), operation.end()) == *bytes_of_size(450));
}

TEST_CASE("What others have decided is executed once its bodies are here") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {by_digest(1)});
  backup.feed(encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(2)));
  backup.feed(encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(3)));
  backup.feed(proposal.frame);
  CHECK(backup.actions.executions.empty());
  deliver(backup);
  CHECK(backup.actions.executions.size() == 1);
}

TEST_CASE("The primary proposes a body that it has, and that enough others have") {
  Subject primary(0);
  primary.feed(by_digest(1));
  CHECK(primary.sent(MessageType::pre_prepare) == 0);
  deliver(primary);
  CHECK(primary.sent(MessageType::pre_prepare) == 0);
  SECTION("2f+1 have it") {
    primary.feed(forwarded(2, by_digest(1)));
    CHECK(primary.sent(MessageType::pre_prepare) == 0);
    primary.feed(forwarded(3, by_digest(1)));
    CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  }
  SECTION(
      "of 2f+1 that have it, one has left the view: it waits for another one, but not for long") {
    ViewChangeMessage left;
    left.view = 1;
    primary.feed(encode_view_change(left, ring(3)));
    primary.feed(forwarded(3, by_digest(1)));
    primary.feed(forwarded(2, by_digest(1)));
    CHECK(primary.sent(MessageType::pre_prepare) == 0);
    primary.tick(milliseconds(200));
    CHECK(primary.sent(MessageType::pre_prepare) == 0);
    SECTION("that gets it") {
      primary.feed(forwarded(1, by_digest(1)));
    }
    SECTION("that does not") {
      primary.tick(milliseconds(100));
    }
    CHECK(primary.replica.status().last_proposed == 1);
  }
  SECTION("never with fewer: their client costs itself alone") {
    primary.feed(forwarded(2, by_digest(1)));
    for (int i = 0; i < 10; ++i) {
      primary.tick(ReplicaSettings{}.view_change_timeout / 4);
      CHECK(primary.actions.sends.empty() == (primary.sent(MessageType::status) == 0));
      CHECK(primary.sent(MessageType::pre_prepare) == 0);
      CHECK(primary.sent(MessageType::forward) == 0);
    }
    CHECK(primary.replica.status().state == ReplicaState::normal);
  }
  SECTION("but a signed one is shown to those that do not have it") {
    primary.feed(forwarded(2, retransmitted(by_digest(1))));
    primary.tick(ReplicaSettings{}.view_change_timeout / 4);
    CHECK(primary.sent(MessageType::pre_prepare) == 0);
    REQUIRE(primary.sent(MessageType::forward) == 2);
    for (const Outgoing& outgoing : primary.actions.sends) {
      if (peek_header(*outgoing.frame)->type == MessageType::forward) CHECK(outgoing.to != 2);
    }
    primary.feed(forwarded(1, by_digest(1)));
    CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  }
  SECTION("a client cannot say so in a replica's name") {
    for (const NodeId name : {2u, 3u})
      primary.feed_as_it_is(forwarded(name, by_digest(1)));
    CHECK(primary.sent(MessageType::pre_prepare) == 0);
    CHECK(primary.dropped(DropReason::not_sealed) == 2);
    for (const NodeId name : {2u, 3u})
      primary.feed_as_it_is(encode_sealed(*forwarded(name, by_digest(1)), ring(1)));
    CHECK(primary.sent(MessageType::pre_prepare) == 0);
    CHECK(primary.dropped(DropReason::unknown_sender) == 2);
  }
}

TEST_CASE("A backup that its primary asks fetches the body from there, and says that it has it") {
  Subject backup(1);
  backup.feed(forwarded(0, retransmitted(by_digest(1))));
  backup.tick(milliseconds(250));  // the client does not deliver
  REQUIRE(asked_by(backup).size() == 1);
  CHECK(asked_by(backup)[0].of == 0);
  deliver(backup);
  CHECK(backup.sent(MessageType::forward) == kReplicas - 1);
  backup.feed(forwarded(0, retransmitted(by_digest(1))));
  CHECK(backup.sent(MessageType::forward) == 0);
  // Asked again later, and not at once, it answers again; others tell it that they have the body.
  backup.tick(milliseconds(25));
  backup.feed(forwarded(0, retransmitted(by_digest(1))));
  CHECK(backup.sent(MessageType::forward) == kReplicas - 1);
  backup.feed(forwarded(2, retransmitted(by_digest(1))));
  CHECK(backup.actions.sends.empty());
  // What is not by digest concerns the primary.
  backup.feed(forwarded(2, retransmitted(request(7))));
  CHECK(backup.dropped(DropReason::wrong_view) == 1);
}

TEST_CASE("A backup tells all when it has a body") {
  Subject backup(1);
  backup.feed(by_digest(1));
  CHECK(backup.sent(MessageType::forward) == 0);
  deliver(backup);
  REQUIRE(backup.sent(MessageType::forward) == kReplicas - 1);
}

TEST_CASE("Nobody is blamed for a request whose body does not come") {
  Subject backup(1);
  backup.feed(retransmitted(by_digest(1)));
  const auto wait = [&] {
    for (int i = 0; i < 20; ++i) {
      backup.tick(milliseconds(100));
      if (backup.replica.status().state != ReplicaState::normal) return;
    }
  };
  SECTION("not here") {
    wait();
    CHECK(backup.replica.status().state == ReplicaState::normal);
    backup.tick(seconds(10));
    CHECK(backup.replica.counters().bodies_given_up == 1);
    CHECK(backup.replica.status().bodies_missing == 0);
  }
  SECTION("here and nowhere else") {
    deliver(backup);
    wait();
    CHECK(backup.replica.status().state == ReplicaState::normal);
  }
  SECTION("here and at 2f others: then the primary is to order it") {
    deliver(backup);
    for (const NodeId other : {2u, 3u})
      backup.feed(forwarded(other, retransmitted(by_digest(1))));
    wait();
    CHECK(backup.replica.status().state == ReplicaState::changing_view);
  }
}

TEST_CASE("A primary gets the more time for a body that backups have, the larger it is") {
  Subject backup(1);
  const BodyTree body(bytes_of_size(1 << 20), 128 * 1024);
  backup.feed(retransmitted(by_digest(1, body.name())));
  deliver(backup, body);
  for (const NodeId other : {2u, 3u})
    backup.feed(forwarded(other, retransmitted(by_digest(1, body.name()))));
  // The time-out, half a second, and one for each 8 MiB.
  const Duration allowed = ReplicaSettings().view_change_timeout + milliseconds(500 + 125);
  backup.tick(allowed - milliseconds(1));
  CHECK(backup.replica.status().state == ReplicaState::normal);
  backup.tick(milliseconds(1));
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
}

TEST_CASE("A body that the disk refuses is given up, however often its parts come") {
  MapPartStore parts;
  GivenInputs inputs;
  ReplicaActions actions;
  TimePoint now{};
  Replica backup({}, ring(1), parts, inputs);
  REQUIRE(backup.start({}, now, actions));
  while (actions.snapshot || actions.flush_parts) {
    if (std::exchange(actions.snapshot, std::nullopt)) {
      backup.on_snapshot(service_state(parts, "state"), now, actions);
    }
    if (std::exchange(actions.flush_parts, false)) backup.on_parts_flushed(true, now, actions);
  }
  const std::size_t parts_before = parts.parts.size();
  SECTION("bit by bit") {
    parts.full = true;
  }
  SECTION("as a whole") {
    parts.refused = tree().name().root;
  }
  SECTION("without a word") {
    parts.swallowed =
        sha256(*tree().part(decode_part(*tree().part(tree().name().root))->children[0]));
  }
  actions.clear();
  backup.on_frame(*by_digest(1), now, actions);
  std::size_t asked = 0;
  for (int i = 0; i < 100; ++i) {
    const std::vector<Outgoing> sends = std::exchange(actions.sends, {});
    for (const Outgoing& outgoing : sends) {
      if (peek_header(*outgoing.frame)->type != MessageType::fetch_parts) continue;
      const auto message = decode_fetch_parts(*outgoing.frame);
      REQUIRE(message.has_value());
      for (const Digest& digest : message->parts) {
        ++asked;
        backup.on_frame(*encode_part_message(*tree().part(digest), ring(kClient)), now, actions);
      }
    }
    if (!actions.sends.empty()) continue;
    now += milliseconds(100);
    backup.on_tick(now, actions);
  }
  CHECK(asked > 6);
  CHECK(asked < 50);
  CHECK(backup.status().bodies_missing == 0);
  CHECK(backup.counters().bodies_given_up == 1);
  CHECK(parts.parts.size() == parts_before);
}

TEST_CASE(
    "A body whose parts have gone with another one's fetches them, and nothing else, at once") {
  Subject backup(1);
  auto bytes = std::make_shared<Bytes>(*bytes_of_size(450));
  std::fill(bytes->begin() + 100, bytes->begin() + 200, std::uint8_t{7});
  const BodyTree other(bytes, 100);  // its second leaf is its own
  backup.feed(by_digest(1));
  deliver(backup);
  backup.feed(by_digest(1, other.name(), 1));
  REQUIRE(asked_by(backup).size() == 1);
  backup.feed(encode_part_message(*other.part(other.name().root), ring(kClient)));
  REQUIRE(asked_by(backup).size() == 1);
  REQUIRE(asked_by(backup)[0].parts.size() == 1);
  const Digest own = asked_by(backup)[0].parts[0];
  // The first one goes with its request, in whose place a newer one comes, and with four leaves.
  const BodyTree newer(bytes_of_size(50), 100);
  backup.feed(by_digest(2, newer.name()));
  deliver(backup, newer);
  REQUIRE_FALSE(backup.parts.holds(tree().name().root));
  backup.feed(encode_part_message(*other.part(own), ring(kClient)));
  CHECK_FALSE(asked_by(backup).empty());
  deliver(backup, other);
  CHECK(backup.replica.counters().bodies_fetched == 3);
}

TEST_CASE("A body that is not what its name says is dropped") {
  Subject primary(0);
  const std::size_t parts_before = primary.parts.parts();
  const std::uint64_t size = GENERATE(449, 451, 100);
  primary.feed(by_digest(1, {size, tree().name().root}));
  for (int i = 0; i < 20 && primary.replica.status().bodies_missing > 0; ++i) {
    for (const Asked& asked : asked_by(primary)) {
      for (const Digest& digest : asked.parts) {
        primary.feed(encode_part_message(*tree().part(digest), ring(kClient)));
      }
    }
  }
  CHECK(primary.replica.status().bodies_missing == 0);
  CHECK(primary.replica.counters().bodies_fetched == 0);
  CHECK(primary.replica.counters().bodies_given_up == 1);
  CHECK(primary.parts.parts() == parts_before);
}

TEST_CASE("A client cannot put its request out of the way with one that never comes") {
  Subject primary(0);
  primary.feed(by_digest(2, {1000, sha256(as_bytes("never"))}));
  primary.feed(by_digest(1));
  CHECK(primary.dropped(DropReason::stale_timestamp) == 1);
  // A backup has the body, and would hold it against the primary.
  primary.feed(forwarded(1, retransmitted(by_digest(1))));
  deliver(primary);
  primary.feed(forwarded(3, by_digest(1)));
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

TEST_CASE("What backups hold against the primary keeps its place, though all is signed") {
  const BodyTree other(bytes_of_size(333), 100);
  const Frame older = retransmitted(by_digest(1));
  const Frame newer = retransmitted(by_digest(2, other.name()));
  SECTION("at the primary, which may have it ordered") {
    Subject primary(0);
    primary.feed(older);
    deliver(primary);
    primary.feed(forwarded(1, older));
    primary.feed(newer);
    deliver(primary, other);
    primary.feed(forwarded(3, older));
    CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
    // The other one has not lost its place.
    primary.feed(forwarded(1, newer));
    primary.feed(forwarded(3, newer));
    CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  }
  SECTION("at the primary, to which the client has said something newer that never comes") {
    Subject primary(0);
    primary.feed(newer);
    primary.feed(forwarded(1, older));
    deliver(primary);
    primary.feed(forwarded(3, older));
    CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  }
  SECTION("at a backup, which says that it has what its primary asks for") {
    Subject backup(1);
    backup.feed(newer);
    deliver(backup, other);
    backup.feed(forwarded(2, newer));
    backup.feed(forwarded(0, older));
    deliver(backup);
    REQUIRE(backup.sent(MessageType::forward) == kReplicas - 1);
    const auto said = decode_forward(*backup.actions.sends.at(0).frame);
    REQUIRE(said);
    CHECK(decode_request(said->request, kReplicas)->timestamp == 1);
  }
}

TEST_CASE("What a client announces is bounded, and one body always finds room") {
  ReplicaSettings settings;
  Subject primary(0, settings);
  primary.feed(by_digest(1, {settings.queue_bytes_max / 2, sha256(as_bytes("a"))}, 0));
  CHECK(primary.replica.status().bodies_missing == 1);
  primary.feed(by_digest(1, {1, sha256(as_bytes("b"))}, 1));
  CHECK(primary.dropped(DropReason::queue_full) == 1);
  CHECK(primary.replica.status().bodies_missing == 1);
}

TEST_CASE("A large body and small ones do not keep each other from finding room") {
  ReplicaSettings settings;
  const std::uint64_t half = settings.queue_bytes_max / 2;
  Subject primary(0, settings);
  const BodyName large{half + 1, sha256(as_bytes("large"))};
  const BodyName other{settings.queue_bytes_max, sha256(as_bytes("other"))};
  const BodyName small{half, sha256(as_bytes("small"))};
  const bool large_first = GENERATE(true, false);
  primary.feed(by_digest(1, large_first ? large : small, 0));
  primary.feed(by_digest(1, large_first ? small : large, 1));
  CHECK(primary.dropped(DropReason::queue_full) == 0);
  CHECK(primary.replica.status().bodies_missing == 2);
  primary.feed(by_digest(1, other, 2));
  CHECK(primary.dropped(DropReason::queue_full) == 1);
  primary.feed(by_digest(1, {1, sha256(as_bytes("b"))}, 3));
  CHECK(primary.dropped(DropReason::queue_full) == 2);
  // Given up, they leave their places.
  for (int i = 0; i < 10; ++i)
    primary.tick(seconds(1));
  CHECK(primary.replica.status().bodies_missing == 0);
  primary.feed(by_digest(1, other, 2));
  primary.feed(by_digest(1, {1, sha256(as_bytes("b"))}, 3));
  CHECK(primary.dropped(DropReason::queue_full) == 2);
  CHECK(primary.replica.status().bodies_missing == 2);
}

TEST_CASE("What is ordered leaves its place to others") {
  ReplicaSettings settings;
  settings.queue_bytes_max = kFrameBytesMax;
  Subject backup(1, settings);
  backup.feed(by_digest(1));
  deliver(backup);
  const Frame next = by_digest(1, {settings.queue_bytes_max / 2, sha256(as_bytes("next"))}, 1);
  backup.feed(next);
  CHECK(backup.dropped(DropReason::queue_full) == 1);
  backup.order(1, {by_digest(1)});
  REQUIRE(backup.actions.executions.size() == 1);
  backup.feed(next);
  CHECK(backup.dropped(DropReason::queue_full) == 1);
  CHECK(backup.replica.status().bodies_missing == 1);
}

}  // namespace
}  // namespace prophecy::pbft::test
