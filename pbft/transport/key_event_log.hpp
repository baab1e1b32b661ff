// What operators hear of the exchange of session keys: the same event on both sides.
#pragma once

#include "base/log.hpp"
#include "pbft/core/key_exchange.hpp"

namespace prophecy::pbft {

inline void log_key_event(Logger& log, const KeyEvent& event) {
  switch (event.kind) {
    case KeyEvent::Kind::wrong_keys:
      return log.error("wrong-keys", {{"of", event.member},
                                      {"problem",
                                       "its signature does not fit its public key here: group file "
                                       "and key file disagree"}});
    case KeyEvent::Kind::refused:
      return log.error("wrong-keys",
                       {{"found_by", event.member},
                        {"problem",
                         "our signature does not fit our public key there: group file "
                         "and key file disagree"}});
  }
}

}  // namespace prophecy::pbft
