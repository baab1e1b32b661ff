// The part of ReadMachine for bodies in blocks of an agreed list, or in unverified pieces.
#include <utility>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "sketcher/core/read/mutation.hpp"
#include "sketcher/core/read/read_machine.hpp"

namespace prophecy::sketcher {

using Kind = ReadAction::Kind;

namespace {

// A large answer that changes between the group's agreement and the reading is asked for again.
constexpr std::uint32_t kLargeRoundsMax = 2;

}  // namespace

ReadMachine::Large& ReadMachine::large() {
  if (!large_) large_ = std::make_unique<Large>(actions_, worker_.large);
  return *large_;
}

bool ReadMachine::start_remembered(const Sketch& sketch) {
  BlockLists::List list = worker_.block_lists.find(sketch);
  if (!list) list = find_stored(sketch);
  if (!list) return false;
  worker_.large.lists_found.add();
  open(BodyRelay::Source::remembered, std::move(list), sketch, request_.counters->answered_fast);
  return true;
}

BlockLists::List ReadMachine::find_stored(const Sketch& sketch) {
  ReadGroup& group = group_->group;
  BlockStore& lists = group.table().blocks();
  auto found = lists.find(sketch);
  if (!found) return nullptr;
  // The stored list may be torn: its sketch, computed anew, is proof of every byte.
  const auto form = sketch::decode(found->bytes);
  if (!form || !form->in_blocks() || group.sketch().of(*form) != sketch) return nullptr;
  if (found->is_old) lists.put(sketch, found->bytes);
  return worker_.block_lists.add(sketch, std::move(found->bytes));
}

void ReadMachine::start_agreed(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                               Counter& answered) {
  // Correct members of a group agree on a list only for a read.
  if (!request_.form->is_read || request_.form->is_head) return fail(502, "no-agreement");
  ++large_rounds_;
  BlockLists::List list = sketch ? worker_.block_lists.find(*sketch) : nullptr;
  if (!list) {
    list = sketch ? worker_.block_lists.add(*sketch, sketch::encode(form))
                  : std::make_shared<const Bytes>(sketch::encode(form));
  }
  open(BodyRelay::Source::agreed, std::move(list), sketch, answered);
}

void ReadMachine::open(BodyRelay::Source source, BlockLists::List list,
                       const std::optional<Sketch>& sketch, Counter& answered) {
  Large& opened = large();
  opened.source = source;
  opened.list = std::move(list);
  opened.sketch = sketch;
  opened.answered = &answered;
  // The list is of what the group has been asked for: without the history that was the wire itself.
  opened.constant_wire.clear();
  if (algorithm_) {
    request_.form->append_group_wire(opened.constant_wire);
  } else {
    opened.constant_wire = request_.form->wire;
  }
  const auto form = sketch::decode(*opened.list);
  ASSERT(form.has_value());
  set_answer(*form, sketch);
  state_ = State::opening;
  actions_.add({.kind = Kind::ask_client, .size = answer_.blocks.block_bytes});
}

void ReadMachine::open_unverified(std::uint8_t slot, http::Response& response, TimePoint now) {
  ReadGroup& group = group_->group;
  // Every body is sent on with its length, unless it is streamed. (Elsewhere, a body that comes
  // without one is held until it is whole.)
  std::uint64_t length = sketch::kOpenEnded;
  const auto declared = response.fields.find("content-length");
  const bool has_length =
      declared && http::parse_decimal(*declared, length) && length != sketch::kOpenEnded;
  sketch::AnswerForm form;
  const bool is_usable =
      (has_length || (!declared && is_streamed())) &&
      group.read_answer(asks_.replica(slot), response, false, form) == sketch::AnswerFault::none;
  if (!is_usable) {
    if (asks_.reject(slot, now) == OriginAsks::Step::over) {
      on_fast_failure(http::ExchangeEnd::malformed, now);
    }
    return;
  }
  const std::uint32_t piece_bytes =
      is_streamed() ? BodyRelay::kStreamPieceBytes : BodyRelay::kPieceBytes;
  form.blocks = {.length = length, .block_bytes = piece_bytes, .digests = {}};
  Large& opened = large();
  opened.source = BodyRelay::Source::unverified;
  opened.sketch.reset();
  opened.answered = nullptr;
  opened.slot = slot;
  opened.response = &response;
  set_answer(form, std::nullopt, true);
  state_ = State::opening;
  actions_.add({.kind = Kind::ask_client, .size = piece_bytes});
}

void ReadMachine::on_client(const ClientView& client, TimePoint now) {
  ASSERT(state_ == State::opening);
  Large& opened = *large_;
  const bool is_unverified = opened.source == BodyRelay::Source::unverified;
  if (client.has_left) {
    if (is_unverified) asks_.cancel();
    return end_for_nobody();
  }
  state_ = State::relaying;
  if (is_unverified) {
    // From here on each piece has a time of its own.
    disarm_deadline();
    request_.counters->answered_unverified.add();
    worker_.large.begun.add();
    const NodeId replica = asks_.replica(opened.slot);
    asks_.hand_over(opened.slot);
    const BodyRelay::Step step = opened.relay.start_unverified(
        group_->group, opened.slot, replica, client.first, client.size, client.may_begin);
    opened.has_ended = step == BodyRelay::Step::complete;
    actions_.add(Kind::begin_body);
    return;
  }
  // A client that takes nothing yet waits for what it asked for itself.
  if (!client.may_begin) disarm_deadline();
  on_relay(opened.relay.start_verified(
               group_->group, opened.source, std::exchange(opened.list, nullptr), client.first,
               client.size, request_.form->wire, opened.constant_wire, client.may_begin),
           now);
}

void ReadMachine::on_begun(TimePoint now) {
  ASSERT(state_ == State::relaying);
  Large& opened = *large_;
  if (opened.source != BodyRelay::Source::unverified) return on_relay(opened.relay.release(), now);
  http::Response* const response = std::exchange(opened.response, nullptr);
  if (std::exchange(opened.has_ended, false)) {
    return on_relay(BodyRelay::Step::complete, now);
  }
  on_relay(opened.relay.on_progress(*response), now);
}

void ReadMachine::on_sent(bool writable, TimePoint now) {
  ASSERT(state_ == State::relaying);
  on_relay(large_->relay.on_sent(writable), now);
}

void ReadMachine::on_writable(TimePoint now) {
  if (state_ != State::relaying) return;
  if (large_->answered != nullptr && !is_deadline_armed_) arm_deadline();
  on_relay(large_->relay.on_writable(), now);
}

void ReadMachine::on_relay(BodyRelay::Step step, TimePoint now) {
  while (const auto suspect = large_->relay.take_divergence()) {
    // A list that was agreed on just now may be of a state that an origin has left already.
    if (large_->source != BodyRelay::Source::remembered) {
      group_->accusations.note_noise(suspect->replica);
      continue;
    }
    Evidence evidence;
    evidence.replica = suspect->replica;
    evidence.status = sketch::kStatusInBlocks;
    evidence.is_confirmed = true;  // the relay asks with constants after a first difference
    evidence.wrong_block = {suspect->block, suspect->digest};
    evidence.floor = floor_;
    group_->shared.on_refuted_block(key_, *request_.form, request_.method, *large_->sketch,
                                    std::move(evidence), *request_.counters, now);
  }
  switch (step) {
    case BodyRelay::Step::waits:
      return;
    case BodyRelay::Step::verified:
      return on_first_block(now);
    case BodyRelay::Step::refuted:
      return on_refuted(now);
    case BodyRelay::Step::failed:
      return ask_group_again(now);
    case BodyRelay::Step::complete:
    case BodyRelay::Step::broken: {
      const bool is_whole = step == BodyRelay::Step::complete;
      (is_whole ? worker_.large.completed : worker_.large.broken).add();
      finish();
      return actions_.add({.kind = Kind::end_body, .whole = is_whole});
    }
  }
  UNREACHABLE();
}

void ReadMachine::on_first_block(TimePoint now) {
  Large& opened = *large_;
  if (opened.source == BodyRelay::Source::remembered) {
    const auto second = second_look_up(opened.sketch);
    if (!may_accept(dht::Basis::history) && !is_mutated(Mutation::look_up_unchecked)) {
      opened.relay.abandon();
      return move();
    }
    const ReadStep step = algorithm_->on_fast_answer(opened.sketch, second, is_forced());
    if (algorithm_->was_forced()) request_.counters->forced_transitions.add();
    if (step == ReadStep::ask_group) {
      opened.relay.abandon();
      return ask_shared(true, now);
    }
    // (Whitelisted by now is as good: the list was agreed on.)
    group_->group.activity().on_hit(activity(), began_seconds_);
  }
  // From here on each block has a time of its own.
  disarm_deadline();
  std::exchange(opened.answered, nullptr)->add();
  set_answer(opened.relay.form(), opened.sketch);
  actions_.add(Kind::begin_body);
}

void ReadMachine::on_refuted(TimePoint now) {
  const ReadStep step =
      algorithm_->on_fast_answer(std::nullopt, second_look_up(std::nullopt), false);
  ASSERT(step == ReadStep::ask_group);
  evidence_ = large_->relay.take_refutation();
  // The relay has asked this origin with constants, too.
  evidence_->is_confirmed = true;
  evidence_->floor = floor_;
  ask_shared(true, now);
}

// No origin has brought the first block.
void ReadMachine::ask_group_again(TimePoint now) {
  if (large_->source == BodyRelay::Source::remembered) {
    const ReadStep step = algorithm_->on_fast_failure();
    ASSERT(step == ReadStep::ask_group);
    return ask_shared(true, now);
  }
  if (large_rounds_ >= kLargeRoundsMax) return fail(503, "too-few-replicas");
  if (!algorithm_) return ask_call(replica_client::ReplicatedKind::ordered);
  algorithm_.emplace();
  out_of_date_ = OutOfDate::no;  // the group's answer has made up for the write
  const ReadStep step = algorithm_->on_request(std::nullopt);
  ASSERT(step == ReadStep::ask_group);
  ask_shared(false, now);
}

// A body in pieces goes to its client or nowhere.
void ReadMachine::end_for_nobody() {
  request_.counters->abandoned.add();
  finish();
  refusal_ = {503, "client-left"};
  actions_.add(Kind::refuse);
}

}  // namespace prophecy::sketcher
