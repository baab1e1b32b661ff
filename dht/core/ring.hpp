// `Ring` is one process's part in the membership of a ring: it announces the member, follows views
// and proposes them, renews the lease, and lets Ownership decide what the workers may do.
//
//   results, session events, reports, now ──► Ring ──► calls, actions of Ownership, reports
//                                              │
//                                              └──► Permissions (shared memory)
//
// Safety rests on Lease, Fence and Ownership. The rest decides when something is tried, and may be
// late or wrong. docs/ring.md has the invariants.
//
// A pure object for one thread: events in, actions out, in their order. Requires that each call has
// exactly one result, and that `now` never falls.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dht/core/lease.hpp"
#include "dht/core/ownership.hpp"
#include "dht/core/paths.hpp"
#include "dht/core/survey.hpp"

namespace prophecy::dht {

struct RingReport {
  std::string path;     // of the node that it is about
  std::string message;  // empty: what was reported of it is over
};
using RingAction = std::variant<CoordinationCall, OwnershipAction, RingReport>;

struct RingSettings {
  Paths paths;
  Parameters parameters;
  Member self;
  ClockBounds clocks;
  ViewNumber first_view = 1;  // where there is none yet
};

class Ring {
 public:
  Ring(RingSettings settings, Permissions permissions, BootTime now);

  void on_session(SessionEvent event, BootTime now);
  void on_result(const CoordinationResult& result, BootTime now);
  void on_tick(BootTime now);
  // Others are to take our partitions; we go on until they do, and stay a member that has none.
  void drain(BootTime now);
  // The end of that.
  void rejoin(BootTime now);
  // Before this the member takes no part: it has not carried out what operators have agreed on.
  void allow_announcing(BootTime now);

  // ---- Reports on actions of Ownership.
  void on_quiesced(std::uint64_t ticket, BootTime now);
  void on_cleared(std::uint64_t ticket, BootTime now);
  void on_barrier(std::uint64_t ticket, OrderNumber number, BootTime now);
  void on_barrier_failed(std::uint64_t ticket, BootTime now);

  [[nodiscard]] std::optional<RingAction> take_action();
  // When on_tick() is due at the latest.
  [[nodiscard]] BootTime deadline() const;

  [[nodiscard]] const Ownership& ownership() const { return ownership_; }
  [[nodiscard]] Ownership& ownership() { return ownership_; }
  // The newest view that was read; null before.
  [[nodiscard]] const View* view() const { return survey_.view(); }
  [[nodiscard]] const Holder& self() const { return settings_.self.holder; }
  // This process understands what members say to each other under this view.
  [[nodiscard]] bool speaks(const View& view) const {
    return settings_.self.steps.speaks(view.step);
  }
  [[nodiscard]] bool is_draining() const { return is_draining_; }
  // Our node shows that we hold nothing any more.
  [[nodiscard]] bool is_drained() const { return is_draining_ && has_let_go_; }
  [[nodiscard]] const std::map<std::string, std::string>& problems() const { return reported_; }
  [[nodiscard]] const Sightings& sightings() const { return survey_.sightings(); }
  [[nodiscard]] bool is_connected() const { return is_connected_; }

 private:
  enum class Purpose : std::uint8_t { setup, announce, propose, certify };
  struct UnderWay {
    Purpose purpose = Purpose::setup;
    std::string name;  // of certify
    NodeVersion version = 0;
    ViewNumber view = 0;
  };

  void move_on(BootTime now);
  void survey(BootTime now);
  // As we would like to be: without a weight while we drain.
  [[nodiscard]] Member wanted_self() const;
  void set_up();
  void keep_announced();
  void follow_view();
  void propose(BootTime now);
  void certify();
  void report_problems();
  // Whether somebody who is there has partitions, or will have.
  [[nodiscard]] bool has_owner() const;
  void write(UnderWay purpose, std::vector<WriteStep> steps);
  void on_written(const UnderWay& written, const CoordinationResult& result, BootTime now);
  // When the nodes are read after an announcement or a proposal that has ended so.
  [[nodiscard]] BootTime survey_after(CoordinationStatus written, BootTime now);
  void on_renewed(const CoordinationResult& result, BootTime now);
  [[nodiscard]] bool wants_own_lease() const;
  void read_own_lease();
  [[nodiscard]] Span lease_part(int parts) const { return settings_.parameters.lease / parts; }
  [[nodiscard]] bool is_under_way(Purpose purpose, const std::string& name = {}) const;
  [[nodiscard]] bool may_try(Purpose purpose);

  RingSettings settings_;
  Permissions permissions_;
  Ownership ownership_;
  Lease lease_;
  Survey survey_;
  bool is_connected_ = false;
  bool may_announce_ = false;
  bool is_draining_ = false;
  bool has_let_go_ = false;
  std::size_t set_up_ = 0;  // nodes that are there
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, UnderWay> under_way_;
  std::optional<std::uint64_t> own_read_;  // of our lease's node
  BootTime survey_due_;
  BootTime own_read_due_;
  // The next pause after an announcement or a proposal that told nothing, in first pauses.
  int failed_writes_ = 0;
  // By rounds of the survey: what has failed is tried again when more is known.
  std::map<Purpose, std::uint64_t> tried_;
  // Renewals that could not be certified, by the member's name.
  std::map<std::string, std::pair<NodeVersion, ViewNumber>> uncertain_;
  // Checks of a renewal whose result is unknown, by the member's name: in which round of the
  // survey.
  std::map<std::string, std::uint64_t> unanswered_;
  std::uint64_t rounds_used_ = 0;          // by propose()
  std::optional<BootTime> differs_since_;  // the members from those who have announced themselves
  std::optional<BootTime> propose_at_;
  std::map<std::string, std::string> reported_;
  std::deque<RingAction> actions_;
};

}  // namespace prophecy::dht
