// `Taker` is a client that takes a body part by part, at a pace of its own, and may want a range of
// it alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "consistency/origins/bodies.hpp"
#include "simulation/random.hpp"
#include "sketcher/core/read/read_machine.hpp"

namespace prophecy::consistency {

class Taker {
 public:
  explicit Taker(simulation::Random& random) : random_(random) {}

  void reset();
  // What it wants of a body of so many bytes.
  [[nodiscard]] sketcher::ReadMachine::ClientView view(std::uint64_t length, bool may_leave);
  void begin() { has_begun_ = true; }
  // Yields whether it takes more now.
  [[nodiscard]] bool take(std::string_view bytes);
  // It takes more again, if it did not.
  [[nodiscard]] bool becomes_ready();
  // An origin has brought so many bytes. Yields those that it has brought while nothing is taken.
  [[nodiscard]] std::size_t note_brought(std::size_t bytes);

  void arm_untaken(bool is_armed) { is_untaken_armed_ = is_armed; }
  [[nodiscard]] bool is_untaken_armed() const { return is_untaken_armed_; }

  [[nodiscard]] bool has_begun() const { return has_begun_; }
  [[nodiscard]] bool is_complete() const { return taken_.size() == size_; }
  // The text that all of it is of; nothing: it is of none. Requires is_complete().
  [[nodiscard]] std::optional<std::string> text() const { return text_of_part(taken_, first_); }

 private:
  simulation::Random& random_;
  bool has_begun_ = false;
  bool is_ready_ = true;
  bool is_untaken_armed_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t size_ = 0;
  std::string taken_;
  std::size_t untaken_ = 0;
};

}  // namespace prophecy::consistency
