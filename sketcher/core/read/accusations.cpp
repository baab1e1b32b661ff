#include "sketcher/core/read/accusations.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sketcher/core/read/mutation.hpp"

namespace prophecy::sketcher {

using http::ExchangeEnd;

namespace {

Sketch beginning_of(ByteView digest) {
  Sketch beginning{};
  std::copy_n(digest.begin(), std::min(digest.size(), beginning.size()), beginning.begin());
  return beginning;
}

}  // namespace

Accusations::Accusations(ReadGroup& group)
    : group_(group),
      refuted_(group.size()),
      refuted_votes_(group.size()),
      budgets_(group.size()),
      dependent_(group.size()) {}

bool Accusations::DependentKeys::has(const Sketch& key, TimePoint now) const {
  return std::any_of(last.begin(), last.end(),
                     [&](const Entry& entry) { return entry.key == key && now < entry.until; });
}

void Accusations::DependentKeys::add(const Sketch& key, TimePoint now) {
  last[next++ % kKept] = {key, now + kTime};
}

bool Accusations::take_budget(NodeId replica, TimePoint now) {
  Budget& budget = budgets_[replica];
  if (is_mutated(Mutation::confirms_without_bound)) return ++budget.under_way > 0;
  if (budget.under_way >= kUnderWayMax || !pay(budget, now)) return false;
  ++budget.under_way;
  return true;
}

bool Accusations::pay(Budget& budget, TimePoint now) {
  const TimePoint earliest = now - kConfirmationInterval * (kConfirmationsAtOnce - 1);
  if (budget.paid_until > now) return false;
  budget.paid_until = std::max(budget.paid_until, earliest) + kConfirmationInterval;
  return true;
}

// An error that the others do not have is trouble, and counts against its origin's availability. So
// does a wish to be asked later where the others give the answer: each such wish costs a call to
// the group, and an origin that has too much to do is better drawn less.
bool Accusations::is_busy(NodeId replica, std::uint16_t status, bool is_settled) {
  if (!sketch::is_transient_status(status) || is_mutated(Mutation::busy_accuses)) return false;
  note_noise(replica);
  if (is_settled || status >= 500) group_.counters(replica).error_answers.add();
  return true;
}

const Accusations::Confirmation* Accusations::on_refuted_read(
    const AccusedRead& read, const Evidence& evidence, const sketch::AnswerForm& agreed,
    const Sketch& agreed_sketch, Sigma sigma, std::string constant_wire, RequestCounters& counters,
    TimePoint now) {
  const NodeId replica = evidence.replica;
  if (constant_wire.empty() || is_mutated(Mutation::exceptions_accuse)) {
    if (is_busy(replica, evidence.status, true)) return nullptr;
    accuse(read, evidence, agreed, agreed_sketch, sigma);
    return nullptr;
  }
  if (dependent_[replica].has(read.key, now) || !take_budget(replica, now)) {
    note_noise(replica);
    return nullptr;
  }
  const std::uint64_t number = ++last_number_;
  Confirmation& confirmation = confirmations_[number];
  confirmation.number = number;
  confirmation.replica = replica;
  confirmation.form.is_read = true;
  confirmation.form.is_head = read.method == "HEAD";
  confirmation.form.authority = read.authority;
  confirmation.form.target = read.target;
  confirmation.form.wire = std::move(constant_wire);
  confirmation.method = read.method;
  confirmation.key = read.key;
  confirmation.slot = read.slot;
  confirmation.expected = agreed_sketch;
  confirmation.floor = evidence.floor;
  confirmation.counters = &counters;
  return &confirmation;
}

std::optional<Accusations::Confirmed> Accusations::on_confirmed(std::uint64_t number,
                                                                ExchangeEnd end,
                                                                const http::Response& response,
                                                                TimePoint now) {
  const auto found = confirmations_.find(number);
  if (found == confirmations_.end()) return std::nullopt;
  Confirmation confirmation = std::move(found->second);
  confirmations_.erase(found);
  const NodeId replica = confirmation.replica;
  --budgets_[replica].under_way;
  OriginCounters& counters = group_.counters(replica);
  counters.confirmations.add();
  sketch::AnswerForm form;
  counters.exchanges[static_cast<std::size_t>(end)].add();
  const bool is_head = confirmation.form.is_head;
  if (end != ExchangeEnd::answered && end != ExchangeEnd::too_large) return std::nullopt;
  const bool is_whole = end == ExchangeEnd::answered;
  const bool has_form =
      is_whole && group_.read_answer(replica, response, is_head, form) == sketch::AnswerFault::none;
  // An answer without a canonical form is evidence by its status alone.
  if (!has_form) form = {.status = 0, .head = {}, .body = {}};
  if (!has_form && is_whole) form.status = response.status;
  const bool is_settled =
      group_.holds(confirmation.key, confirmation.slot, confirmation.expected) &&
      group_.floors().at(confirmation.slot) == confirmation.floor;
  if (is_busy(replica, form.status, is_settled)) return std::nullopt;
  const bool is_too_large = !is_whole || group_.is_for_blocks(form, is_head);
  const bool is_sketched = has_form && !is_too_large;
  const std::optional<Sketch> sketch = is_sketched ? group_.sketch_of(form) : std::nullopt;
  if (sketch == confirmation.expected) dependent_[replica].add(confirmation.key, now);
  if (sketch == confirmation.expected || !is_settled) {
    note_noise(replica);
    return std::nullopt;
  }
  Evidence evidence = Evidence::of(replica, form, sketch);
  evidence.is_too_large = is_too_large;
  evidence.floor = confirmation.floor;
  evidence.is_confirmed = true;
  return Confirmed{std::move(confirmation), std::move(evidence)};
}

void Accusations::accuse(const AccusedRead& read, const Evidence& evidence,
                         const sketch::AnswerForm& agreed, const Sketch& agreed_sketch,
                         Sigma sigma) {
  if (is_mutated(Mutation::never_accuses)) return;
  const sketch::AnswerForm refuted = evidence.form();
  Divergence divergence;
  divergence.kind = DivergenceKind::fast_read;
  divergence.replica = evidence.replica;
  divergence.method = read.method;
  divergence.target = read.target;
  divergence.authority = read.authority;
  divergence.sigma = sigma;
  divergence.differences = sketch::compare(refuted, agreed);
  if (evidence.wrong_block && divergence.differences.empty()) {  // beyond the digests that are kept
    divergence.differences = {{"body", "", agreed.blocks.begin_of(evidence.wrong_block->block)}};
  }
  divergence.answer_digest = evidence.sketch ? to_hex(*evidence.sketch) : "";
  divergence.agreed_digest = to_hex(agreed_sketch);
  divergence.answer_status = refuted.status;
  divergence.agreed_status = agreed.status;
  divergence.answer_body_bytes = evidence.body_bytes;
  divergence.agreed_body_bytes = agreed.body_bytes();
  group_.reports().report(divergence);
  if (evidence.sketch) refuted_.add(read.key, *evidence.sketch, evidence.replica);
}

void Accusations::on_refuted_vote(const replica_client::Refutation& vote, const Sketch& key,
                                  bool is_settled) {
  if (is_busy(vote.replica, vote.vote_status, is_settled)) return;
  if (!is_settled && !is_mutated(Mutation::noise_accuses)) return note_noise(vote.replica);
  if (is_mutated(Mutation::never_accuses)) return;
  Divergence divergence;
  divergence.kind = group_.has_order() ? DivergenceKind::replicated : DivergenceKind::vote;
  divergence.replica = vote.replica;
  divergence.method = vote.method;
  divergence.target = vote.target;
  divergence.authority = vote.authority;
  divergence.answer_status = vote.vote_status;
  divergence.answer_digest = to_hex(vote.vote_digest);
  divergence.agreed_digest = to_hex(vote.agreed_digest);
  group_.reports().report(divergence);
  // A vote may also differ in its place alone. Its answer was not early then.
  const bool is_early = is_settled && !std::ranges::equal(vote.vote_digest, vote.agreed_digest);
  if (is_early) refuted_votes_.add(key, beginning_of(vote.vote_digest), vote.replica);
}

void Accusations::on_agreed_votes(const Sketch& key, const Sha256::Digest& digest) {
  if (!refuted_votes_.empty()) vindicate(refuted_votes_.take(key, beginning_of(digest)));
}

void Accusations::vindicate(ReadGroup::ReplicaSet early) {
  for (; early != 0; early &= early - 1)
    group_.counters(static_cast<NodeId>(std::countr_zero(early))).vindications.add();
}

}  // namespace prophecy::sketcher
