#include "base/io/descriptor_limit.hpp"

#include <algorithm>
#include <string>

#include <sys/resource.h>

namespace prophecy {

Result<> allow_descriptors(const DescriptorNeed& need, Logger& log) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return io_error("RLIMIT_NOFILE");
  rlimit raised = limit;
  if (raised.rlim_max < need.most) raised.rlim_max = need.most;
  // Not more than is needed: programs that this one starts inherit it, and some close all.
  raised.rlim_cur = std::max<rlim_t>(limit.rlim_cur, need.most);
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) {
    raised = {std::min(raised.rlim_cur, limit.rlim_max), limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) raised = limit;
  }
  const std::uint64_t allowed = raised.rlim_cur;
  if (allowed < need.least) {
    return Error{ErrorKind::limit,
                 "only " + std::to_string(allowed) + " files may be open (RLIMIT_NOFILE), and " +
                     std::to_string(need.least) + " are needed at least; raise the limit (ulimit " +
                     "-n, LimitNOFILE= of systemd) to " + std::to_string(need.most)};
  }
  if (allowed < need.most) {
    log.warning("too-few-descriptors", {{"allowed", allowed}, {"needed", need.most}});
  }
  return {};
}

}  // namespace prophecy
