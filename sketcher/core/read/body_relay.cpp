#include "sketcher/core/read/body_relay.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "sketcher/core/read/mutation.hpp"

namespace prophecy::sketcher {

using http::ExchangeEnd;
using Kind = ReadAction::Kind;

namespace {

constexpr std::uint16_t kPartialContent = 206;
constexpr std::string_view kHeadEnd = "\r\n";
// Of a whole body that an origin sends in place of the range it was asked for. More would take a
// client's time that another origin does not.
constexpr std::uint64_t kSkippedBytesMax = 64 << 20;

}  // namespace

void BodyRelay::begin(ReadGroup& group, Source source, bool may_begin) {
  ASSERT(state_ == State::idle);
  state_ = may_begin ? State::fetching : State::parked;
  group_ = &group;
  source_ = source;
  is_released_ = false;
  writable_ = may_begin;
  origin_ = Origin::none;
  skip_ = 0;
  failed_ = refuted_ = 0;
  suspects_.clear();
  divergent_.clear();
}

BodyRelay::Step BodyRelay::start_verified(ReadGroup& group, Source source, BlockLists::List list,
                                          std::uint64_t first, std::uint64_t size,
                                          std::string_view wire, std::string_view constant_wire,
                                          bool may_begin) {
  begin(group, source, may_begin);
  list_ = std::move(list);
  const auto form = sketch::decode(*list_);
  ASSERT(form.has_value() && form->in_blocks());
  form_ = *form;
  first_ = first;
  end_ = first + size;
  wire_ = wire;
  constant_wire_ = constant_wire;
  is_constant_ = source == Source::agreed;
  const std::uint64_t block_bytes = form_.blocks.block_bytes;
  block_ = static_cast<std::size_t>(first_ / block_bytes);
  const std::uint64_t last = first + std::max<std::uint64_t>(size, 1) - 1;
  block_end_ = static_cast<std::size_t>(last / block_bytes) + 1;
  ASSERT(block_end_ <= form_.blocks.count());
  return may_begin ? ask_another() : Step::waits;
}

BodyRelay::Step BodyRelay::start_unverified(ReadGroup& group, std::uint8_t slot, NodeId replica,
                                            std::uint64_t first, std::uint64_t size,
                                            bool may_begin) {
  begin(group, Source::unverified, may_begin);
  state_ = State::fetching;  // one origin has it, and waits
  slot_ = slot;
  replica_ = replica;
  origin_ = Origin::active;
  is_released_ = true;
  head_ = Head::expected;
  skip_ = first;
  left_ = size;
  is_open_ended_ = size == sketch::kOpenEnded;
  has_ended_ = false;
  if (left_ == 0) return finish(Step::complete);
  if (!writable_) wait_for_client();
  return Step::waits;
}

std::uint64_t BodyRelay::fetch_end() const {
  return std::min(form_.blocks.length, form_.blocks.begin_of(block_end_));
}

BodyRelay::Step BodyRelay::ask_another() {
  const auto replica = group_->draw(failed_ | refuted_);
  // As long as nothing is released the group can be asked, which knows more.
  const auto failed = static_cast<std::uint32_t>(std::popcount(failed_ | refuted_));
  const bool is_enough = must_match_head() && failed > group_->faults();
  if (!replica || is_enough) return finish(is_released_ ? Step::broken : Step::failed);
  if (failed > 0 && is_released_ && is_mutated(Mutation::no_switch)) return finish(Step::broken);
  if (failed > 0 && is_released_) counters_.switched.add();
  ask(*replica);
  return Step::waits;
}

void BodyRelay::ask(NodeId replica) {
  slot_ = 0;
  replica_ = replica;
  origin_ = Origin::active;
  head_ = Head::unseen;
  skip_ = 0;
  body_.clear();
  is_ranged_ = fetch_begin() > 0 || fetch_end() < form_.blocks.length;
  if (is_ranged_) {
    const std::string_view wire = base_wire();
    ASSERT(wire.ends_with(kHeadEnd));
    ranged_wire_.assign(wire.substr(0, wire.size() - kHeadEnd.size()));
    fmt::format_to(std::back_inserter(ranged_wire_), "range: bytes={}-{}\r\n\r\n", fetch_begin(),
                   fetch_end() - 1);
  }
  actions_.add({.kind = Kind::ask_origin, .slot = slot_, .replica = replica});
}

void BodyRelay::cancel_origin() {
  if (std::exchange(origin_, Origin::none) != Origin::none)
    actions_.add(Kind::cancel_origin, slot_);
}

BodyRelay::Step BodyRelay::on_progress(http::Response& response) {
  if (head_ == Head::unseen) {
    head_ = judge(response);
    if (head_ != Head::expected) cancel_origin();
    if (head_ == Head::other) return on_other_head(response);
    if (head_ == Head::useless) {
      OriginCounters& counters = group_->counters(replica_);
      counters.noise.add();
      if (sketch::is_transient_status(response.status)) counters.error_answers.add();
      failed_ |= replica_client::bit_of(replica_);
      return ask_another();
    }
  }
  take(response);
  return advance();
}

BodyRelay::Step BodyRelay::on_end(ExchangeEnd end, http::Response& response) {
  origin_ = Origin::none;
  const bool is_expected = end == ExchangeEnd::answered && head_ == Head::expected;
  if (is_expected) take(response);
  // An answer that is whole, and ends before the bytes that it was asked for, is none.
  const bool is_short =
      is_expected && is_verified() && !is_done() && body_.size() < fetch_end() - fetch_begin();
  const ExchangeEnd counted = is_short ? ExchangeEnd::malformed : end;
  group_->counters(replica_).exchanges[static_cast<std::size_t>(counted)].add();
  if (is_expected) {
    has_ended_ = true;
    return advance();
  }
  body_.clear();
  return on_origin_exhausted();
}

BodyRelay::Step BodyRelay::on_origin_exhausted() {
  if (!is_verified()) return finish(Step::broken);
  failed_ |= replica_client::bit_of(replica_);
  return ask_another();
}

// A wrong answer to a request for a part refutes nothing: a part is not what the group agreed on,
// and an origin may answer with the whole, or with a head of its own making.
BodyRelay::Head BodyRelay::judge(const http::Response& response) {
  const Head wrong = is_ranged_ ? Head::useless : Head::other;
  const bool is_partial = is_ranged_ && response.status == kPartialContent;
  if (!is_partial && response.status != sketch::kStatusInBlocks) return wrong;
  if (is_partial) {
    const std::string range =
        fmt::format("bytes {}-{}/{}", fetch_begin(), fetch_end() - 1, form_.blocks.length);
    if (response.fields.find("content-range") != range) return wrong;
  } else {
    std::uint64_t length = 0;
    const auto declared = response.fields.find("content-length");
    if (declared && http::parse_decimal(*declared, length) && length != form_.blocks.length)
      return wrong;
    skip_ = fetch_begin();
    if (skip_ > kSkippedBytesMax) return Head::useless;
  }
  return !must_match_head() || has_agreed_head(response) ? Head::expected : wrong;
}

// The head of the whole, whatever range was asked for.
bool BodyRelay::has_agreed_head(const http::Response& response) {
  sketch::AnswerForm form;
  http::Response whole;
  whole.status = sketch::kStatusInBlocks;
  for (std::size_t i = 0; i < response.fields.size(); ++i) {
    if (is_ranged_ && response.fields.name(i) == "content-range") continue;
    whole.fields.add(response.fields.name(i), response.fields.value(i));
  }
  const auto fault = group_->canonicalizer().canonicalize(whole, false, form);
  return fault == sketch::AnswerFault::none && std::ranges::equal(form.head, form_.head);
}

bool BodyRelay::asks_with_constants() {
  if (is_constant_ || constant_wire_ == wire_) return false;
  if (is_mutated(Mutation::blocks_not_confirmed)) return false;
  is_constant_ = true;
  ask(replica_);
  return true;
}

BodyRelay::Step BodyRelay::on_other_head(const http::Response& response) {
  if (!must_match_head()) {
    refuted_ |= replica_client::bit_of(replica_);
    return ask_another();
  }
  if (asks_with_constants()) return Step::waits;
  sketch::AnswerForm form;
  http::Response head;
  head.status = response.status;
  head.fields = response.fields;
  // An answer without a canonical form is evidence by its status alone.
  if (group_->canonicalizer().canonicalize(head, false, form) != sketch::AnswerFault::none)
    form = {};
  form.status = response.status;
  refutation_ = Evidence::of(replica_, form, std::nullopt);
  return finish(Step::refuted);
}

void BodyRelay::take(http::Response& response) {
  std::string& from = response.body;
  const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, from.size()));
  skip_ -= skipped;
  if (skipped > 0) from.erase(0, skipped);
  if (skip_ > 0 && origin_ == Origin::active) actions_.add(Kind::extend_origin, slot_);
  if (body_.empty()) {
    std::swap(body_, from);
  } else {
    body_ += from;
  }
  from.clear();
}

