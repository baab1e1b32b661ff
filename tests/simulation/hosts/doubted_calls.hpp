// `DoubtedCalls` finds the calls of a client that will have no agreed answer: where 2f+1 equal ones
// are asked for (linearizable_reads), and a correct replica had none. It was in doubt about the
// write, or has a state from others without the reply (docs/protocol.md).
//
// Where faulty replicas are silent, the client waits for its deadline. Its users give such a call
// up when all that are not faulty in the end have answered.
#pragma once

#include <map>
#include <optional>

#include "pbft/wire/frame.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

class DoubtedCalls {
 public:
  explicit DoubtedCalls(const Scenario& scenario);

  // The client sends a frame, or receives one.
  void on_request(const pbft::Frame& frame);
  void on_reply(ByteView frame, TimePoint now);
  // The request of a call that is to be given up, each once.
  [[nodiscard]] std::optional<pbft::Frame> take(TimePoint now);
  // Such a request is for that operation, by its digest maybe.
  [[nodiscard]] bool is_for(const pbft::Frame& request, ByteView operation) const;
  // A correct replica has said that it has no answer to the call that is for this operation.
  [[nodiscard]] bool lacks_answer(ByteView operation) const;

 private:
  // The last request of a session.
  struct Asked {
    std::uint64_t timestamp = 0;
    pbft::Frame request;
    std::uint64_t answered = 0;  // bits of replicas
    std::uint64_t without = 0;   // of these, such that had no answer
    std::optional<TimePoint> since;
    bool is_given_up = false;
  };

  bool may_happen_;
  std::uint32_t replicas_;
  std::uint64_t awaited_;  // bits of replicas
  std::uint64_t liars_;
  std::map<std::uint32_t, Asked> sessions_;
};

}  // namespace prophecy::simulation
