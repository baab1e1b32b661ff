#include "pbft/core/execution/session_tree.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/codec.hpp"
#include "pbft/core/execution/part_keeper.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

enum class ReplyKind : std::uint8_t { none, done, unavailable };
enum class ResultForm : std::uint8_t { missing, sized, child };

// So small a result lies in its block: 64 of them still fit into a part.
constexpr std::size_t kResultInBlockMax = 2048;
static_assert(kSessionsPerBlock * (kResultInBlockMax + 128 + sizeof(Digest)) < kPartBytesMax);
static_assert(kResultBytesMax / kResultPieceBytes < kPartChildrenMax);

void write_block_head(Writer& writer, NodeId client, std::uint32_t block) {
  writer.integer(client);
  writer.integer(static_cast<std::uint16_t>(block));
}

Bytes order_block(const ClientTable& clients, NodeId client, std::uint32_t block) {
  Bytes bytes;
  Writer writer(bytes);
  write_block_head(writer, client, block);
  for (std::uint32_t i = 0; i < kSessionsPerBlock; ++i) {
    const Session* session = clients.find(client, block * kSessionsPerBlock + i);
    writer.integer(session != nullptr ? session->last_timestamp : 0);
  }
  return bytes;
}

struct RepliesBlock {
  Digest root{};
  bool lacks_results = false;  // there was no room for some
};

// `kept` are the results of the block as it was at the last checkpoint. A result that is still the
// same, and whose parts are still here, is not hashed again: one session of the block has changed,
// and the others' results may be megabytes.
RepliesBlock keep_replies_block(const ClientTable& clients, NodeId client, std::uint32_t block,
                                SessionTree::Results& kept, PartKeeper& keeper) {
  const SessionTree::Results before = std::exchange(kept, {});
  RepliesBlock replies;
  Bytes bytes;
  std::vector<Digest> results;
  Writer writer(bytes);
  write_block_head(writer, client, block);
  const auto write_result = [&](const Session& session) {
    if (session.result().size() <= kResultInBlockMax) {
      writer.integer(static_cast<std::uint8_t>(ResultForm::sized));
      return writer.sized(session.result());
    }
    const auto known = before.find(session.digest);
    const bool is_here = known != before.end() && keeper.is_pinned(known->second);
    const auto result =
        is_here ? std::optional(known->second) : keeper.keep_result(session.result());
    if (!result) {
      replies.lacks_results = true;
      return writer.integer(static_cast<std::uint8_t>(ResultForm::missing));
    }
    writer.integer(static_cast<std::uint8_t>(ResultForm::child));
    kept[session.digest] = *result;
    results.push_back(*result);
  };
  for (std::uint32_t i = 0; i < kSessionsPerBlock; ++i) {
    const Session* session = clients.find(client, block * kSessionsPerBlock + i);
    ReplyKind kind = ReplyKind::none;
    if (session != nullptr && session->reply == Session::Reply::known) {
      kind = session->status == ReplyStatus::done ? ReplyKind::done : ReplyKind::unavailable;
    }
    writer.integer(static_cast<std::uint8_t>(kind));
    if (kind == ReplyKind::none) continue;
    writer.integer(session->sigma);
    writer.raw(session->digest);
    if (session->has_result) {
      write_result(*session);
    } else {
      writer.integer(static_cast<std::uint8_t>(ResultForm::missing));
    }
  }
  replies.root = keeper.keep(results, bytes);
  return replies;
}

std::optional<Bytes> read_result(const PartStore& parts, const Digest& digest) {
  const auto bytes = parts.read(digest);
  const auto part = bytes ? decode_part(*bytes) : std::nullopt;
  if (!part || part->children.size() > kResultBytesMax / kResultPieceBytes + 1) return std::nullopt;
  Bytes result(part->payload.begin(), part->payload.end());
  for (const Digest& child : part->children) {
    const auto piece_bytes = parts.read(child);
    const auto piece = piece_bytes ? decode_part(*piece_bytes) : std::nullopt;
    if (!piece) return std::nullopt;
    result.insert(result.end(), piece->payload.begin(), piece->payload.end());
  }
  if (result.size() > kResultBytesMax) return std::nullopt;
  return result;
}

