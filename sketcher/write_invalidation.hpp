// After an unsafe request has succeeded, what was agreed about its URI before is not valid for
// reads any more, nor about the URIs that Location and Content-Location of its answer lead to at
// the same scheme and authority (RFC 9111, 4.4). docs/consistency.md says what that is good for.
#pragma once

#include <string_view>

#include "http/uri_reference.hpp"
#include "sketch/answer_form.hpp"
#include "sketcher/worker_context.hpp"

namespace prophecy::sketcher {

// Whether such an answer to such a method makes anything out of date: it was unsafe, and
// successful.
[[nodiscard]] bool invalidates(std::string_view method, std::uint16_t status);

// Requires that the answer has been placed in the order of `group`, and that its client has not got
// it yet. Of another group, as far as another route takes a URI, only what was answered before is
// out of date: what it is just answering has no place before or behind the write.
void invalidate(WorkerContext& context, GroupContext& group, const http::BaseUri& written,
                const sketch::AnswerForm& answer);

}  // namespace prophecy::sketcher
