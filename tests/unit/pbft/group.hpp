// A group of four with one client, and the frames they would send: tests speak to one replica or
// client as the others would.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "pbft/client/client.hpp"
#include "pbft/core/replica.hpp"
#include "pbft/core/state/absence.hpp"
#include "pbft/core/state/memory_part_store.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/sealed.hpp"
#include "tests/support/established_keys.hpp"

namespace prophecy::pbft::test {

constexpr std::uint32_t kReplicas = 4;
constexpr NodeId kClient = kFirstClientId;
constexpr std::uint32_t kAnotherSession = 1;
// How long a backup waits for its primary.
constexpr Duration kPatience = ReplicaSettings().view_change_timeout;

inline PrivateKeys secrets_of(NodeId node) {
  PrivateKeys keys;
  for (PrivateKey* key : {&keys.exchange, &keys.signing}) {
    // Not the first byte: X25519 ignores its lowest bits.
    key->bytes[1] = static_cast<std::uint8_t>(node);
    key->bytes[2] = static_cast<std::uint8_t>(node >> 8);
  }
  return keys;
}

inline std::vector<Member> members_of(std::uint32_t replicas) {
  std::vector<Member> members;
  for (NodeId node = 0; node < replicas; ++node) {
    members.push_back({node, *public_keys_of(secrets_of(node))});
  }
  for (const NodeId client : {kClient, kClient + 1, kClient + 3}) {
    members.push_back({client, *public_keys_of(secrets_of(client))});
  }
  return members;
}

inline KeyRing ring_of(NodeId node, std::uint32_t replicas = kReplicas,
                       std::string_view group = "test group") {
  const std::vector<Member> members = members_of(replicas);
  KeyRing ring = *KeyRing::derive(node, secrets_of(node), as_bytes(group), members);
  establish_with_all(ring, members);
  return ring;
}

// Derived once; all tests share them.
inline const KeyRing& ring(NodeId node) {
  static std::map<NodeId, KeyRing> rings;
  auto found = rings.find(node);
  if (found == rings.end()) found = rings.emplace(node, ring_of(node)).first;
  return found->second;
}

inline Frame request(std::uint64_t timestamp, std::string_view operation = "op",
                     bool read_only = false, NodeId replier = 0, std::uint32_t session = 0,
                     NodeId client = kClient) {
  return finish_request(begin_request(as_bytes(operation), kReplicas), session, timestamp,
                        read_only, replier, ring(client));
}

// As a client sends it when no answer has come.
inline Frame retransmitted(const Frame& request) {
  return sign_request(*request, ring(decode_request(*request, kReplicas)->client));
}

// With wrong MACs for these replicas.
inline Frame with_wrong_macs(const Frame& request, std::initializer_list<NodeId> replicas) {
  const auto decoded = decode_request(*request, kReplicas);
  Bytes bytes = *request;
  for (const NodeId replica : replicas)
    bytes[decoded->content.size() + replica * kTagSize] ^= 1;
  return std::make_shared<const Bytes>(std::move(bytes));
}

struct Proposal {
  Frame frame;
  Digest batch{};
};

// What a replica under test takes for the time, and proposes as a seed.
struct GivenInputs final : InputSource {
  std::uint64_t time = 1'800'000'000'000'000'000;
  Seed seed{1, 2, 3};

