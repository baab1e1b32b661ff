// `Prices` is the oracle of what one event may cause at one replica, and what one sender may: the
// table of docs/protocol.md, section "Prices".
//
// A step is one event that a replica was handed, with all that it asked for in answer. Replicas
// that lie pay as well: what their core does is right.
#pragma once

#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include "pbft/core/state/actions.hpp"
#include "simulation/cheap_keys.hpp"
#include "simulation/checker.hpp"
#include "tests/support/bounds_table.hpp"

namespace prophecy::simulation {

constexpr std::array<std::string_view, 9> kPriceNames{
    "part-bytes-per-step", "frames-per-step",          "bytes-per-step",
    "signatures-per-step", "signatures-made-per-step", "replies-per-step",
    "replies-per-second",  "signatures-of-strangers",  "tags-per-step"};

class Prices {
 public:
  // Without bounds nothing is checked.
  Prices(const test::BoundsTable* bounds, Checker& checker, NodeId replica)
      : bounds_(bounds), checker_(checker), replica_(replica) {}

  enum class Cause : std::uint8_t { member, stranger };
  void begin_step(Cause cause);
  // `first` of the frames to be sent that this step asked for.
  void end_step(const pbft::ReplicaActions& actions, TimePoint now, std::size_t first = 0);
  // The process has ended, and remembers nothing.
  void forget() { replies_.clear(); }

 private:
  // One request: client, session, timestamp.
  using Asked = std::tuple<NodeId, std::uint32_t, std::uint64_t>;
  struct Replies {
    TimePoint since;
    std::uint64_t in_second = 0;
    std::uint64_t step = 0;
    std::uint64_t in_step = 0;
  };

  void check(std::string_view bound, std::uint64_t number);
  void check_bytes(const pbft::ReplicaActions& actions, std::size_t first);
  void count_reply(const pbft::Outgoing& outgoing, TimePoint now);

  const test::BoundsTable* bounds_;
  Checker& checker_;
  NodeId replica_;
  Cause cause_ = Cause::member;
  KeyWork before_{};
  std::uint64_t steps_ = 0;
  std::map<Asked, Replies> replies_;
  TimePoint strangers_since_{};
  std::uint64_t strangers_signatures_ = 0;
};

}  // namespace prophecy::simulation
