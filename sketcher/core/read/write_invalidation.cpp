#include "sketcher/core/read/write_invalidation.hpp"

namespace prophecy::sketcher {

bool invalidates(std::string_view method, std::uint16_t status) {
  // GET and HEAD are no writes here, TRACE is refused.
  return method != "OPTIONS" && status >= 200 && status < 400;
}

void invalidate(const WorkerReads& worker, ReadGroup& group, const http::BaseUri& written,
                const sketch::AnswerForm& answer) {
  group.make_out_of_date(written.authority, written.target);
  sketch::AnswerFields fields(answer);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name != "location" && name != "content-location") continue;
    const auto target = http::resolve_at_same_origin(written, value, worker.target_bytes_max);
    if (!target || *target == written.target) continue;
    const auto route = worker.router.choose(written.authority, *target).route;
    if (!route) continue;
    worker.groups_by_route[*route]->group.make_out_of_date(written.authority, *target);
  }
}

}  // namespace prophecy::sketcher
