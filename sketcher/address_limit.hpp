// How many connections each client address holds, with a bound for every one of them, so that one
// client cannot take the room of all others.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace prophecy::sketcher {

class AddressLimit {
 public:
  explicit AddressLimit(std::size_t connections_max) : connections_max_(connections_max) {}

  // False when this address already has all that it may have.
  [[nodiscard]] bool take(const std::string& address);
  // Requires a take() that was granted.
  void give_back(const std::string& address);

  [[nodiscard]] std::size_t addresses() const { return held_.size(); }

 private:
  std::size_t connections_max_;
  std::unordered_map<std::string, std::size_t> held_;  // never 0
};

}  // namespace prophecy::sketcher
