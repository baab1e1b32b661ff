#include "sketcher/core/read/write_invalidation.hpp"

#include <algorithm>

namespace prophecy::sketcher {

bool invalidates(std::string_view method, std::uint16_t status) {
  // GET and HEAD are no writes here, TRACE is refused.
  return method != "OPTIONS" && status >= 200 && status < 400;
}

OwedFloors invalidate(const WorkerReads& worker, GroupCore& group, const http::BaseUri& written,
                      const sketch::AnswerForm& answer, const SigmaOrder::Placed& write) {
  OwedFloors owed;
  const auto raise = [&](GroupCore& of, std::string_view target) {
    if (of.group.make_out_of_date(written.authority, target)) return;
    owed.push_back(
        {.group = &of, .authority = std::string(written.authority), .target = std::string(target)});
    if (&of == &group) owed.back().write = write;
  };
  // What an origin names is a path of its own. Any route that asks for it may have read it.
  const auto raise_all = [&](std::string_view target) {
    raise(group, target);
    std::vector<const GroupCore*> raised{&group};
    for (const AskedOrigins& route : worker.routes) {
      if (std::find(raised.begin(), raised.end(), route.group) != raised.end()) continue;
      if (!takes(route.pattern, written.authority, target)) continue;
      raise(*route.group, target);
      raised.push_back(route.group);
    }
  };
  raise(group, written.target);
  sketch::AnswerFields fields(answer);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name != "location" && name != "content-location") continue;
    const auto target = http::resolve_at_same_origin(written, value, worker.target_bytes_max);
    if (!target || *target == written.target) continue;
    raise_all(*target);
  }
  return owed;
}

}  // namespace prophecy::sketcher
