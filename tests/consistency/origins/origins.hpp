// `Origins` are the origins of a simulated run: their registers, and their answers to fast reads. A
// correct one never answers an older state than before, unless its agent puts it back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consistency/origins/liars.hpp"
#include "consistency/origins/page.hpp"

namespace prophecy::consistency {

class Origins {
 public:
  Origins(const RunSettings& settings, simulation::Random& random);

  void write(Key key, const std::string& value);
  // A correct origin catches up a little. Not behind agents: there it has what its agent executes.
  void advance();
  // The agent of an origin has executed the write of this value, or gone back to it. Where none
  // lags, origins have it since write().
  void apply(std::size_t origin, Key key, const std::string& value);
  // All have the last state of each register, unless their agents have still to bring them there,
  // and none is busy any more.
  void calm_down();

  // One origin's answer to a fast read. Nothing: it hangs, which only a liar does.
  [[nodiscard]] std::optional<PageAnswer> answer(std::size_t origin, const PageRequest& request);
  // A correct origin's, of this state of a register.
  [[nodiscard]] PageAnswer honest_answer(std::size_t origin, const PageRequest& request,
                                         const std::string& value);

  [[nodiscard]] const States& states() const { return states_; }
  [[nodiscard]] const std::string& current(Key key) const { return states_[key].back(); }
  [[nodiscard]] std::string new_cookie() { return "session=" + std::to_string(++cookies_); }
  [[nodiscard]] Liars& liars() { return liars_; }
  [[nodiscard]] bool is_calm() const { return is_calm_; }

 private:
  const RunSettings& settings_;
  simulation::Random& random_;
  Liars liars_;
  States states_;
  std::vector<std::vector<std::size_t>> applied_;  // by origin and key: the number of the state
  std::uint64_t cookies_ = 0;
  bool is_calm_ = false;
};

}  // namespace prophecy::consistency
