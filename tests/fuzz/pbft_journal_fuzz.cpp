// What a store may hold after damage, or at the hands of others: records that are torn, mixed, or
// well-formed and false. They are refused, or a replica goes on from them without coming to harm.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>

#include "open_keys.hpp"
#include "pbft/core/replica.hpp"
#include "pbft/core/state/journal.hpp"
#include "pbft/core/state/memory_part_store.hpp"
#include "script.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::fuzz;

constexpr int kStepsAfterwards = 20;

Bytes key_of(char kind) {
  return {static_cast<std::uint8_t>(kind)};
}

Bytes key_of(char kind, std::uint64_t number) {
  Bytes key = key_of(kind);
  for (int shift = 56; shift >= 0; shift -= 8)
    key.push_back(static_cast<std::uint8_t>(number >> shift));
  return key;
}

Bytes key_of(char kind, std::uint64_t number, const Digest& digest) {
  Bytes key = key_of(kind, number);
  key.insert(key.end(), digest.begin(), digest.end());
  return key;
}

// A record as a replica writes it, but for what is in it.
std::pair<Bytes, Bytes> record(Script& script) {
  constexpr std::string_view kKinds = "vnqcpdksmi?";
  const char kind = kKinds[script.below(kKinds.size())];
  Bytes value;
  Writer writer(value);
  const auto numbers = [&](int count) {
    for (int i = 0; i < count; ++i)
      writer.integer(script.number());
  };
  switch (kind) {
    case 'v':
      numbers(1);
      writer.integer(static_cast<std::uint8_t>(script.below(2)));
      return {key_of(kind), value};
    case 'n':
      return {key_of(kind), *script.new_view(kReplicas)};
    case 'q':
      numbers(1);
      return {key_of(kind, script.number(), script.digest()), value};
    case 'c': {
      const auto batch = script.pre_prepare(0);
      return {key_of(kind, script.number(), batch.batch), *batch.frame};
    }
    case 'p':
      numbers(1);
      writer.raw(script.digest());
      return {key_of(kind, script.number()), value};
    case 'd':
      for (std::uint64_t left = script.below(4); left > 0; --left)
        writer.raw(script.digest());
      return {key_of(kind, script.number()), value};
    case 'k':
      numbers(1);
      for (int root = 0; root < 3; ++root)
        writer.raw(script.digest());
      return {key_of(kind), value};
    case 's': {
      const std::uint64_t sequence = script.sequence();
      const auto count = static_cast<std::uint16_t>(script.below(kReplicas + 1));
      writer.integer(count);
      for (NodeId signer = 0; signer < count; ++signer)
        writer.sized(*script.checkpoint(signer % kReplicas, sequence));
      return {key_of(kind), value};
    }
    case 'm':
      numbers(3);
      writer.integer(static_cast<std::uint8_t>(script.below(2)));
      return {key_of(kind), value};
    case 'i':
      numbers(2);
      return {key_of(kind, script.number()), value};
    default: {
      const ByteView key = script.bytes(script.below(48));
      const ByteView raw = script.bytes(script.byte());
      return {Bytes(key.begin(), key.end()), Bytes(raw.begin(), raw.end())};
    }
  }
}

struct StoppedClock final : InputSource {
  std::uint64_t wall_time() override { return 0; }
  Seed fresh_seed() override { return {}; }
};

// The disk is there at once, and the service can be made anything.
void carry_out(Replica& replica, ReplicaActions& actions) {
  for (;;) {
    const ReplicaActions asked = std::exchange(actions, {});
    for (const Execution& execution : asked.executions)
      replica.on_executed(execution.id, ExecutionStatus::done, Bytes(1), {}, actions);
    if (asked.snapshot) replica.on_snapshot(Digest{}, {}, actions);
    if (asked.restore) replica.on_restored(true, {}, actions);
    if (asked.flush_parts) replica.on_parts_flushed(true, {}, actions);
    for (const DurableParts& parts : asked.durable_parts)
      replica.on_parts_durable(parts.id, true, {}, actions);
    if (asked.executions.empty() && !asked.snapshot && !asked.restore && !asked.flush_parts &&
        asked.durable_parts.empty()) {
      return;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script(ByteView(data, size));
  const auto self = static_cast<NodeId>(script.below(2));
  MemoryPartStore parts;
  for (std::uint64_t left = script.below(8); left > 0; --left) {
    const Bytes part = script.part();
    if (!parts.keep(sha256(part), part)) std::abort();
  }
  std::map<Bytes, Bytes> records;
  for (std::uint64_t left = script.below(24); left > 0 && !script.is_over(); --left) {
    auto [key, value] = record(script);
    if (script.below(16) == 0) value.resize(value.size() / 2);  // torn
    records.insert_or_assign(std::move(key), std::move(value));
  }
  ReplicaSettings settings;
  settings.checkpoint_interval = 4;
  settings.window = 16;
  settings.retained_batches = 8;
  StoppedClock inputs;
  Replica replica(settings, open_ring(self), parts, inputs);
  ReplicaStart start;
  start.records.assign(records.begin(), records.end());
  const bool is_believed = read_journal(start.records, kReplicas).has_value();
  ReplicaActions actions;
  if (replica.start(start, {}, actions) != is_believed) std::abort();
  carry_out(replica, actions);
  for (int i = 0; i < kStepsAfterwards && !script.is_over(); ++i) {
    replica.on_frame(*script.frame(self), {}, actions);
    carry_out(replica, actions);
    replica.on_tick(TimePoint{} + milliseconds(100) * i, actions);
    carry_out(replica, actions);
  }
  return 0;
}
