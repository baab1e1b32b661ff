#include "consistency/origins/ballot.hpp"

#include "base/assert.hpp"
#include "canonical/answer_collector.hpp"
#include "replica_client/core/vote_tally.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::size_t kHeldBytesMax = 1 << 20;

}  // namespace

const FormCache::Form& FormCache::of(const PageAnswer& answer, const PageRequest& request) {
  std::string name = std::to_string(answer.status) + (answer.varies ? " v " : "   ") +
                     (request.is_head ? "h " : "  ") + (answer.is_large ? "l " : "  ") +
                     std::to_string(answer.wrong_block.value_or(9)) + answer.cookie + '\n' +
                     answer.text;
  const auto [found, is_new] = forms_.try_emplace(std::move(name));
  if (!is_new) return found->second;
  http::Response response = answer.head(request);
  response.body = answer.body(request);
  sketch::AnswerCollector collector(profile_, kHeldBytesMax);
  sketch::AnswerForm form;
  const auto fault = collector.finish(canonicalizer_, response, request.is_head, form);
  ASSERT(fault == sketch::AnswerFault::none);
  found->second.encoded = sketch::encode(form);
  found->second.digest = sha256(found->second.encoded);
  return found->second;
}

Outcome hold_ballot(const RunSettings& settings, FormCache& forms, const PageRequest& request,
                    const std::vector<std::optional<PageAnswer>>& votes,
                    const std::vector<std::size_t>& order) {
  using replica_client::VoteTally;
  VoteTally tally(static_cast<std::uint32_t>(settings.origins),
                  static_cast<std::uint32_t>(settings.faults));
  for (const std::size_t origin : order) {
    const auto& vote = votes[origin];
    const auto from = static_cast<NodeId>(origin);
    if (vote && vote->manner == Manner::whole) {
      tally.on_vote(from, forms.of(*vote, request).digest);
    } else {
      tally.on_no_vote(from);
    }
  }
  Outcome outcome;
  if (tally.state() != VoteTally::State::agreed) return outcome;
  outcome.is_strong = tally.agreeing() >= settings.strong();
  for (std::size_t origin = 0; origin < votes.size(); ++origin) {
    const auto& digest = tally.vote(static_cast<NodeId>(origin));
    if (!digest) continue;
    if (*digest == tally.agreed()) {
      outcome.agreed = forms.of(*votes[origin], request).encoded;
    } else {
      outcome.refuted.push_back(origin);
    }
  }
  return outcome;
}

}  // namespace prophecy::consistency
