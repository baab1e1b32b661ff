// Any parts as the trees of a session table: they are refused, or become a table that makes trees
// of the same content.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "open_keys.hpp"
#include "pbft/core/execution/session_tree.hpp"
#include "pbft/core/state/memory_part_store.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/part.hpp"
#include "script.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::fuzz;

constexpr std::uint64_t kResultBytes = 1 << 20;

void require(bool condition) {
  if (!condition) std::abort();
}

// The payload of some node of such a tree, more or less.
Bytes payload(Script& script) {
  Bytes bytes;
  Writer writer(bytes);
  const std::uint64_t kind = script.below(5);
  const NodeId client = kFirstClientId + static_cast<NodeId>(script.below(3));
  if (kind == 0) {
    writer.integer(script.number());
    writer.raw(script.digest());
    writer.integer(script.number());
  } else if (kind == 1) {
    writer.integer(client);
  } else if (kind == 2) {
    writer.integer(client);
    writer.integer(static_cast<std::uint16_t>(script.number()));
    for (std::uint32_t i = 0; i < kSessionsPerBlock; ++i)
      writer.integer(script.number());
  } else if (kind == 3) {
    writer.integer(client);
    writer.integer(static_cast<std::uint16_t>(script.number()));
    for (std::uint32_t i = 0; i < kSessionsPerBlock; ++i) {
      const auto reply = static_cast<std::uint8_t>(script.below(32) % 3);
      writer.integer(reply);
      if (reply == 0) continue;
      writer.integer(script.number());
      const ByteView result = script.bytes(script.below(8));
      writer.raw(sha256(result));
      const auto form = static_cast<std::uint8_t>(script.below(3));
      writer.integer(form);
      if (form == 1) writer.sized(result);
    }
  }
  const ByteView more = script.bytes(script.below(64) == 0 ? script.byte() : 0);
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

Digest keep_part(Script& script, PartStore& parts) {
  const Bytes content = payload(script);
  std::vector<Digest> children(script.below(4));
  for (Digest& child : children)
    child = script.digest();
  const Bytes part = encode_part(children, content);
  const auto decoded = decode_part(part);
  require(decoded && decoded->children == children && decoded->payload.size() == content.size());
  const Digest digest = sha256(part);
  require(parts.keep(digest, part));
  script.remember(digest);
  return digest;
}

// What the tree over the timestamps says of each session of a few clients.
void require_equal(const ClientTable& one, const ClientTable& other) {
  for (NodeId client = kFirstClientId; client < kFirstClientId + 3; ++client) {
    for (std::uint32_t number = 0; number < kSessionsMax; ++number) {
      const Session* session = one.find(client, number);
      const Session* again = other.find(client, number);
      const std::uint64_t timestamp = session != nullptr ? session->last_timestamp : 0;
      require((again != nullptr ? again->last_timestamp : 0) == timestamp);
      if (timestamp == 0) continue;
      require(session->reply == again->reply && session->has_result == again->has_result &&
              std::ranges::equal(session->result(), again->result()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script(ByteView(data, size));
  MemoryPartStore parts;
  for (std::uint64_t left = script.below(24); left > 0 && !script.is_over(); --left)
    (void)keep_part(script, parts);
  const SessionTree::Roots roots{script.digest(), script.digest()};
  (void)read_order_root(parts, roots.order);
  ClientTable clients(kResultBytes);
  if (!load_sessions(parts, roots, clients)) {
    require(clients.take_changes().empty() && clients.result_bytes() == 0);
    return 0;
  }
  const SessionTree::Built built = SessionTree().build(clients, {}, parts);
  require(built.is_order_kept);
  ClientTable again(kResultBytes);
  require(load_sessions(parts, built.roots, again));
  require_equal(clients, again);
  return 0;
}
