// Write invalidation: after an unsafe request has succeeded, the answers that were agreed about its
// URI before count for no read any more, nor those about the URIs that Location and
// Content-Location of its answer lead to at the same scheme and authority (RFC 9111, section 4.4).
// docs/consistency.md has the argument.
#pragma once

#include <string_view>

#include "canonical/answer_form.hpp"
#include "http/uri_reference.hpp"
#include "sketcher/core/read/group_core.hpp"

namespace prophecy::sketcher {

// Whether such an answer to such a method makes anything out of date: the method was unsafe, and
// the request succeeded.
[[nodiscard]] bool invalidates(std::string_view method, std::uint16_t status);

// Requires that the answer has been placed in the order of `group`, and that its client has not got
// it yet. Where another route takes a URI to another group, only what that group answered before is
// out of date: an answer that is under way there has no place before or behind the write.
void invalidate(const WorkerReads& worker, ReadGroup& group, const http::BaseUri& written,
                const sketch::AnswerForm& answer);

}  // namespace prophecy::sketcher
