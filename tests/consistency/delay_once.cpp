#include "consistency/delay_once.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "consistency/configuration.hpp"

namespace prophecy::consistency {
namespace {

enum class Step : std::uint8_t { invoked, acceptable, answered };

struct Event {
  Instant time = 0;
  Step step = Step::invoked;  // at equal times operations overlap: invocations first
  std::size_t operation = 0;
  auto operator<=>(const Event&) const = default;
};

using Configurations = std::set<Configuration>;

class Search {
 public:
  Search(const History& history, std::size_t configurations_max)
      : history_(history), configurations_max_(configurations_max) {
    for (const Operation& operation : history.operations) {
      if (operation.value) note_value(operation);
    }
    slot_of_.resize(history.operations.size());
    configurations_.emplace();
  }

  Decision run() {
    for (const Event& event : events()) {
      const Operation& operation = history_.operations[event.operation];
      if (event.step == Step::invoked) {
        invoke(operation, event.operation);
      } else if (event.step == Step::acceptable) {
        make_acceptable(slot_of_[event.operation]);
      } else if (const Verdict verdict = answer(operation, slot_of_[event.operation]);
                 verdict != Verdict::holds) {
        return {verdict, explain(verdict, operation)};
      }
    }
    return {};
  }

 private:
  struct ValueUse {
    bool is_written = false;
    bool is_read = false;
    Instant last_answered = 0;  // of those that read it
  };

  void note_value(const Operation& operation) {
    if (*operation.value >= uses_.size()) uses_.resize(*operation.value + 1);
    ValueUse& use = uses_[*operation.value];
    if (is_write(operation.kind)) {
      use.is_written = true;
    } else {
      use.is_read = true;
      use.last_answered = std::max(use.last_answered, operation.answered);
    }
  }

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> events;
    for (std::size_t i = 0; i < history_.operations.size(); ++i) {
      const Operation& operation = history_.operations[i];
      if (operation.answered != kNever) {
        events.push_back({operation.answered, Step::answered, i});
      } else if (is_write(operation.kind) && !uses_[*operation.value].is_read) {
        continue;
      }
      events.push_back({operation.invoked, Step::invoked, i});
      if (operation.acceptable > operation.invoked) {
        events.push_back({operation.acceptable, Step::acceptable, i});
      }
    }
    std::sort(events.begin(), events.end());
    return events;
  }

  void invoke(const Operation& operation, std::size_t number) {
    const auto free = std::find_if(slots_.begin(), slots_.end(),
                                   [](const Slot& slot) { return slot.operation == nullptr; });
    const auto slot = static_cast<std::size_t>(free - slots_.begin());
    if (free == slots_.end()) slots_.emplace_back();
    slots_[slot] = {&operation, operation.acceptable <= operation.invoked};
    slot_of_[number] = slot;
    change_all([&](Configuration& configuration) { configuration.on_invoked(slots_, slot); });
  }

  void make_acceptable(std::size_t slot) {
    slots_[slot].is_acceptable = true;
    change_all([&](Configuration& configuration) { configuration.on_acceptable(slots_); });
  }

  Verdict answer(const Operation& operation, std::size_t slot) {
    const Verdict verdict = complete(operation, slot);
    if (verdict != Verdict::holds) return verdict;
    slots_[slot] = {};
    change_all([&](Configuration& configuration) { configuration.on_answered(slots_, slot); });
    return Verdict::holds;
  }

  // Goes on from every configuration in all ways that lead to the operation being done. A read that
  // failed may as well have done nothing.
  Verdict complete(const Operation& operation, std::size_t slot) {
    const auto is_wanted = [&](Value value) {
      return value < uses_.size() && uses_[value].is_read &&
             uses_[value].last_answered >= operation.answered;
    };
    Configurations met = configurations_;
    std::vector<Configuration> open(met.begin(), met.end());
    Configurations done;
    if (!operation.value) done = configurations_;
    while (!open.empty()) {
      const Configuration configuration = std::move(open.back());
      open.pop_back();
      if (configuration.is_done(slot)) {
        done.insert(configuration);
        continue;
      }
      for (Configuration& next : configuration.choices(slots_, is_wanted)) {
        if (met.insert(next).second) open.push_back(std::move(next));
      }
      if (met.size() > configurations_max_) return Verdict::undecided;
    }
    if (done.empty()) return Verdict::violated;
    configurations_ = std::move(done);
    return Verdict::holds;
  }

  template <class Change>
  void change_all(Change change) {
    Configurations changed;
    for (Configuration configuration : configurations_) {
      change(configuration);
      changed.insert(std::move(configuration));
    }
    configurations_ = std::move(changed);
  }

  [[nodiscard]] std::string explain(Verdict verdict, const Operation& operation) const {
    std::ostringstream out;
    if (verdict == Verdict::undecided) {
      out << "more than " << configurations_max_ << " configurations before the answer to the "
          << history_.describe(operation) << '\n';
      return out.str();
    }
    out << "no instants can be found for the " << history_.describe(operation) << '\n';
    if (!uses_[*operation.value].is_written && operation.value != kInitial) {
      out << "  nobody has written what it returned\n";
    }
    std::set<std::pair<Value, Value>> told;
    for (const Configuration& configuration : configurations_) {
      const auto [current, accepted] = std::pair(configuration.current(), configuration.accepted());
      if (told.size() == kToldMax || !told.emplace(current, accepted).second) continue;
      out << "  at the answer before, the state may have been " << history_.name_of(current)
          << ", and the newest that was read "
          << (accepted == Configuration::kNone ? "none" : history_.name_of(accepted)) << '\n';
    }
    for (const Slot& other : slots_) {
      if (other.operation == nullptr || other.operation == &operation) continue;
      out << "  under way: the " << history_.describe(*other.operation) << '\n';
    }
    return out.str();
  }

  static constexpr std::size_t kToldMax = 4;

  const History& history_;
  std::size_t configurations_max_;
  std::vector<ValueUse> uses_;  // by value
  std::vector<std::size_t> slot_of_;
  Slots slots_;
  Configurations configurations_;
};

}  // namespace

Decision decide(const History& history, std::size_t configurations_max) {
  return Search(history, configurations_max).run();
}

}  // namespace prophecy::consistency
