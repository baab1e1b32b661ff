// A replica under arbitrary frames. The input is a script: each step is a frame of raw bytes, or
// a message with arbitrary fields under the valid keys of a peer or client, so that the fuzzer
// gets behind the MACs. Nothing may trip an assertion, and what is kept has to stay bounded.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/codec.hpp"
#include "pbft/core/memory_part_store.hpp"
#include "pbft/core/replica.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/view_change.hpp"
#include "tests/support/established_keys.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::pbft;

constexpr std::uint32_t kReplicas = 4;

PrivateKeys secrets_of(NodeId node) {
  PrivateKeys keys;
  for (PrivateKey* key : {&keys.exchange, &keys.signing}) {
    key->bytes[1] = static_cast<std::uint8_t>(node);
    key->bytes[2] = static_cast<std::uint8_t>(node >> 8);
  }
  return keys;
}

const KeyRing& ring_of(NodeId node) {
  static const std::vector<KeyRing> rings = [] {
    std::vector<Member> members;
    const std::vector<NodeId> nodes{0, 1, 2, 3, kFirstClientId};
    for (const NodeId id : nodes)
      members.push_back({id, *public_keys_of(secrets_of(id))});
    std::vector<KeyRing> derived;
    for (const NodeId id : nodes) {
      derived.push_back(*KeyRing::derive(id, secrets_of(id), as_bytes("g"), members));
      test::establish_with_all(derived.back(), members);
    }
    return derived;
  }();
  return rings[node < kReplicas ? node : kReplicas];
}

// Half of the votes are for the batch that was proposed last, so that some get a quorum.
Digest digest_from(Reader& script, const Digest& proposed) {
  const auto choice = script.integer<std::uint8_t>();
  if (choice % 2 == 0) return proposed;
  Digest digest{};
  digest[0] = choice % 8;
  return digest;
}

Frame request_from(Reader& script) {
  const auto session = script.integer<std::uint8_t>() % 4u;
  const auto timestamp = script.integer<std::uint8_t>();
  const auto flags = script.integer<std::uint8_t>();
  const ByteView operation = script.raw(script.integer<std::uint8_t>() % 16u);
  return finish_request(begin_request(operation, kReplicas), session, timestamp, (flags & 1) != 0,
                        (flags >> 1) % kReplicas, ring_of(kFirstClientId));
}

PrePrepareBuilder::Finished pre_prepare_from(Reader& script, const KeyRing& keys) {
  PrePrepareBuilder builder(256);
  const std::uint64_t sequence = script.integer<std::uint8_t>() % 32u;
  const std::uint32_t count = 1 + script.integer<std::uint8_t>() % 3u;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Frame request = request_from(script);
    const auto decoded = decode_request(*request, kReplicas);
    builder.append(*request, decoded ? sha256(decoded->content) : Digest{});
  }
  const std::uint64_t view = script.integer<std::uint8_t>() % 3u;
  const AgreedInput input{script.integer<std::uint8_t>() * std::uint64_t{100'000'000}, {}};
  return builder.finish(view, sequence, input, keys);
}

Frame status_from(Reader& script, const KeyRing& keys) {
  StatusMessage status;
  status.first_retained = 1 + script.integer<std::uint8_t>() % 4u;
  status.last_ordered = script.integer<std::uint16_t>();
  status.last_stable = script.integer<std::uint16_t>();
  status.slots = script.raw(script.integer<std::uint8_t>() % 32u);
  return encode_status(status, keys);
}

Frame view_change_from(Reader& script, NodeId from, const Digest& proposed) {
  ViewChangeMessage message;
  message.view = 1 + script.integer<std::uint8_t>() % 3u;
  for (auto* records : {&message.prepared, &message.pre_prepared}) {
    const std::uint32_t count = script.integer<std::uint8_t>() % 4u;
    for (std::uint32_t i = 1; i <= count; ++i) {
      records->push_back(
          {i, script.integer<std::uint8_t>() % message.view, digest_from(script, proposed)});
    }
  }
  return encode_view_change(message, ring_of(from));
}

// From the primary of that view; of the others' messages, some may be for another one.
Frame new_view_from(Reader& script, NodeId subject, const Digest& proposed) {
  const std::uint64_t view = 1 + script.integer<std::uint8_t>() % 3u;
  std::vector<Frame> frames;
  std::vector<ByteView> view_changes;
  for (NodeId from = 0; from < kReplicas; ++from) {
    if (from == subject) continue;
    frames.push_back(view_change_from(script, from, proposed));
    view_changes.emplace_back(*frames.back());
  }
  return encode_new_view(view, view_changes, ring_of(view % kReplicas));
}

