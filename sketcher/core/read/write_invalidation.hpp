// Write invalidation: after an unsafe request has succeeded, the answers that were agreed about its
// URI before count for no read any more, nor those about the URIs that Location and
// Content-Location of its answer lead to at the same scheme and authority (RFC 9111, section 4.4).
// docs/consistency.md has the argument.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "canonical/answer_form.hpp"
#include "http/uri_reference.hpp"
#include "sketcher/core/read/group_core.hpp"

namespace prophecy::sketcher {

// Whether such an answer to such a method makes anything out of date: the method was unsafe, and
// the request succeeded.
[[nodiscard]] bool invalidates(std::string_view method, std::uint16_t status);

// A floor that the owner of the URI's partition has to raise before a write is answered.
struct OwedFloor {
  GroupCore* group = nullptr;
  std::string authority = {};
  std::string target = {};
  std::optional<SigmaOrder::Placed> write = {};  // in the order of `group`, if it has one

  // Here, if the partition is ours by now.
  [[nodiscard]] bool raise() const {
    return group->group.make_out_of_date(authority, target, write ? &*write : nullptr);
  }
};
using OwedFloors = std::vector<OwedFloor>;

// Returns the floors that it may not raise here. Requires that the answer has been placed in the
// order of `group`, as `write`, and that its client has not got it yet. What the answer names is
// out of date in `group`, and in each other group that a route asks for it. Of another group only
// what it answered before is: an answer that is under way there has no place before or behind the
// write.
[[nodiscard]] OwedFloors invalidate(const WorkerReads& worker, GroupCore& group,
                                    const http::BaseUri& written, const sketch::AnswerForm& answer,
                                    const SigmaOrder::Placed& write);

}  // namespace prophecy::sketcher