BodyRelay::Step BodyRelay::advance() {
  if (is_done()) {
    cancel_origin();  // more than was wanted is of no use
    return finish(Step::complete);
  }
  if (state_ == State::sending) return Step::waits;
  if (!writable_) {
    wait_for_client();
    return Step::waits;
  }
  return is_verified() ? send_block() : send_piece();
}

BodyRelay::Step BodyRelay::send_block() {
  const std::size_t size = form_.blocks.size_of(block_);
  if (body_.size() < size) return has_origin() ? Step::waits : on_origin_exhausted();
  const std::string_view bytes = std::string_view(body_).substr(0, size);
  const bool is_looked_at = state_ != State::checked && !is_mutated(Mutation::block_unchecked);
  if (is_looked_at && !form_.blocks.matches(block_, bytes)) return on_bad_block(bytes);
  if (!is_released_) {
    state_ = State::checked;
    return Step::verified;
  }
  state_ = State::fetching;
  if (has_origin()) actions_.add(Kind::extend_origin, slot_);
  failed_ = 0;
  for (const Suspect& suspect : suspects_) {
    if (suspect.block == block_) divergent_.push_back(suspect);
  }
  suspects_.clear();
  const std::uint64_t block_begin = fetch_begin();
  const std::uint64_t begin = std::max(block_begin, first_);
  const std::uint64_t end = std::min(block_begin + size, end_);
  ++block_;
  return send(size, static_cast<std::size_t>(begin - block_begin),
              begin < end ? static_cast<std::size_t>(end - begin) : 0);
}

