// What of an exchange's answer comes in blocks, or in pieces that nobody verifies.
#include <utility>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "sketcher/answer.hpp"
#include "sketcher/exchange.hpp"

namespace prophecy::sketcher {

using replica_client::ReplicatedKind;

namespace {

// A large answer that changes between the group's agreement and the reading is asked for again.
constexpr std::uint32_t kLargeRoundsMax = 2;

}  // namespace

void Exchange::start_passing(http::OriginExchange& exchange, http::Response& response) {
  if (sink_.has_left()) {
    exchange.cancel();
    return end_for_nobody();
  }
  // Every body is sent on with its length. (One that comes without is held until it is whole.)
  std::uint64_t length = 0;
  const auto declared = response.fields.find("content-length");
  sketch::AnswerForm form;
  const bool usable = declared && http::parse_decimal(*declared, length) &&
                      group().answer_canonicalizer().canonicalize(response, false, form) ==
                          sketch::AnswerFault::none;
  if (!usable) return fast_.reject(exchange, response);
  form.blocks = {.length = length, .block_bytes = PassedAnswer::kPieceBytes, .digests = {}};
  // From here on each piece has a time of its own.
  timeout_.disarm();
  state_ = State::passing;
  counters_->answered_unverified.add();
  context_.counters.large.begun.add();
  if (!passed_) {
    PassedAnswerOwner& owner = *this;
    passed_ = std::make_unique<PassedAnswer>(owner);
  }
  const Part part = part_of(form, std::nullopt);
  const bool may_begin = sink_.may_take_blocks(PassedAnswer::kPieceBytes);
  sink_.on_large_begin(form, std::nullopt);
  if (state_ == State::passing) passed_->start(exchange, part.first, part.size, may_begin);
}

bool Exchange::on_passed_bytes(std::string& storage, std::size_t begin, std::size_t size) {
  return sink_.on_large_bytes(storage, begin, size);
}

void Exchange::on_passed_end(bool whole) {
  LargeCounters& counters = context_.counters.large;
  (whole ? counters.completed : counters.broken).add();
  finish();
  sink_.on_large_end(whole);
}

// What the client wants of a body that follows its head.
Exchange::Part Exchange::part_of(const sketch::AnswerForm& form,
                                 const std::optional<Sketch>& sketch) const {
  const AnswerContext asked{.conditions = conditions_of(*request_), .date = {}, .via = {}};
  const Answer selected(form, sketch, asked);
  return {selected.first(), selected.size()};
}

bool Exchange::start_remembered(const Sketch& sketch) {
  BlockLists::List list = context_.block_lists.find(sketch);
  if (!list) list = find_stored(sketch);
  if (!list) return false;
  context_.counters.large.lists_found.add();
  start_large(LargeAnswer::Source::remembered, std::move(list), sketch, counters_->answered_fast);
  return true;
}

BlockLists::List Exchange::find_stored(const Sketch& sketch) {
  BlockStore& lists = context_.table.blocks();
  auto found = lists.find(sketch);
  if (!found) return nullptr;
  // It may be torn: the sketch is proof of every byte.
  const auto form = sketch::decode(found->bytes);
  if (!form || !form->in_blocks() || group().sketch().of(*form) != sketch) return nullptr;
  if (found->is_old) lists.put(sketch, found->bytes);
  return context_.block_lists.add(sketch, std::move(found->bytes));
}

void Exchange::start_agreed(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                            Counter& answered) {
  // Of a read alone do correct members of a group agree on a list.
  if (!form_.is_read || form_.is_head) return fail(502, "no-agreement");
  ++large_rounds_;
  BlockLists::List list = sketch ? context_.block_lists.find(*sketch) : nullptr;
  if (!list) {
    list = sketch ? context_.block_lists.add(*sketch, sketch::encode(form))
                  : std::make_shared<const Bytes>(sketch::encode(form));
  }
  start_large(LargeAnswer::Source::agreed, std::move(list), sketch, answered);
}

void Exchange::start_large(LargeAnswer::Source source, BlockLists::List list,
                           const std::optional<Sketch>& sketch, Counter& answered) {
  if (sink_.has_left()) return end_for_nobody();
  LargeAnswerOwner& owner = *this;
  if (!large_) large_ = std::make_unique<Large>(context_, owner);
  state_ = State::large;
  large_->sketch = sketch;
  large_->agreed = source == LargeAnswer::Source::agreed;
  large_->answered = &answered;
  const auto form = sketch::decode(*list);
  ASSERT(form.has_value());
  const Part part = part_of(*form, sketch);
  const bool may_begin = sink_.may_take_blocks(form->blocks.block_bytes);
  // The client waits for what it asked for itself.
  if (!may_begin) timeout_.disarm();
  large_->answer.start(group(), source, std::move(list), part.first, part.size, form_.wire,
                       may_begin);
}

void Exchange::on_writable() {
  if (state_ == State::passing) return passed_->on_writable();
  if (state_ != State::large) return;
  const bool begins = large_->answered != nullptr;
  if (begins) context_.read_timeouts.arm(timeout_, std::chrono::steady_clock::now());
  large_->answer.on_writable();
}

void Exchange::on_large_refuted(NodeId replica, const sketch::AnswerForm& form) {
  const ReadStep step = algorithm_->on_fast_answer(std::nullopt, look_up(), false);
  ASSERT(step == ReadStep::ask_group);
  evidence_ = Evidence{};
  evidence_->replica = replica;
  evidence_->status = form.status;
  evidence_->head.assign(form.head.begin(), form.head.end());
  evidence_->body_bytes = static_cast<std::size_t>(form.body_bytes());
  evidence_->block_digests.assign(form.blocks.digests.begin(), form.blocks.digests.end());
  evidence_->blocks = {form.blocks.length, form.blocks.block_bytes, evidence_->block_digests};
  ask_judge(true);
}

bool Exchange::on_large_verified(const sketch::AnswerForm& form) {
  if (!large_->agreed) {
    const ReadStep step = algorithm_->on_fast_answer(large_->sketch, look_up(), is_forced());
    if (algorithm_->was_forced()) counters_->forced_transitions.add();
    // (Whitelisted by now is as good: the list was agreed on.)
    if (step == ReadStep::ask_group) return false;
    context_.activity.on_hit(activity(), began_seconds_);
  }
  // From here on each block has a time of its own.
  timeout_.disarm();
  std::exchange(large_->answered, nullptr)->add();
  sink_.on_large_begin(form, large_->sketch);
  return true;
}

bool Exchange::on_large_bytes(std::string& storage, std::size_t begin, std::size_t size) {
  return sink_.on_large_bytes(storage, begin, size);
}

// The list is agreed on, and another origin has just brought what it says. If the history has gone
// on meanwhile, the one may be ahead, and the other behind.
void Exchange::on_large_divergence(NodeId replica, std::uint64_t offset) {
  if (large_->sketch) {
    // What a list blacklists is in the history, too. What carries a mark is not.
    const auto entry = group().floors().admit(context_.table.lookup(key_), slot_);
    const bool is_marked = entry && entry->mark != Mark::none;
    if (!is_marked && (!entry || entry->answer != *large_->sketch)) return;
  }
  Divergence divergence;
  divergence.kind = DivergenceKind::fast_read;
  divergence.replica = replica;
  divergence.method = request_->method;
  divergence.target = request_->target;
  divergence.authority = form_.authority;
  divergence.differences = {{"body", "", offset}};
  divergence.agreed_digest = large_->sketch ? to_hex(*large_->sketch) : "";
  divergence.answer_status = divergence.agreed_status = sketch::kStatusInBlocks;
  group().report(divergence);
}

void Exchange::on_large_end(LargeEnd end) {
  switch (end) {
    case LargeEnd::complete:
    case LargeEnd::broken:
      finish();
      return sink_.on_large_end(end == LargeEnd::complete);
    case LargeEnd::outdated:
      return ask_judge(true);
    case LargeEnd::failed:
      return ask_group_again();
  }
  UNREACHABLE();
}

// No origin has brought the first block.
void Exchange::ask_group_again() {
  if (!large_->agreed) {
    const ReadStep step = algorithm_->on_fast_failure();
    ASSERT(step == ReadStep::ask_group);
    return ask_judge(true);
  }
  if (large_rounds_ >= kLargeRoundsMax) return fail(503, "too-few-replicas");
  if (!algorithm_) return ask_ordered(ReplicatedKind::ordered);
  algorithm_.emplace();
  out_of_date_ = OutOfDate::no;  // what a write has done has been made up for
  const ReadStep step = algorithm_->on_request(std::nullopt);
  ASSERT(step == ReadStep::ask_group);
  ask_judge(false);
}

// What comes in pieces goes to somebody or nowhere.
void Exchange::end_for_nobody() {
  counters_->abandoned.add();
  finish();
  sink_.on_error(503, "client-left");
}

}  // namespace prophecy::sketcher
