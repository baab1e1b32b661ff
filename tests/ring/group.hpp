// A model of a replica group with its origins: one order of requests, each carried out at one
// instant, on registers; and origins that serve a register's value of some earlier place in the
// order, each as far as it has come, the last of them whatever value there ever was.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dht/core/ownership.hpp"
#include "simulation/random.hpp"

namespace prophecy::ring {

using Register = std::size_t;
using Content = std::uint32_t;  // a value's number; 0 is what a register has at first

class Group {
 public:
  static constexpr std::size_t kOrigins = 4;

  struct Answer {
    Content content = 0;
    dht::OrderNumber number = 0;
    bool is_refused = false;  // of an older view, and no read: it was not carried out
  };

  explicit Group(std::size_t registers) : registers_(registers, {Version{}}) {}

  // ---- In the order. `also`: another register that the write changes at the same instant. `view`:
  // that the request names; 0: none.
  Answer read(Register at, dht::ViewNumber view) {
    view_ = std::max(view_, view);
    return {registers_[at].back().content, ++last_};
  }
  // Another request that is no read.
  Answer barrier(dht::ViewNumber view) {
    if (view != 0 && view < view_) return {.number = ++last_, .is_refused = true};
    return read(0, view);
  }
  Answer write(Register at, std::optional<Register> also, Content content, dht::ViewNumber view) {
    const dht::OrderNumber number = ++last_;
    if (view != 0 && view < view_) return {.number = number, .is_refused = true};
    view_ = std::max(view_, view);
    registers_[at].push_back({content, number});
    if (also) registers_[*also].push_back({content, number});
    return {content, number};
  }
  [[nodiscard]] dht::OrderNumber last() const { return last_; }
  [[nodiscard]] Content now(Register at) const { return registers_[at].back().content; }

  // ---- By one origin.
  [[nodiscard]] Content serve(std::size_t origin, Register at, simulation::Random& random) const {
    const std::vector<Version>& versions = registers_[at];
    if (origin + 1 == kOrigins) return versions[random.below(versions.size())].content;
    // The newest that it has come to.
    const auto behind = std::find_if(versions.rbegin(), versions.rend(), [&](const Version& one) {
      return one.number <= reached_[origin];
    });
    return behind->content;
  }
  // An origin comes up with the order, or part of the way.
  void advance(simulation::Random& random) {
    dht::OrderNumber& reached = reached_[random.below(kOrigins)];
    reached = random.chance(50) ? last_ : reached + random.below(last_ - reached + 1);
  }
  void advance_all() { reached_.fill(last_); }

 private:
  struct Version {
    Content content = 0;
    dht::OrderNumber number = 0;  // of the write
  };

  std::vector<std::vector<Version>> registers_;
  dht::OrderNumber last_ = 0;
  dht::ViewNumber view_ = 0;  // the newest that was named
  std::array<dht::OrderNumber, kOrigins> reached_{};
};

}  // namespace prophecy::ring
