// Takes the answer to a read as it comes from an origin, and makes its canonical form: whole, or,
// when it is larger than the profile's whole answers, in blocks. Holds no more than a whole answer
// at a time.
//
// The same body gives the same form, however it came: of a declared length, in chunks, or up to the
// end of the connection.
#pragma once

#include <optional>

#include "canonical/answer_form.hpp"

namespace prophecy::sketch {

class AnswerCollector {
 public:
  // `held_bytes_max` is the most that may be held; whole answers beyond it have no form here. The
  // profile must outlive it.
  AnswerCollector(const Profile& profile, std::size_t held_bytes_max);

  // The head is complete, or response.body has grown; what is not to be kept is taken out of it.
  // False: it will have no form.
  [[nodiscard]] bool on_progress(http::Response& response);
  // Once, behind the last piece. The form looks into response, canonicalizer and this object.
  [[nodiscard]] AnswerFault finish(AnswerCanonicalizer& canonicalizer, http::Response& response,
                                   bool answers_head, AnswerForm& form);

  // Of a body that is not held: bytes so far.
  [[nodiscard]] std::uint64_t bytes_let_go() const { return hasher_ ? hasher_->length() : 0; }

 private:
  const Profile& profile_;
  std::size_t held_bytes_max_;
  std::optional<BlockHasher> hasher_;
};

}  // namespace prophecy::sketch
