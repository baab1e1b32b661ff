// Fetches the parts of a checkpoint's state that are not here, from the replicas that claim to have
// it, several at a time. Each part proves itself by its digest; a root is one that f+1 replicas
// have signed. What is here already is not fetched, so a replica that was away gets the difference,
// and one for which the checkpoint moves on while it fetches has less left each time.
//
// The replies come last. Where no holder hands them over any more (each has gone on from another
// checkpoint), the state is complete without them. This replica then has no answer to requests that
// were executed before. Without that rule no replica could be repaired from such a checkpoint.
//
// Children are kept before the parts that name them, and what is here is used, so a fetch that is
// broken off loses little. All of it is pinned: other trees that have parts in common with the
// state, such as those of this replica's own checkpoints, come and go during a fetch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::pbft {

class StateFetch {
 public:
  enum class State : std::uint8_t { idle, fetching, complete, failed };
  // What counts as being here: all that is pinned, or only what can be read.
  enum class Trust : std::uint8_t { pins, bytes };

  StateFetch(Context& context, PartStore& parts) : context_(context), parts_(parts) {}

  // `holders` are those that may have it, one bit each. Requires that no fetch is under way: stop()
  // ends one.
  void begin(const CheckpointClaim& target, std::uint64_t holders, Trust trust,
             ReplicaActions& out);
  void stop();
  // Requires the part's digest.
  void on_part(const Digest& digest, ByteView part, ReplicaActions& out);
  // Asks again for what has not come.
  void on_tick(ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const { return next_tick_; }

  // Failed: those that should have it do not hand it over, or it cannot be kept here.
  [[nodiscard]] State state() const { return state_; }
  // Nothing has come for a while of what was asked for: those that were asked may have gone on to a
  // newer checkpoint, before they knew that somebody fetches this one.
  [[nodiscard]] bool is_stalled() const;
  // Once it is complete, what is here: maybe without replies.
  [[nodiscard]] const CheckpointClaim& target() const { return target_; }
  [[nodiscard]] std::uint64_t parts_missing() const { return wanted_.size(); }

  // Parts that came or were found here over all fetches, until they are released. What no other
  // pinned root leads to is removed then. Requires that nobody builds a state upon the store's
  // parts, and no fetch.
  [[nodiscard]] bool has_kept() const { return !kept_.empty(); }
  void release_kept();

 private:
  struct DigestHash {
    std::size_t operator()(const Digest& digest) const;
  };
  // A part that is not here, or here and waiting for its children.
  struct Wanted {
    std::vector<Digest> parents;
    Bytes bytes;  // empty until it has come
    std::uint32_t children_missing = 0;
    std::optional<TimePoint> asked_at;
    std::uint32_t times_asked = 0;
    NodeId asked = 0;
  };

  // True when it is here with all below it; else it is wanted.
  bool want(const Digest& digest, const Digest* parent);
  // Its bytes are here. False when it is no part.
  bool arrive(const Digest& digest, ByteView bytes);
  // Goes through what is here, and below which something may be missing.
  void look_here();
  void keep(const Digest& digest);
  // It stays until it is released, with all below it. False when something of that is not here.
  bool hold(const Digest& digest);
  void ask(ReplicaActions& out);
  // One that has been asked for so often that nobody has it.
  void give_up_part();
  void want_replies();
  void forget_wanted();
  [[nodiscard]] NodeId next_holder();
  void fail();
  void finish_if_done();

  Context& context_;
  PartStore& parts_;
  State state_ = State::idle;
  CheckpointClaim target_;
  std::uint64_t holders_ = 0;
  NodeId last_holder_ = 0;
  std::uint64_t late_ = 0;  // holders that let this replica wait, one bit each
  Trust trust_ = Trust::pins;
  bool is_at_replies_ = false;  // all else is here
  std::unordered_map<Digest, Wanted, DigestHash> wanted_;
  std::set<Digest> kept_;       // and pinned
  std::vector<Digest> here_;    // wanted, and to be had without asking
  std::vector<Digest> to_ask_;  // the last first: depth first keeps few waiting for children
  std::vector<Digest> asked_;   // on their way
  TimePoint heard_at_{};        // when the last part came, or the fetch began
  TimePoint next_tick_ = TimePoint::max();
};

}  // namespace prophecy::pbft
