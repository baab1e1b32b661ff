// A ballot: the votes of a simulated group's origins on one call, in one order, counted by the
// tally of groups that have no order (replica_client/core/vote_tally.hpp). The first f+1 equal
// votes are the group's answer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "canonical/answer_form.hpp"
#include "consistency/origins/page.hpp"

namespace prophecy::consistency {

// The encoded forms of answers, each made once.
class FormCache {
 public:
  struct Form {
    Bytes encoded;
    Sha256::Digest digest{};
  };
  explicit FormCache(const sketch::Profile& profile) : profile_(profile), canonicalizer_(profile) {}
  // Valid as long as the cache.
  [[nodiscard]] const Form& of(const PageAnswer& answer, const PageRequest& request);

 private:
  const sketch::Profile& profile_;
  sketch::AnswerCanonicalizer canonicalizer_;
  std::map<std::string, Form> forms_;
};

struct Outcome {
  std::optional<Bytes> agreed;  // none: there is no agreement
  bool is_strong = false;       // as many as it takes to name a liar have given it
  std::vector<std::size_t> refuted;
};

// `votes` by origin, each whole, or nothing; `order` is the order in which they come.
[[nodiscard]] Outcome hold_ballot(const RunSettings& settings, FormCache& forms,
                                  const PageRequest& request,
                                  const std::vector<std::optional<PageAnswer>>& votes,
                                  const std::vector<std::size_t>& order);

}  // namespace prophecy::consistency