BodyRelay::Step BodyRelay::send_piece() {
  if (body_.empty()) return has_origin() ? Step::waits : on_origin_exhausted();
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left_, body_.size()));
  left_ -= wanted;
  if (has_origin()) actions_.add(Kind::extend_origin, slot_);
  return send(body_.size(), 0, wanted);
}

BodyRelay::Step BodyRelay::send(std::size_t size, std::size_t begin, std::size_t wanted) {
  if (body_.size() == size) {
    piece_.clear();
    std::swap(piece_, body_);  // the storage goes round
  } else {
    piece_.assign(body_, 0, size);
    body_.erase(0, size);
  }
  if (wanted == 0) return advance();
  state_ = State::sending;
  actions_.add({.kind = Kind::send_body, .storage = &piece_, .begin = begin, .size = wanted});
  return Step::waits;
}

BodyRelay::Step BodyRelay::on_sent(bool writable) {
  ASSERT(state_ == State::sending);
  state_ = State::fetching;
  writable_ = writable;
  return advance();
}

BodyRelay::Step BodyRelay::release() {
  ASSERT(state_ == State::checked && !is_released_);
  is_released_ = true;
  counters_.begun.add();
  return advance();
}

BodyRelay::Step BodyRelay::on_bad_block(std::string_view bytes) {
  cancel_origin();
  counters_.blocks_refuted.add();
  if (asks_with_constants()) return Step::waits;
  if (must_match_head()) {
    // The agreed list, but for this block, is the evidence.
    Bytes refuted = *list_;
    const std::uint8_t* const place = form_.blocks.digest(block_).data();
    const Sha256::Digest digest = sha256(as_bytes(bytes));
    std::copy(digest.begin(), digest.end(), refuted.begin() + (place - list_->data()));
    const auto form = sketch::decode(refuted);
    ASSERT(form.has_value());
    refutation_ = Evidence::of(replica_, *form, std::nullopt);
    return finish(Step::refuted);
  }
  refuted_ |= replica_client::bit_of(replica_);
  suspects_.push_back({replica_, block_, sha256(as_bytes(bytes))});
  return ask_another();
}

std::optional<BodyRelay::Suspect> BodyRelay::take_divergence() {
  if (divergent_.empty()) return std::nullopt;
  const Suspect suspect = divergent_.back();
  divergent_.pop_back();
  return suspect;
}

BodyRelay::Step BodyRelay::on_writable() {
  if (state_ == State::idle || writable_) return Step::waits;
  if (std::exchange(untaken_armed_, false)) actions_.add(Kind::disarm_untaken);
  writable_ = true;
  if (state_ == State::parked) {
    state_ = State::fetching;
    return ask_another();
  }
  if (origin_ == Origin::paused) {
    origin_ = Origin::active;
    actions_.add(Kind::resume_origin, slot_);
  }
  return advance();
}

void BodyRelay::wait_for_client() {
  if (origin_ == Origin::active && !is_mutated(Mutation::pause_forgotten)) {
    origin_ = Origin::paused;
    actions_.add(Kind::pause_origin, slot_);
  }
  if (!is_verified() || untaken_armed_) return;
  untaken_armed_ = true;
  actions_.add(Kind::arm_untaken);
}

void BodyRelay::on_untaken_time() {
  untaken_armed_ = false;
  if (state_ == State::idle || !has_origin())
    return;  // its end has come; what it has brought is here
  cancel_origin();
  std::string().swap(body_);
  state_ = State::parked;
  counters_.let_go.add();
}

void BodyRelay::abandon() {
  if (std::exchange(state_, State::idle) == State::idle) return;
  cancel_origin();
  if (std::exchange(untaken_armed_, false)) actions_.add(Kind::disarm_untaken);
  std::string().swap(body_);
  std::string().swap(piece_);
  std::string().swap(ranged_wire_);
  is_ranged_ = false;
  wire_ = constant_wire_ = {};
  list_.reset();
}

BodyRelay::Step BodyRelay::finish(Step step) {
  abandon();
  return step;
}

}  // namespace prophecy::sketcher