Frame frame_from(Reader& script, NodeId subject, Digest& proposed) {
  NodeId peer = script.integer<std::uint8_t>() % kReplicas;
  if (peer == subject) peer = (peer + 1) % kReplicas;
  const KeyRing& keys = ring_of(peer);
  switch (script.integer<std::uint8_t>() % 10) {
    case 0:
      return request_from(script);
    case 7:
      return view_change_from(script, peer, proposed);
    case 8:
      return new_view_from(script, subject, proposed);
    case 1: {
      const auto finished = pre_prepare_from(script, keys);
      proposed = finished.batch;
      return finished.frame;
    }
    case 2:
    case 3: {
      const auto type = std::array{MessageType::prepare, MessageType::commit,
                                   MessageType::decision}[script.integer<std::uint8_t>() % 3u];
      const std::uint64_t view = script.integer<std::uint8_t>() % 3u;
      const std::uint64_t sequence = script.integer<std::uint8_t>() % 32u;
      return encode_vote(type, view, sequence, digest_from(script, proposed), keys);
    }
    case 4: {
      const std::uint64_t sequence = script.integer<std::uint8_t>();
      const Digest order = digest_from(script, proposed);
      const Digest replies = digest_from(script, proposed);
      return encode_checkpoint(sequence, order, replies, digest_from(script, proposed), keys);
    }
    case 5:
      return status_from(script, keys);
    case 6:
      return encode_forward(*request_from(script), keys);
    default: {
      const ByteView raw = script.raw(script.integer<std::uint8_t>());
      return std::make_shared<const Bytes>(raw.begin(), raw.end());
    }
  }
}

ReplicaSettings settings() {
  ReplicaSettings settings;
  settings.batch_requests_max = 2;
  settings.checkpoint_interval = 4;
  settings.window = 16;
  settings.retained_batches = 8;
  return settings;
}

// The service has a constant state, and the disk is there at once.
void carry_out(Replica& replica, MemoryPartStore& parts, TimePoint now, ReplicaActions& actions,
               std::vector<std::uint64_t>& executing) {
  for (;;) {
    const ReplicaActions asked = std::exchange(actions, {});
    for (const Execution& execution : asked.executions)
      executing.push_back(execution.id);
    if (!asked.snapshot && !asked.restore && !asked.flush_parts) return;
    if (asked.snapshot) {
      const Bytes part = encode_part({}, as_bytes("state"));
      if (!parts.keep(sha256(part), part)) std::abort();
      replica.on_snapshot(sha256(part), now, actions);
    }
    if (asked.restore) replica.on_restored(true, now, actions);
    if (asked.flush_parts) replica.on_parts_flushed(true, now, actions);
  }
}

// Proposals lie on both sides of what it tolerates.
struct StoppedClock final : InputSource {
  std::uint64_t wall_time() override { return 0; }
  Seed fresh_seed() override { return {}; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader script(ByteView(data, size));
  const NodeId subject = script.integer<std::uint8_t>() % 2;  // the primary or a backup
  StoppedClock inputs;
  std::vector<std::uint64_t> executing;
  MemoryPartStore parts;
  Replica replica(settings(), ring_of(subject), parts, inputs);
  TimePoint now{};
  ReplicaActions actions;
  if (!replica.start({}, now, actions)) std::abort();
  carry_out(replica, parts, now, actions, executing);
  Digest proposed{};
  while (script.remaining() > 0) {
    const auto step = script.integer<std::uint8_t>() % 8;
    if (step == 0) {
      now += milliseconds(script.integer<std::uint8_t>());
      replica.on_tick(now, actions);
    } else if (step == 1 && !executing.empty()) {
      const std::uint64_t id = executing.back();
      executing.pop_back();
      const auto length = script.integer<std::uint8_t>();
      replica.on_executed(id,
                          length % 7 == 0 ? ExecutionStatus::unavailable : ExecutionStatus::done,
                          Bytes(length), now, actions);
    } else {
      replica.on_frame(*frame_from(script, subject, proposed), now, actions);
    }
    carry_out(replica, parts, now, actions, executing);
    if (replica.status().log_batches > 64) std::abort();
  }
  return 0;
}
