// The bodies of requests that are ordered by digest (pbft/wire/body.hpp): fetched part by part from
// the client, or from replicas that have them, and kept in the part store, whole ones pinned, so
// that they are on the disk before anything is said about them.
//
// A body is here for as long as somebody holds a handle of it: a request that waits, the primary's
// queue, a batch in the log. With the last handle its parts go. What a body is follows from its
// name alone, so one that is broken (no tree of bytes, or of another size) is so at every replica.
//
//   missing --- all parts are here ---> storing --- they are on the disk ---> whole
//      |  ^                                |                                    |
//      |  +---- the disk refuses, or has lost a part ----------------------------+
//      +------- its name is a lie ---> broken
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/byte_source.hpp"
#include "pbft/core/state/body_handle.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/state/part_store.hpp"
#include "pbft/wire/body.hpp"

namespace prophecy::pbft {

// Who may have a body: a client, on one of its sessions, or a replica.
struct BodySource {
  NodeId node = 0;
  std::uint32_t session = 0;

  friend bool operator==(const BodySource&, const BodySource&) = default;
};

// What is executed of a body: its beginning, and, where that is not all, the whole.
struct BodyOperation {
  std::shared_ptr<const Bytes> front;
  ByteSourcePtr whole;
};

class Bodies;

class Body {
 public:
  enum class State : std::uint8_t { missing, storing, whole, broken };

  // For Bodies only; others have handles. Numbers are given out in ascending order.
  Body(Bodies& owner, const BodyName& name, std::uint64_t number)
      : owner_(owner), name_(name), number_(number) {}
  ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  [[nodiscard]] const BodyName& name() const { return name_; }
  [[nodiscard]] State state() const { return state_; }
  // When a part of it was last kept, or it was first asked for.
  [[nodiscard]] TimePoint progressed_at() const { return progressed_at_; }

 private:
  friend class Bodies;

  // That is asked; null when there is none.
  [[nodiscard]] const BodySource* source() const;

  Bodies& owner_;
  BodyName name_;
  std::uint64_t number_;
  State state_ = State::missing;
  std::vector<BodySource> sources_;
  std::size_t source_ = 0;  // the one that is asked; the next when it does not deliver
  TimePoint progressed_at_{};

  // While it is missing:
  Bytes root_;                     // empty until it has come
  std::map<Digest, Bytes> nodes_;  // that have come: children are kept before them
  // Parts that are not here, and how often each occurs: the root or leaves, and nodes.
  std::map<Digest, std::uint32_t> wanted_;
  std::map<Digest, std::uint32_t> wanted_nodes_;
  std::uint64_t leaves_ = 0;  // that nodes, or the root, have named
  std::uint64_t bytes_here_ = 0;
  std::vector<Digest> kept_;        // by this body's fetch
  std::deque<Digest> to_look_for_;  // leaves: what is not here is to be asked for
  std::deque<Digest> to_ask_;
  std::set<Digest> asked_;
  TimePoint stalled_at_{};                 // if nothing has come by then
  TimePoint armed_at_ = TimePoint::max();  // when it is looked at next
  std::optional<NodeId> asked_of_;         // the replica that it counts for, if it is asked of one
  Duration patience_{};
  TimePoint turn_ends_at_{};         // the source's, if it has brought too little by then
  std::uint64_t turn_bytes_ = 0;     // that have come in it
  Duration turn_{};                  // its length
  std::uint32_t turns_in_vain_ = 0;  // one after the other
  bool was_refused_ = false;         // by the disk, once all was here
  bool looks_again_ = false;
  bool is_named_ = false;  // by a batch: replicas that have voted for it have the body
  TimePoint ask_from_ = TimePoint::min();  // a pause, after the disk was full

  std::uint64_t stored_by_ = 0;  // the request to the disk, while it is being stored
};

class Bodies {
 public:
  Bodies(Context& context, PartStore& parts)
      : context_(context), parts_(parts), asked_of_(context.quorum.replicas) {}

  // Begins to fetch what is not here.
  [[nodiscard]] BodyHandle want(const BodyName& name, const BodySource& source);
  // Those of a batch, in the order of its requests by digest.
  [[nodiscard]] std::vector<BodyHandle> of_batch(const PrePrepareMessage& message);
  // Requires a pre-prepare's frame, or null for the empty batch.
  [[nodiscard]] std::vector<BodyHandle> of_batch(const Frame& content);
  static void ask_also(Body& body, const BodySource& source);
  // A batch names it, so that others that prepare the batch have it; the primary comes first. From
  // then on a client's turns are short.
  void ask_replicas(Body& body);

