// From agreed batches, and reads outside the order, to executions, replies and checkpoints.
//
// Batches are handed out in their order, each request at most once. Results may come back in any
// order; batches count as executed, and enter the history, in sequence.
#pragma once

#include <cstdint>
#include <deque>

#include "pbft/core/checkpoints.hpp"
#include "pbft/core/client_table.hpp"
#include "pbft/core/context.hpp"
#include "pbft/core/history.hpp"
#include "pbft/core/log.hpp"

namespace prophecy::pbft {

class ExecutionStage {
 public:
  ExecutionStage(Context& context, Log& log, ClientTable& clients, Checkpoints& checkpoints);

  // Requires the committed slot behind the last one that was handed out.
  void hand_out(Slot& slot, ReplicaActions& out);
  // A read outside the order. Requires an authenticated request; its frame is copied.
  void read(const RequestMessage& request, ByteView frame, ReplicaActions& out);
  // Answers the session's last ordered request from the cache. Requires that there is a reply.
  void repeat_reply(NodeId client, std::uint32_t number, const Session& session,
                    ReplicaActions& out);

  void on_executed(std::uint64_t id, ExecutionStatus status, Bytes result, ReplicaActions& out);
  // Enters executed batches into the history; true when there was one.
  bool advance(ReplicaActions& out);

  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }

 private:
  struct Pending {
    bool finished = false;
    bool read = false;
    NodeId client = 0;
    std::uint32_t session = 0;
    std::uint64_t timestamp = 0;
    NodeId replier = 0;
    Sigma sigma = 0;
  };

  std::uint64_t start(const Pending& pending);
  void finish_ordered(const Pending& pending, ReplyStatus status, const Digest& digest,
                      Bytes result, ReplicaActions& out);
  void finish_read(const Pending& pending, ReplyStatus status, const Digest& digest,
                   const Bytes& result, ReplicaActions& out);
  void send_reply(const Pending& pending, ReplyStatus status, const Digest& digest, ByteView result,
                  bool full, ReplicaActions& out);
  void take_checkpoint(const CheckpointClaim& claim, ReplicaActions& out);

  Context& context_;
  Log& log_;
  ClientTable& clients_;
  Checkpoints& checkpoints_;
  History history_;
  std::deque<Pending> pending_;  // ids first_id_, first_id_+1, ...
  std::uint64_t first_id_ = 1;
  std::uint64_t in_flight_ = 0;
  std::uint32_t reads_in_flight_ = 0;
};

}  // namespace prophecy::pbft
