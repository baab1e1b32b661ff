// Requests by digest as their clients sent them, until they are ordered: they keep their bodies
// here, whether these are still to come or wait to be named by a batch.
//
// Two for each session: one whose body is here, and one whose body is coming, so that a client
// cannot put a request out of the way with an announcement that it never makes good. Of two that
// are coming, or are here, the one goes first that the primary asks for; then the one that more
// replicas have forwarded with the client's signature (they say that they have the body); then the
// newer one. The other one waits for its turn, if anybody may wait for it, or if it is newer. What
// does not come is dropped after a while.
// Bounded in the bytes that are announced, and in the number of bodies, half of each for one
// client; one of each client always finds room. What is larger than that half of the bytes is not
// counted in bytes with the others: of such bodies, which lie on the disk, each client has one.
// Requests that the primary wants held may take as much once more, and one body of each client
// beyond that in each view: it proposes only what enough replicas hold.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pbft/core/bodies/bodies.hpp"
#include "pbft/core/state/client_table.hpp"
#include "pbft/core/state/settings.hpp"

namespace prophecy::pbft {

struct HeldRequest {
  NodeId client = 0;
  std::uint32_t session = 0;
  std::uint64_t timestamp = 0;
  Digest digest{};
  Frame frame;
  bool is_signed = false;
  BodyHandle body;
  std::uint64_t holders = 0;              // replicas that say that they have the body, one bit each
  std::optional<std::uint64_t> asked_in;  // the view whose primary asks others for it
  TimePoint held_since;
  // Since its body is here:
  std::optional<TimePoint> whole_since;
  std::optional<std::uint64_t> passed_on_in;  // the view in which its primary was told
  TimePoint passed_on_at;                     // the last time
  bool is_timed = false;                      // it is held against the primary
  // At the primary: when those that do not have the body are told next to fetch it from here.
  std::optional<TimePoint> spread_at;
  // Likewise: since when enough have it, though too few of these vote in this view.
  std::optional<TimePoint> enough_since;
  // Likewise: as the queue knows them.
  std::uint64_t holders_queued = 0;
};

class HeldRequests {
 public:
  HeldRequests(Context& context, Bodies& bodies, ClientTable& clients)
      : context_(context), bodies_(bodies), clients_(clients) {}

  enum class Outcome : std::uint8_t { held, stale, conflicting, no_room };
  // Requires an authentic request by digest, newer than what its session has had ordered.
  // `forwarder` is the replica that sent it on its client's behalf; the primary, when it `asks`
  // those that do not hold the request yet.
  Outcome hold(const RequestMessage& request, ByteView frame, const Digest& digest,
               std::optional<NodeId> forwarder, bool asks);
  // Drops what is ordered or does not come. Yields those whose bodies are here, until the next
  // call.
  [[nodiscard]] std::vector<HeldRequest*> whole();
  // Likewise, of this session alone; null when there is none. So a frame of one session costs the
  // same however many others are held.
  [[nodiscard]] HeldRequest* whole_of(NodeId client, std::uint32_t session);
  // The one that waits for its turn behind that, if its body is here as well.
  [[nodiscard]] HeldRequest* second_of(NodeId client, std::uint32_t session);
  // The sessions that hold one of these bodies.
  [[nodiscard]] std::vector<SessionName> sessions_of(const std::vector<BodyName>& bodies) const;

  // The session is to be looked at then, and when its request is given up.
  void arm(const SessionName& key, TimePoint at);
  // The sessions for which it is time; none of them is armed any more.
  [[nodiscard]] std::vector<SessionName> take_due();
  [[nodiscard]] TimePoint next_timer() const {
    return timers_.empty() ? TimePoint::max() : timers_.begin()->first;
  }

  // Since all were looked at, another view is asked for.
  [[nodiscard]] bool knows_other_view() const { return context_.view != view_then_; }

 private:
  struct Name {
    std::uint64_t timestamp = 0;
    Digest digest{};

    friend bool operator==(const Name&, const Name&) = default;
  };

  struct OfSession {
    std::optional<HeldRequest> whole;
    std::optional<HeldRequest> coming;  // or here as well, and behind the other
    // The last two that each replica has forwarded: it can hold no more. One that has no place here
    // yet gets it once enough have forwarded it.
    std::map<NodeId, std::array<Name, 2>> forwarded;
  };

  struct OfClient {
    std::uint64_t bytes = 0;  // without a large one's
    std::uint32_t large = 0;
    std::uint32_t bodies = 0;  // of any size
  };

  static void note_forwarded(OfSession& session, NodeId replica, const Name& name);
  [[nodiscard]] static std::uint64_t holders_of(const OfSession& session, const Name& name);
  [[nodiscard]] bool is_before(const HeldRequest& one, const HeldRequest& other) const;
  [[nodiscard]] static TimePoint timer_of(const OfSession& session);
  [[nodiscard]] static HeldRequest* whole_of(OfSession& session);
  [[nodiscard]] bool is_large(std::uint64_t bytes) const;
  bool fits(NodeId client, std::uint64_t bytes, bool asks);
  // In so many times the share of all and of one client.
  bool fits_in(NodeId client, std::uint64_t bytes, std::uint32_t share);
  [[nodiscard]] bool is_asked_for(NodeId client) const;
  Outcome hold_in(OfSession& session, const SessionName& key, const RequestMessage& request,
                  ByteView frame, const Digest& digest, std::optional<NodeId> forwarder, bool asks);
  void count(NodeId client, std::uint64_t bytes);
  void drop(const SessionName& key, std::optional<HeldRequest>& request);
  void join(HeldRequest& held, const RequestMessage& request, ByteView frame,
            std::optional<NodeId> forwarder, bool asks);
  void settle(const SessionName& key, OfSession& session);
  void arm_to_give_up(const SessionName& key, const OfSession& session);

  Context& context_;
  Bodies& bodies_;
  ClientTable& clients_;
  std::map<SessionName, OfSession> sessions_;
  std::map<NodeId, OfClient> of_client_;
  std::uint64_t bytes_ = 0;
  std::uint32_t bodies_held_ = 0;  // of any size
  std::uint64_t view_then_ = 0;
  std::multiset<std::pair<BodyName, SessionName>> by_body_;
  std::set<std::pair<TimePoint, SessionName>> timers_;
  std::map<SessionName, TimePoint> armed_at_;
};

}  // namespace prophecy::pbft
