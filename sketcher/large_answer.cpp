#include "sketcher/large_answer.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "replica_client/group.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::uint16_t kPartialContent = 206;
constexpr std::string_view kHeadEnd = "\r\n";
// Of a whole that an origin sends in place of the range it was asked for. More would take a
// client's time that another origin does not.
constexpr std::uint64_t kSkippedBytesMax = 64 << 20;

}  // namespace

void LargeAnswer::start(GroupContext& group, Source source, BlockLists::List list,
                        std::uint64_t first, std::uint64_t size, std::string_view wire,
                        bool may_begin) {
  ASSERT(!fetching_);
  group_ = &group;
  list_ = std::move(list);
  const auto form = sketch::decode(*list_);
  ASSERT(form.has_value() && form->in_blocks());
  form_ = *form;
  source_ = source;
  first_ = first;
  end_ = first + size;
  wire_ = wire;
  const std::uint64_t block_bytes = form_.blocks.block_bytes;
  block_ = static_cast<std::size_t>(first_ / block_bytes);
  const std::uint64_t last = first + std::max<std::uint64_t>(size, 1) - 1;
  block_end_ = static_cast<std::size_t>(last / block_bytes) + 1;
  ASSERT(block_end_ <= form_.blocks.count());
  released_ = false;
  writable_ = may_begin;
  parked_ = !may_begin;
  failed_ = 0;
  refuted_ = 0;
  suspects_.clear();
  fetching_ = true;
  if (may_begin) ask_another();
}

std::uint64_t LargeAnswer::fetch_end() const {
  return std::min(form_.blocks.length, form_.blocks.begin_of(block_end_));
}

void LargeAnswer::ask_another() {
  const auto replica = group_->draw(context_.random, failed_ | refuted_);
  // As long as nothing is released the group can be asked, which knows more.
  const auto failed = static_cast<std::uint32_t>(std::popcount(failed_ | refuted_));
  const bool enough = must_match_head() && failed > group_->group().faults();
  if (!replica || enough) return finish(released_ ? LargeEnd::broken : LargeEnd::failed);
  if (failed > 0 && released_) context_.counters.large.switched.add();
  ask(*replica);
}

void LargeAnswer::ask(NodeId replica) {
  replica_ = replica;
  head_ = Head::unseen;
  skip_ = 0;
  body_.clear();
  ranged_ = fetch_begin() > 0 || fetch_end() < form_.blocks.length;
  if (ranged_) {
    ASSERT(wire_.ends_with(kHeadEnd));
    ranged_wire_.assign(wire_.substr(0, wire_.size() - kHeadEnd.size()));
    fmt::format_to(std::back_inserter(ranged_wire_), "range: bytes={}-{}\r\n\r\n", fetch_begin(),
                   fetch_end() - 1);
  }
  group_->group().fast(exchange_, replica, ranged_ ? ranged_wire_ : wire_,
                       {.piece_bytes = form_.blocks.block_bytes});
}

void LargeAnswer::on_exchange_progress(http::OriginExchange& /*exchange*/,
                                       http::Response& response) {
  if (head_ == Head::unseen) {
    head_ = judge(response);
    if (head_ != Head::expected) exchange_.cancel();
    if (head_ == Head::other) return on_other_head(response);
    if (head_ == Head::useless) {
      failed_ |= replica_client::bit_of(replica_);
      return ask_another();
    }
  }
  take(response);
  if (deliver() && !writable_) wait_for_client();
}

void LargeAnswer::on_exchange_end(http::OriginExchange& /*exchange*/, http::ExchangeEnd end,
                                  http::Response& response) {
  group_->counters(replica_).exchanges[static_cast<std::size_t>(end)].add();
  if (end == http::ExchangeEnd::answered) {
    take(response);
    if (!deliver() || !writable_) return;
  }
  // It has failed, or brought too little.
  failed_ |= replica_client::bit_of(replica_);
  ask_another();
}

// What is wrong with an answer to a request for a part refutes nothing: a part is not what the
// group agreed on, and an origin may answer with the whole, or with a head of its own making.
LargeAnswer::Head LargeAnswer::judge(const http::Response& response) {
  const Head wrong = ranged_ ? Head::useless : Head::other;
  const bool partial = ranged_ && response.status == kPartialContent;
  if (!partial && response.status != sketch::kStatusInBlocks) return wrong;
  if (partial) {
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

// That of the whole, whatever range was asked for.
bool LargeAnswer::has_agreed_head(const http::Response& response) {
  sketch::AnswerForm form;
  http::Response whole;
  whole.status = sketch::kStatusInBlocks;
  for (std::size_t i = 0; i < response.fields.size(); ++i) {
    if (ranged_ && response.fields.name(i) == "content-range") continue;
    whole.fields.add(response.fields.name(i), response.fields.value(i));
  }
  const auto fault = group_->answer_canonicalizer().canonicalize(whole, false, form);
  return fault == sketch::AnswerFault::none && std::ranges::equal(form.head, form_.head);
}

void LargeAnswer::on_other_head(const http::Response& response) {
  if (!must_match_head()) {
    refuted_ |= replica_client::bit_of(replica_);
    return ask_another();
  }
  sketch::AnswerForm form;
  http::Response head;
  head.status = response.status;
  head.fields = response.fields;
  // What has no canonical form is evidence by its status alone.
  if (group_->answer_canonicalizer().canonicalize(head, false, form) != sketch::AnswerFault::none)
    form = {};
  form.status = response.status;
  fetching_ = false;
  release();
  owner_.on_large_refuted(replica_, form);
}

void LargeAnswer::take(http::Response& response) {
  std::string& from = response.body;
  const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, from.size()));
  skip_ -= skipped;
  if (skipped > 0) from.erase(0, skipped);
  if (skip_ > 0 && exchange_.active()) exchange_.extend();
  if (body_.empty()) {
    std::swap(body_, from);
  } else {
    body_ += from;
  }
  from.clear();
}

