#include "sketcher/core/read/write_invalidation.hpp"

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
  raise(group, written.target);
  sketch::AnswerFields fields(answer);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name != "location" && name != "content-location") continue;
    const auto target = http::resolve_at_same_origin(written, value, worker.target_bytes_max);
    if (!target || *target == written.target) continue;
    const auto route = worker.router.choose(written.authority, *target).route;
    if (!route) continue;
    raise(*worker.groups_by_route[*route], *target);
  }
  return owed;
}

}  // namespace prophecy::sketcher
