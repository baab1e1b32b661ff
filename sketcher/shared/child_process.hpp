// A child of the master: holds none of its descriptors but those that it is to have, and dies with
// it.
#pragma once

#include <functional>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "sketcher/config/settings.hpp"

namespace prophecy::sketcher {

struct ChildProcess {
  int pid = -1;
  UniqueFd channel;  // the master's end: messages of a size of their own, and no waiting
};

// Forks. In the child, which is the settings' account from then on, runs `work` with its end of the
// channel, and exits with what that returns; nothing of the master's is destroyed there. Of the
// open descriptors the child has these: the standard streams, the channel and `keep`.
[[nodiscard]] Result<ChildProcess> start_child(const Settings& settings, std::vector<int> keep,
                                               const std::function<int(UniqueFd channel)>& work);

}  // namespace prophecy::sketcher