bool LargeAnswer::deliver() {
  while (block_ < block_end_) {
    if (!writable_ || body_.size() < form_.blocks.size_of(block_)) return true;
    if (!deliver_block()) return false;
  }
  exchange_.cancel();  // what comes behind is nobody's
  finish(LargeEnd::complete);
  return false;
}

bool LargeAnswer::deliver_block() {
  const std::size_t size = form_.blocks.size_of(block_);
  const std::string_view bytes = std::string_view(body_).substr(0, size);
  if (!form_.blocks.matches(block_, bytes)) {
    on_bad_block(bytes);
    return false;
  }
  if (!released_) {
    if (!owner_.on_large_verified(form_)) {
      exchange_.cancel();
      finish(LargeEnd::outdated);
      return false;
    }
    if (!fetching_) return false;
    released_ = true;
    context_.counters.large.begun.add();
  }
  if (exchange_.active()) exchange_.extend();
  failed_ = 0;
  for (const Suspect& suspect : suspects_) {
    if (suspect.block == block_) owner_.on_large_divergence(suspect.replica, fetch_begin());
  }
  suspects_.clear();

  const std::uint64_t block_begin = fetch_begin();
  const std::uint64_t begin = std::max(block_begin, first_);
  const std::uint64_t end = std::min(block_begin + size, end_);
  if (body_.size() == size) {
    block_bytes_.clear();
    std::swap(block_bytes_, body_);  // the storage goes round
  } else {
    block_bytes_.assign(bytes);
    body_.erase(0, size);
  }
  ++block_;
  if (begin < end) {
    writable_ = owner_.on_large_bytes(block_bytes_, static_cast<std::size_t>(begin - block_begin),
                                      static_cast<std::size_t>(end - begin));
  }
  return fetching_;
}

void LargeAnswer::on_bad_block(std::string_view bytes) {
  exchange_.cancel();
  context_.counters.large.blocks_refuted.add();
  if (must_match_head()) {
    // As evidence: the agreed list, but for this block.
    Bytes refuted = *list_;
    const std::uint8_t* const place = form_.blocks.digest(block_).data();
    const Sha256::Digest digest = sha256(as_bytes(bytes));
    std::copy(digest.begin(), digest.end(), refuted.begin() + (place - list_->data()));
    fetching_ = false;
    const auto form = sketch::decode(refuted);
    ASSERT(form.has_value());
    release();
    return owner_.on_large_refuted(replica_, *form);
  }
  refuted_ |= replica_client::bit_of(replica_);
  suspects_.push_back({replica_, block_});
  ask_another();
}

void LargeAnswer::on_writable() {
  if (!fetching_ || writable_) return;
  disarm();
  writable_ = true;
  if (std::exchange(parked_, false)) return ask_another();
  if (!deliver()) return;
  if (!writable_) return exchange_.active() ? wait_for_client() : void();
  if (exchange_.active()) return exchange_.resume();
  // The origin's answer has ended, and was too short.
  failed_ |= replica_client::bit_of(replica_);
  ask_another();
}

void LargeAnswer::wait_for_client() {
  exchange_.pause();
  context_.untaken_timeouts.arm(*this, std::chrono::steady_clock::now());
}

void LargeAnswer::on_timeout() {
  if (!exchange_.active()) return;  // it has ended; what it has brought is here
  exchange_.cancel();
  std::string().swap(body_);
  parked_ = true;
  context_.counters.large.let_go.add();
}

void LargeAnswer::abandon() {
  fetching_ = false;
  exchange_.cancel();
  release();
}

void LargeAnswer::release() {
  disarm();
  std::string().swap(body_);
  std::string().swap(block_bytes_);
  std::string().swap(ranged_wire_);
  list_.reset();
}

void LargeAnswer::finish(LargeEnd end) {
  if (!std::exchange(fetching_, false)) return;  // abandoned
  if (end == LargeEnd::complete) context_.counters.large.completed.add();
  if (end == LargeEnd::broken) context_.counters.large.broken.add();
  release();
  owner_.on_large_end(end);
}

}  // namespace prophecy::sketcher
