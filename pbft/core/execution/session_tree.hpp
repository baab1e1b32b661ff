// The session table as a part of a checkpoint's state: whose requests were executed, up to which
// timestamp, and what the replies were. Two trees of parts over the same blocks of 64 sessions:
//
//   order     the timestamps, and with them the digest over all batches. Follows from the agreed
//             order alone, so all correct replicas have the same root.
//   replies   each last reply: with it, a replica that came by its state through a transfer, or a
//             whole group that was switched off, can answer retransmissions, without which a client
//             may never get its quorum, or its result (Berger, Reiser, Bessani, SRDS 2021). Answers
//             of unmodified origins may differ honestly, so this root decides nothing.
//
//   order root     payload: sequence u64, history digest 32, agreed time u64, and the newest epoch
//                  u64 if there is one; children: one node a client
//   replies root   payload: empty; children: one node a client
//   client node    payload: client u32; children: its blocks
//   order block    payload: client u32, block u16, 64 times a timestamp u64
//   replies block  payload: client u32, block u16, 64 times kind u8 (0: none, 1: done, 2:
//   unavailable),
//                  followed unless none by sigma u64, digest 32, and the result: form u8 (0: not
//                  here any more, or not yet; 1: sized; 2: in the block's next child)
//   result         payload: the result; or children: its pieces, each a payload
#pragma once

#include <array>
#include <map>
#include <optional>

#include "pbft/core/state/client_table.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::pbft {

class PartKeeper;

// What the root of the order says, beside the timestamps below it.
struct OrderRoot {
  std::uint64_t sequence = 0;
  Digest history{};
  std::uint64_t agreed_time = 0;
  std::uint64_t epoch = 0;  // of requests; 0: none
};

class SessionTree {
 public:
  struct Roots {
    Digest order{};
    Digest replies{};
  };

  // By the digest of a result, the part that it is kept as.
  using Results = std::map<Digest, Digest>;

  struct Built {
    Roots roots;  // the replies are zero when the store has refused some of their parts
    bool is_order_kept = false;
  };
  // Keeps the parts that are not there yet. Names the order whether the store has taken it or not:
  // without that name there is no checkpoint, and all replicas may be short of room at once. Of new
  // results beyond 2 KiB, 32 MiB are kept; the rest count as missing until a later tree.
  [[nodiscard]] Built build(ClientTable& clients, const OrderRoot& root, PartStore& parts);
  // The table has been replaced.
  void clear() { clients_.clear(); }

 private:
  struct Block {
    Digest order{};
    Digest replies{};
    Results results;  // of its sessions, beyond those that lie in the block itself
  };
  struct Client {
    std::map<std::uint32_t, Block> blocks;
    std::uint64_t lacking = 0;  // the blocks that lack results, one bit each
    Roots node;
  };

  void keep_changes(const ClientTable& clients, const ClientTable::Blocks& blocks,
                    PartKeeper& order, PartKeeper& replies);

  std::map<NodeId, Client> clients_;
};

[[nodiscard]] std::optional<OrderRoot> read_order_root(const PartStore& parts, const Digest& order);

// Replaces the table by what the trees say. `replies` may be zero: then no reply is known. False,
// and an empty table, when a part is missing or is none of a session table.
[[nodiscard]] bool load_sessions(const PartStore& parts, const SessionTree::Roots& roots,
                                 ClientTable& clients);

}  // namespace prophecy::pbft
