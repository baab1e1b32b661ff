// What clients have seen, register by register, for the checker of delay-once consistency
// (tests/consistency/delay_once.hpp); and the first breach of any oracle.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "consistency/history.hpp"
#include "ring/group.hpp"
#include "ring/variant.hpp"

namespace prophecy::ring {

using consistency::Instant;

class Recorder {
 public:
  struct Id {
    Register at = 0;
    std::size_t index = 0;
  };

  explicit Recorder(std::size_t registers) : histories_(registers, consistency::History("v0")) {}

  Id begin(Register at, consistency::Kind kind, std::optional<Content> content, Instant now) {
    consistency::History& history = histories_[at];
    consistency::Operation operation{.kind = kind, .value = {}, .invoked = now};
    if (content) operation.value = history.number_of("v" + std::to_string(*content));
    history.operations.push_back(operation);
    return {at, history.operations.size() - 1};
  }
  void end(const Id& id, std::optional<Content> content, Instant now, Instant acceptable) {
    consistency::History& history = histories_[id.at];
    consistency::Operation& operation = history.operations[id.index];
    operation.answered = now;
    operation.acceptable = acceptable;
    if (content) operation.value = history.number_of("v" + std::to_string(*content));
  }
  // A read that has failed: it made nobody see anything any more.
  void end_unknown(const Id& id, Instant now) {
    histories_[id.at].operations[id.index].answered = now;
  }
  [[nodiscard]] const std::vector<consistency::History>& histories() const { return histories_; }

 private:
  std::vector<consistency::History> histories_;
};

struct Breach {
  Oracle oracle = Oracle::any;
  std::string text;
};

}  // namespace prophecy::ring
