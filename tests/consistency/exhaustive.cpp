#include "consistency/exhaustive.hpp"

#include <algorithm>
#include <optional>

namespace prophecy::consistency {
namespace {

class Trial {
 public:
  Trial(const History& history, Instants instants)
      : operations_(history.operations), instants_(instants), progress_(operations_.size()) {}

  bool run() { return is_complete() || place_any(); }

 private:
  enum class Progress : std::uint8_t { nothing, looked, done };
  struct OperationProgress {
    Progress progress = Progress::nothing;
    std::size_t seen = 0;  // the state that it saw when it looked
  };

  [[nodiscard]] static bool is_optional(const Operation& operation) {
    return is_write(operation.kind) ? operation.answered == kNever : !operation.value;
  }

  [[nodiscard]] bool is_complete() const {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (!is_optional(operations_[i]) && progress_[i].progress != Progress::done) return false;
    }
    return true;
  }

  // An instant of the operation that may lie from `since` on.
  [[nodiscard]] bool may_be_placed(std::size_t i, Instant since) const {
    for (std::size_t j = 0; j < operations_.size(); ++j) {
      const Operation& other = operations_[j];
      const Progress progress = progress_[j].progress;
      const Instant until = operations_[i].answered;
      const bool is_late = (until < other.invoked && progress != Progress::nothing) ||
                           (until < other.acceptable && progress == Progress::done);
      const bool is_early =
          other.answered < since && progress != Progress::done && !is_optional(other);
      if (is_late || is_early) return false;
    }
    return true;
  }

  bool place_any() {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const bool is_done = progress_[i].progress == Progress::done;
      if (!is_done && may_be_placed(i, operations_[i].invoked) && place(i)) return true;
    }
    return false;
  }

  bool place(std::size_t i) {
    switch (operations_[i].kind) {
      case Kind::write:
        return place_write(i);
      case Kind::publish:
        return progress_[i].progress == Progress::looked ? accept(i) : place_write(i);
      case Kind::audit:
        return operations_[i].value == states_.back() && finish(i);
      case Kind::read:
        return progress_[i].progress == Progress::looked ? accept(i) : place_look(i);
    }
    return false;
  }

  bool place_write(std::size_t i) {
    states_.push_back(*operations_[i].value);
    const bool is_accepted_later =
        operations_[i].kind == Kind::publish && operations_[i].answered != kNever;
    const bool found = is_accepted_later ? place_look(i) : finish(i);
    states_.pop_back();
    return found;
  }

  bool place_look(std::size_t i) {
    progress_[i] = {Progress::looked, states_.size() - 1};
    const bool found = instants_ == Instants::one ? accept(i) : run();
    progress_[i] = {};
    return found;
  }

  bool accept(std::size_t i) {
    if (!may_be_placed(i, operations_[i].acceptable)) return false;
    if (accept_as(i, progress_[i].seen)) return true;
    return newest_ && accept_as(i, *newest_);
  }

  // `state` is a number in the order of writes.
  bool accept_as(std::size_t i, std::size_t state) {
    if (operations_[i].value && operations_[i].value != states_[state]) return false;
    const auto before = newest_;
    newest_ = std::max(newest_.value_or(0), state);
    const bool found = finish(i);
    newest_ = before;
    return found;
  }

  bool finish(std::size_t i) {
    const OperationProgress before = progress_[i];
    progress_[i].progress = Progress::done;
    const bool found = run();
    progress_[i] = before;
    return found;
  }

  const std::vector<Operation>& operations_;
  Instants instants_;
  std::vector<OperationProgress> progress_;
  std::vector<Value> states_{kInitial};
  std::optional<std::size_t> newest_;  // state that an accepted read has returned
};

}  // namespace

bool holds_by_trying_all(const History& history, Instants instants) {
  return Trial(history, instants).run();
}

}  // namespace prophecy::consistency
