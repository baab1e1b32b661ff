#include "measurement/analysis/weak_sketch.hpp"

#include <algorithm>
#include <string>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "canonical/answer_form.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kSha1 = "sha1:";

sketch::Sketch sketch_of_text(std::string_view text) {
  Sha1 hash;
  hash.update(as_bytes(text));
  return hash.finish();
}

}  // namespace

sketch::Sketch weak_sketch_of(const WeakAnswer& answer) {
  std::string text = std::to_string(answer.status) + ' ' + std::to_string(answer.body_bytes);
  // No field's value has a line end.
  text.append("\n").append(answer.etag).append("\n").append(answer.last_modified);
  return sketch_of_text(text);
}

sketch::Sketch weak_sketch_of_digest(std::string_view digest) {
  if (digest.starts_with(kSha1)) digest.remove_prefix(kSha1.size());
  return sketch_of_text(digest);
}

AnswerKind weak_kind_of(std::uint64_t status) {
  sketch::AnswerForm form;
  form.status = static_cast<std::uint16_t>(std::min<std::uint64_t>(status, 999));
  return sketch::has_sketchable_status(form) ? AnswerKind::weak : AnswerKind::weak_transient;
}

}  // namespace prophecy::measurement
