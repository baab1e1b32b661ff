// `Paths` names the ring's nodes in the coordination service.
//
//   ROOT/view           the newest view; changed by compare-and-set
//   ROOT/members/NAME   an ephemeral node for each process that would like to take part
//   ROOT/leases/NAME    a node for each member, which it writes alone
//   ROOT/settings       what operators have set for all members; changed by compare-and-set
#pragma once

#include <string>

namespace prophecy::dht {

struct Paths {
  std::string root = "/prophecy";

  [[nodiscard]] std::string view() const { return root + "/view"; }
  [[nodiscard]] std::string settings() const { return root + "/settings"; }
  [[nodiscard]] std::string members() const { return root + "/members"; }
  [[nodiscard]] std::string member(const std::string& name) const { return members() + "/" + name; }
  [[nodiscard]] std::string leases() const { return root + "/leases"; }
  [[nodiscard]] std::string lease(const std::string& name) const { return leases() + "/" + name; }
};

}  // namespace prophecy::dht