// Yields the block's first session.
std::optional<std::uint32_t> read_block_head(Reader& reader, NodeId client) {
  const auto named = reader.integer<std::uint32_t>();
  const std::uint32_t first_session = reader.integer<std::uint16_t>() * kSessionsPerBlock;
  if (reader.failed() || named != client || first_session >= kSessionsMax) return std::nullopt;
  return first_session;
}

bool load_order_block(NodeId client, std::uint32_t first_session, Reader& reader,
                      ClientTable& clients) {
  for (std::uint32_t i = 0; i < kSessionsPerBlock; ++i) {
    const auto timestamp = reader.integer<std::uint64_t>();
    if (timestamp > 0) clients.restore(client, first_session + i, timestamp);
  }
  return reader.complete();
}

// False when it is none. A result that does not fit its digest is left out.
bool load_replies_block(const PartStore& parts, const Part& block, NodeId client,
                        std::uint32_t first_session, Reader& reader, ClientTable& clients) {
  std::size_t next_child = 0;
  for (std::uint32_t i = 0; i < kSessionsPerBlock; ++i) {
    const auto kind = reader.integer<std::uint8_t>();
    if (kind > static_cast<std::uint8_t>(ReplyKind::unavailable)) return false;
    if (kind == static_cast<std::uint8_t>(ReplyKind::none)) continue;
    const auto sigma = reader.integer<std::uint64_t>();
    Digest digest{};
    reader.fixed(digest);
    const auto form = reader.integer<std::uint8_t>();
    std::optional<Bytes> result;
    if (form == static_cast<std::uint8_t>(ResultForm::sized)) {
      const ByteView sized = reader.sized(kResultInBlockMax);
      result = Bytes(sized.begin(), sized.end());
    } else if (form == static_cast<std::uint8_t>(ResultForm::child)) {
      if (next_child == block.children.size()) return false;
      result = read_result(parts, block.children[next_child++]);
    } else if (form != static_cast<std::uint8_t>(ResultForm::missing)) {
      return false;
    }
    if (reader.failed()) return false;
    Session& session = clients.session(client, first_session + i);
    if (session.last_timestamp == 0) return false;
    const bool done = kind == static_cast<std::uint8_t>(ReplyKind::done);
    clients.set_reply(session, done ? ReplyStatus::done : ReplyStatus::unavailable, sigma, digest);
    if (result && sha256(*result) == digest) clients.keep_result(session, std::move(*result));
  }
  return reader.complete();
}

// Calls `load` for each block below the root. They rise, so that a few parts that name each other
// many times are not read as often.
template <typename Load>
bool for_each_block(const PartStore& parts, const Digest& root, const Load& load) {
  const auto root_bytes = parts.read(root);
  const auto root_part = root_bytes ? decode_part(*root_bytes) : std::nullopt;
  if (!root_part) return false;
  NodeId last_client = 0;
  for (const Digest& child : root_part->children) {
    const auto node_bytes = parts.read(child);
    const auto node = node_bytes ? decode_part(*node_bytes) : std::nullopt;
    if (!node) return false;
    Reader reader(node->payload);
    const NodeId client = reader.integer<std::uint32_t>();
    if (!reader.complete() || !is_client(client) || client <= last_client) return false;
    last_client = client;
    std::uint32_t first_free = 0;  // of its sessions
    for (const Digest& digest : node->children) {
      const auto block_bytes = parts.read(digest);
      const auto block = block_bytes ? decode_part(*block_bytes) : std::nullopt;
      if (!block) return false;
      Reader payload(block->payload);
      const auto first_session = read_block_head(payload, client);
      if (!first_session || *first_session < first_free) return false;
      first_free = *first_session + kSessionsPerBlock;
      if (!load(*block, client, *first_session, payload)) return false;
    }
  }
  return true;
}

}  // namespace

