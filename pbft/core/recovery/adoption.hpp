// `Adoption` makes the present state of the services the group's, where operators say so: for a
// group in which no replica has a state that it could restore, though the services are well.
//
// Each replica tells the others, under its MACs, the root of the state that its service is in, and
// up to which number that may hold the effects of batches. An operator at each replica then names a
// root and a number. Once 2f+1 replicas agree to the same two, each of them goes on from its
// present state: batches up to that number count as executed and are not handed to the service any
// more, the next ones are. A checkpoint behind it brings the state to the other replicas.
//
//   none --- look() ---> waiting --- nothing is under way ---> looking --- a root ---> told
//   told --- adopt() ---> waiting, looking --- the same root ---> agreed
//   agreed --- 2f+1 replicas agree to the same ---> adopted --- a checkpoint behind it ---> none
//   waiting, looking, told, agreed --- no root, ten minutes, or a state of the group's ---> none
//
// From look() on nothing is executed or restored here, or the state would not stay what was told.
// It is not written down: after a restart everything begins anew.
//
// f faulty replicas can neither bring it about, since operators of f+1 correct ones have to, nor
// prevent it: an operator leaves out those that tell another state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "pbft/core/execution/execution.hpp"
#include "pbft/core/recovery/recovery.hpp"
#include "pbft/core/state/adoption_status.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/state/log.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft {

class Adoption {
 public:
  Adoption(Context& context, const Log& log, const Checkpoints& checkpoints,
           ExecutionStage& execution, Recovery& recovery);

  // An operator's requests. The error says why not.
  [[nodiscard]] Result<> look(ReplicaActions& out);
  [[nodiscard]] Result<> adopt(const AdoptionOrder& order, ReplicaActions& out);

  // The present state was looked at; zero: it cannot be told.
  void on_looked(const Digest& state, ReplicaActions& out);
  bool on_present(ByteView frame, ReplicaActions& out);
  // After every event; true when the present state has been adopted.
  bool advance(ReplicaActions& out);
  void on_tick(ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const;

  [[nodiscard]] AdoptionStatus status() const;
  [[nodiscard]] AdoptionState state() const { return state_; }

 private:
  struct Peer {
    PresentState said;
    TimePoint heard_at = TimePoint::min();
    TimePoint answered_at = TimePoint::min();
  };

  [[nodiscard]] Result<> may_look() const;
  // Null when it has said nothing lately.
  [[nodiscard]] const PresentState* said_by(NodeId replica) const;
  [[nodiscard]] Result<> check(const AdoptionOrder& order) const;
  [[nodiscard]] bool is_agreed() const;
  [[nodiscard]] std::uint64_t reach() const;
  [[nodiscard]] PresentState own() const;
  void begin_look(ReplicaActions& out);
  void tell(ReplicaActions& out);
  void end(std::string why);

  Context& context_;
  const Log& log_;
  const Checkpoints& checkpoints_;
  ExecutionStage& execution_;
  Recovery& recovery_;
  AdoptionState state_ = AdoptionState::none;
  Digest root_{};            // that was told
  std::uint64_t reach_ = 0;  // likewise
  std::optional<AdoptionOrder> order_;
  std::optional<AdoptionOrder> adopted_;  // the last that was
  std::string problem_;                   // for which it ended the last time
  TimePoint until_{};
  TimePoint told_at_{};
  std::vector<Peer> peers_;
};

}  // namespace prophecy::pbft
