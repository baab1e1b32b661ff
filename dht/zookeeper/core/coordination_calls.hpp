// `CoordinationCalls` carries the ring's calls to a Session's requests, and completions and reports
// back to results and events.
//
//     read, children   GetData, GetChildren. With a watch, Exists goes before it on the same
//                      connection: the watch of Exists fires too where a node appears, and nothing
//                      that changes between the two goes by unseen. It may fire for a change of
//                      the node's data where only children were asked for: a hint too many.
//     write            Multi, of one step as well: it is committed by a quorum, also where all
//                      steps are checks.
//
// A call that has never left yields `unknown`: the ring repeats it once it is connected, as it
// would any other.
//
// Deterministic, single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "dht/core/coordination.hpp"
#include "dht/zookeeper/core/action.hpp"
#include "dht/zookeeper/core/request.hpp"

namespace prophecy::zookeeper {

class CoordinationCalls {
 public:
  struct Numbered {
    std::uint64_t number = 0;
    Request request;
  };

  // The requests, in the order in which they are to be called; at most two.
  [[nodiscard]] std::vector<Numbered> begin(dht::CoordinationCall call);
  // Takes the completion of one of those requests. Returns the result with the last one of a call.
  [[nodiscard]] std::optional<dht::CoordinationResult> complete(Completion completion);
  // Nothing for a report that the ring does not need.
  [[nodiscard]] static std::optional<dht::SessionEvent> event(Report::Kind kind);
  [[nodiscard]] std::size_t under_way() const { return calls_.size(); }

 private:
  struct UnderWay {
    std::uint64_t call = 0;
    std::size_t left = 0;  // requests without a completion
    std::optional<Completion> failed_watch;
  };

  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, UnderWay> calls_;  // by the last request's number
};

}  // namespace prophecy::zookeeper