  std::uint64_t wall_time() override { return time; }
  Seed fresh_seed() override { return seed; }
};

inline Proposal pre_prepare(std::uint64_t sequence, const std::vector<Frame>& requests,
                            std::uint64_t view = 0, NodeId primary = 0,
                            const AgreedInput& input = {GivenInputs().time, {}}) {
  PrePrepareBuilder builder(256);
  for (const Frame& frame : requests) {
    builder.append(*frame, sha256(decode_request(*frame, kReplicas)->content));
  }
  auto finished = builder.finish(view, sequence, input, ring(primary));
  return {finished.frame, finished.batch};
}

inline Frame prepare(NodeId from, std::uint64_t sequence, const Digest& batch,
                     std::uint64_t view = 0) {
  return encode_vote(MessageType::prepare, view, sequence, batch, ring(from));
}

inline Frame commit(NodeId from, std::uint64_t sequence, const Digest& batch,
                    std::uint64_t view = 0) {
  return encode_vote(MessageType::commit, view, sequence, batch, ring(from));
}

inline Frame reply(NodeId from, std::uint64_t timestamp, std::string_view result,
                   Sigma sigma = 1 << 16, bool full = true,
                   ReplyStatus status = ReplyStatus::done) {
  ReplyMessage message;
  message.client = kClient;
  message.timestamp = timestamp;
  message.sigma = sigma;
  message.status = status;
  message.result_digest = sha256(as_bytes(result));
  message.full = full;
  message.result = as_bytes(result);
  return encode_reply(message, ring(from));
}

// As its sender, or another one that relays it, hands it to a replica.
inline Frame sealed_for(NodeId receiver, const Frame& frame) {
  const auto header = peek_header(*frame);
  if (!header || !needs_seal(*frame, header->sender)) return frame;
  const bool is_its_own = header->sender < kReplicas && header->sender != receiver;
  return encode_sealed(*frame, ring(is_its_own ? header->sender : (receiver + 1) % kReplicas));
}

// The message within, if it is sealed.
inline Frame opened(const Frame& frame) {
  const auto sealed = decode_sealed(*frame, kReplicas);
  return sealed ? std::make_shared<const Bytes>(sealed->frame.begin(), sealed->frame.end()) : frame;
}

inline std::size_t count_sent(const std::vector<Outgoing>& sends, MessageType type) {
  return static_cast<std::size_t>(
      std::count_if(sends.begin(), sends.end(), [&](const Outgoing& outgoing) {
        const auto header = peek_header(*opened(outgoing.frame));
        return header && header->type == type;
      }));
}

// The root of a service's state that says this.
inline Digest service_state(PartStore& parts, std::string_view state) {
  const Bytes part = encode_part({}, as_bytes(state));
  REQUIRE(parts.keep(sha256(part), part));
  return sha256(part);
}

// Counts what is read, and may be full, or behind.
struct WatchedParts final : MemoryPartStore {
  WatchedParts() = default;
  explicit WatchedParts(const MemoryPartStore& before) : MemoryPartStore(before) {}
  std::optional<Bytes> read(const Digest& digest) const override {
    auto part = MemoryPartStore::read(digest);
    if (part) bytes_read += part->size();
    return part;
  }
  bool keep(const Digest& digest, ByteView part) override {
    return !refuses_all && MemoryPartStore::keep(digest, part);
  }
  bool keep_written(const Digest& digest, ByteView part) override {
    return !is_full && keep(digest, part);
  }
  [[nodiscard]] bool has_backlog() const override { return is_behind; }
  bool pin(const Digest& root) override {
    if (root != unpinnable) return MemoryPartStore::pin(root);
    ++pins_refused;
    return false;
  }

  mutable std::size_t bytes_read = 0;
  bool is_full = false;
  bool refuses_all = false;
  bool is_behind = false;
  std::optional<Digest> unpinnable{};
  std::size_t pins_refused = 0;
};

// The replica runs for so long, and its timers go off at the end alone.
inline void pass(Duration time, Replica& replica, TimePoint& now, ReplicaActions& actions) {
  const TimePoint end = now + time;
  for (; now < end; now = std::min(now + kAbsenceMin, end))
    replica.propose_waiting(now, actions);
  replica.on_tick(now, actions);
}

// A replica under test with the actions of its last event, and what it gets and sends without
// seals. Its service has a constant state, and its disk is there at once.
struct Subject {
  enum class Restores : std::uint8_t { succeed, fail, wait };

