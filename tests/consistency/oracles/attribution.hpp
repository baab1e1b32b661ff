// `Attribution` is the oracle that asks whose answer a client got: the group's to the client's own
// request with constants in place of its exceptions, or one origin's to the client's own request.
// No session is given to two clients, no byte is of another body than the rest, and an answer that
// was not verified carries no entity tag.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "consistency/oracles/breach.hpp"
#include "consistency/origins/page.hpp"

namespace prophecy::consistency {

struct Delivered {
  Page page = Page::register_value;
  std::string_view agent;
  std::string_view address;
  std::uint16_t status = 0;
  std::string_view text;
  std::string_view cookie;
};

class Attribution {
 public:
  explicit Attribution(Breach& breach) : breach_(breach) {}

  void check_verified(const Delivered& delivered);
  void check_unverified(bool has_tag);
  // An answer of a correct origin on a shared connection was given to the read that it was made
  // for.
  void check_paired(bool is_paired);
  // A body came in parts that are of no text of the service.
  void note_patchwork(std::string_view agent);

 private:
  Breach& breach_;
  std::set<std::string> cookies_;  // that clients have got
};

}  // namespace prophecy::consistency