  // While a replica starts: bodies on record are read and pinned at once, however large, since the
  // shell sweeps the part store behind its start. Else an event reads only so much.
  void read_at_once(bool at_once) { reads_at_once_ = at_once; }
  // The replica ends: what is kept now stays on the disk, whoever has handles.
  void close() { closed_ = true; }

  // True when a body lacked this part.
  bool on_part(const Digest& digest, ByteView part);
  // Answers ReplicaActions::durable_parts.
  void on_durable(std::uint64_t id, bool done);
  // Asks for what is missing, and for what is to be on the disk. After every event.
  void advance(ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const { return next_timer_; }
  // The bodies that have become whole, or broken, since the last call.
  [[nodiscard]] std::vector<BodyName> take_settled() { return std::exchange(settled_, {}); }

  // The operation that a whole body is. Nothing when the disk has lost some of it: it is fetched
  // again. Its source may be read for as long as the handle is held.
  [[nodiscard]] std::optional<BodyOperation> open(const BodyHandle& body);
  [[nodiscard]] std::uint64_t missing() const { return missing_.size(); }

 private:
  friend class Body;

  void begin(Body& body);
  // It is looked at in this event. An event costs what concerns the bodies that it is about,
  // however many others are missing.
  void touch(Body& body);
  // It is not missing any more.
  void leave(Body& body);
  void arm(Body& body, TimePoint at);
  void note_source(Body& body);
  void reset(Body& body);
  void forget_wanted(Body& body);
  void note_lacking(Body& body, const Digest& digest);
  // Requires that it is not wanted any more, or not as often.
  void note_here(Body& body, const Digest& digest);
  void look_here(Body& body);
  void look_again(Body& body);
  void on_root(Body& body, ByteView part);
  void on_node(Body& body, const Digest& digest, ByteView part, bool is_kept);
  void on_leaves(Body& body, const std::vector<Digest>& leaves, std::uint32_t times);
  void take_part(Body& body, const Digest& digest, ByteView part);
  // In steps: there may be many leaves, and each that is here is read and hashed.
  void look_for_leaves(Body& body);
  void go_on_looking();
  void on_leaf(Body& body, const Digest& digest, ByteView part, bool is_kept);
  [[nodiscard]] std::optional<std::vector<Digest>> leaves_of(const BodyName& name) const;
  void finish(Body& body);
  // The disk has no room, or no part any more.
  void try_again(Body& body);
  void break_off(Body& body);
  void settle(Body& body, Body::State state);
  void release_parts(Body& body);
  void ask(Body& body, ReplicaActions& out);
  void ask_and_arm(Body& body, ReplicaActions& out);
  // When its source brings nothing, or little while there are others.
  void change_source(Body& body) const;
  static void ask_next_source(Body& body);
  static void begin_turn(Body& body, TimePoint now);
  [[nodiscard]] std::size_t share_of(NodeId replica) const;
  [[nodiscard]] std::size_t on_their_way_max(const BodySource& source) const;
  void forget(Body& body);

  Context& context_;
  PartStore& parts_;
  std::map<BodyName, std::weak_ptr<Body>> known_;
  // By number, as are the next three.
  std::map<std::uint64_t, Body*> missing_;
  std::map<std::uint64_t, Body*> looking_;  // leaves are left to be looked for
  std::map<std::uint64_t, Body*> touched_;
  std::uint64_t touched_up_to_ = 0;  // by number: looked at already
  std::set<std::pair<TimePoint, std::uint64_t>> timers_;
  // By part, and the body's number: the bodies that lack it. Not hashed: clients choose the names.
  std::map<std::pair<Digest, std::uint64_t>, Body*> lacking_;
  std::uint64_t bodies_so_far_ = 0;
  std::vector<Body*> storing_;
  std::vector<DurableParts> to_store_;  // not asked for yet
  std::uint64_t stored_ = 0;            // requests to the disk so far
  // By replica: the bodies that are asked of it.
  std::vector<std::map<std::uint64_t, Body*>> asked_of_;
  bool closed_ = false;
  bool reads_at_once_ = false;
  std::vector<BodyName> settled_;
  std::uint64_t looked_at_bytes_ = 0;  // in this event
  TimePoint next_timer_ = TimePoint::max();
};

}  // namespace prophecy::pbft