  explicit Subject(NodeId self, ReplicaSettings settings = {}, const ReplicaStart& start = {},
                   const MemoryPartStore& parts_before = {}, Restores restored = Restores::succeed)
      : node(self),
        restoring(restored),
        parts(parts_before),
        replica(settings, ring(self), parts, inputs) {
    REQUIRE(replica.start(start, now, actions));
    answer();
  }

  bool feed(const Frame& frame) { return feed_as_it_is(sealed_for(node, frame)); }
  bool feed_as_it_is(const Frame& frame) {
    actions.clear();
    const bool authentic = replica.on_frame(*frame, now, actions);
    answer();
    return authentic;
  }
  void executed(std::uint64_t id, std::string_view result,
                ExecutionStatus status = ExecutionStatus::done) {
    actions.clear();
    replica.on_executed(id, status, to_bytes(result), now, actions);
    answer();
  }
  void tick(Duration after) {
    actions.clear();
    pass(after, replica, now, actions);
    answer();
  }
  // Its machine is halted meanwhile.
  void jump(Duration after) {
    now += after;
    actions.clear();
    replica.on_tick(now, actions);
    answer();
  }
  // What the core asks of the shell, for as long as it asks.
  void answer() {
    answer_unopened();
    for (Outgoing& outgoing : actions.sends)
      outgoing.frame = opened(outgoing.frame);
  }
  void answer_unopened() {
    while (actions.snapshot || actions.look || actions.adopt || actions.restore ||
           (actions.flush_parts && answers_flushes) ||
           (!actions.durable_parts.empty() && answers_flushes)) {
      if (std::exchange(actions.adopt, false)) ++adoptions;
      const bool look = std::exchange(actions.look, false);
      const bool snapshot = std::exchange(actions.snapshot, std::nullopt).has_value() || look;
      const bool restore = std::exchange(actions.restore, std::nullopt).has_value();
      const bool flush = answers_flushes && std::exchange(actions.flush_parts, false);
      if (snapshot) {
        replica.on_snapshot(tells_state ? service_state(parts, state) : Digest{}, now, actions);
      }
      if (restore) {
        ++restores;
        if (restoring == Restores::wait) continue;
        replica.on_restored(restoring == Restores::succeed, now, actions);
      }
      if (flush) replica.on_parts_flushed(true, now, actions);
      if (!answers_flushes) continue;
      for (const DurableParts& durable : std::exchange(actions.durable_parts, {}))
        replica.on_parts_durable(durable.id, true, now, actions);
    }
    for (DurableWrite& write : actions.writes) {
      if (write.value == nullptr) {
        disk.erase(write.key);
      } else {
        disk[write.key] = *write.value;
      }
    }
    actions.writes.clear();
  }
  [[nodiscard]] ReplicaStart restarted() const {
    ReplicaStart start;
    start.records.assign(disk.begin(), disk.end());
    start.wall_clock = 1000;
    return start;
  }
  // As backup 1: the whole of a batch's agreement.
  void order(std::uint64_t sequence, const std::vector<Frame>& requests) {
    const Proposal proposal = pre_prepare(sequence, requests);
    feed(proposal.frame);
    feed(prepare(2, sequence, proposal.batch));
    feed(commit(0, sequence, proposal.batch));
    feed(commit(2, sequence, proposal.batch));
  }
  [[nodiscard]] std::size_t sent(MessageType type) const { return count_sent(actions.sends, type); }
  [[nodiscard]] std::uint64_t dropped(DropReason reason) const {
    return replica.counters().dropped[static_cast<std::size_t>(reason)];
  }

  NodeId node;
  std::string state = "state";
  bool answers_flushes = true;
  bool tells_state = true;
  Restores restoring = Restores::succeed;
  std::size_t restores = 0;
  std::size_t adoptions = 0;
  WatchedParts parts;
  GivenInputs inputs;
  std::map<Bytes, Bytes> disk;
  ReplicaActions actions;
  TimePoint now{};
  Replica replica;
};

}  // namespace prophecy::pbft::test