void SessionTree::keep_changes(const ClientTable& clients, const ClientTable::Blocks& blocks,
                               PartKeeper& order, PartKeeper& replies) {
  Client& client = clients_[blocks.client];
  const std::uint64_t wanted =
      client.blocks.empty() ? blocks.used : blocks.changed | client.lacking;
  if (wanted == 0) return;
  for (std::uint32_t block = 0; block < kSessionsMax / kSessionsPerBlock; ++block) {
    const std::uint64_t bit = std::uint64_t{1} << block;
    if ((wanted & bit) == 0) continue;
    Block& known = client.blocks[block];
    known.order = order.keep({}, order_block(clients, blocks.client, block));
    const RepliesBlock kept =
        keep_replies_block(clients, blocks.client, block, known.results, replies);
    known.replies = kept.root;
    client.lacking = kept.lacks_results ? client.lacking | bit : client.lacking & ~bit;
  }
  std::vector<Digest> order_children;
  std::vector<Digest> replies_children;
  for (const auto& [index, block] : client.blocks) {
    order_children.push_back(block.order);
    replies_children.push_back(block.replies);
  }
  Bytes payload;
  Writer(payload).integer(blocks.client);
  client.node = {order.keep(order_children, payload), replies.keep(replies_children, payload)};
}

SessionTree::Built SessionTree::build(ClientTable& clients, const OrderRoot& root,
                                      PartStore& parts) {
  PartKeeper order(parts);
  PartKeeper replies(parts);
  const std::vector<ClientTable::Blocks> changes = clients.take_changes();
  // Each client's turn for the room of large results comes, at all replicas alike.
  const std::size_t first = changes.empty() ? 0 : root.history[0] % changes.size();
  for (std::size_t i = 0; i < changes.size(); ++i)
    keep_changes(clients, changes[(first + i) % changes.size()], order, replies);
  std::vector<Digest> order_nodes;
  std::vector<Digest> replies_nodes;
  for (const ClientTable::Blocks& blocks : changes) {
    const Client& client = clients_.at(blocks.client);
    order_nodes.push_back(client.node.order);
    replies_nodes.push_back(client.node.replies);
  }
  Bytes payload;
  Writer writer(payload);
  writer.integer(root.sequence);
  writer.raw(root.history);
  writer.integer(root.agreed_time);
  if (root.epoch != 0) writer.integer(root.epoch);
  Built built{{order.keep(order_nodes, payload), replies.keep(replies_nodes, {})},
              !order.has_refused()};
  if (built.is_order_kept && !replies.has_refused()) return built;
  // The next tree cannot be built upon parts that are not here.
  clear();
  built.roots.replies = {};
  replies.take_back();
  if (!built.is_order_kept) order.take_back();
  return built;
}

std::optional<OrderRoot> read_order_root(const PartStore& parts, const Digest& order) {
  const auto bytes = parts.read(order);
  const auto part = bytes ? decode_part(*bytes) : std::nullopt;
  if (!part) return std::nullopt;
  Reader reader(part->payload);
  OrderRoot root;
  root.sequence = reader.integer<std::uint64_t>();
  reader.fixed(root.history);
  root.agreed_time = reader.integer<std::uint64_t>();
  if (reader.remaining() > 0) {
    root.epoch = reader.integer<std::uint64_t>();
    if (root.epoch == 0 || root.epoch > kEpochMax) return std::nullopt;
  }
  if (!reader.complete()) return std::nullopt;
  return root;
}

bool load_sessions(const PartStore& parts, const SessionTree::Roots& roots, ClientTable& clients) {
  clients.reset();
  const bool order = for_each_block(
      parts, roots.order,
      [&](const Part& /*block*/, NodeId client, std::uint32_t first, Reader& payload) {
        return load_order_block(client, first, payload, clients);
      });
  const bool replies =
      order &&
      (roots.replies == Digest{} ||
       for_each_block(parts, roots.replies,
                      [&](const Part& block, NodeId client, std::uint32_t first, Reader& payload) {
                        return load_replies_block(parts, block, client, first, payload, clients);
                      }));
  if (!replies) clients.reset();
  return replies;
}

}  // namespace prophecy::pbft
