#include "dht/core/lease.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "dht/core/mutation.hpp"

namespace prophecy::dht {
namespace {

// A lease is renewed so often while it lasts.
constexpr int kRenewals = 4;
// A failed write is tried again after this part of a lease.
constexpr int kRetries = 16;

}  // namespace

void Lease::set_target(const std::string& view_path, NodeVersion view_version, ViewNumber view,
                       bool is_settled, bool is_member) {
  view_path_ = view_path;
  view_version_ = view_version;
  view_ = view;
  is_settled_ = is_settled;
  is_member_ = is_member;
  if (target() != wanted_) due_ = BootTime::min();
  wanted_ = target();
}

LeaseRecord Lease::target() const {
  LeaseRecord record{.instance = instance_, .view = view_, .settled = written_.settled};
  if (is_settled_) record.settled = view_;
  return record;
}

std::optional<CoordinationCall> Lease::renew(std::uint64_t number, BootTime now) {
  if (view_ == 0 || sent_ || !is_known_ || now < due_) return std::nullopt;
  // A process that is not in the view writes once that it has let go, never over another life's
  // node.
  if (!is_member_ && (is_anothers_ || !version_ || target() == written_)) return std::nullopt;
  sent_ = Sent{number, now, target(), is_member_};
  const std::string text = encode(sent_->record);
  CoordinationCall call{.number = number, .kind = CoordinationCall::Kind::write};
  sent_->checks_view = !is_mutated(Mutation::lease_without_view);
  if (sent_->checks_view) call.steps.push_back({WriteStep::Kind::check, view_path_, view_version_});
  if (version_) {
    call.steps.push_back({WriteStep::Kind::set, path_, *version_, to_bytes(text)});
  } else {
    call.steps.push_back({WriteStep::Kind::create, path_, 0, to_bytes(text)});
  }
  return call;
}

void Lease::on_read(const std::optional<LeaseRecord>& record, NodeVersion version) {
  // (One that was asked for before our last write says nothing.)
  if (sent_ || is_known_) return;
  is_known_ = true;
  version_ = record ? std::optional(version) : std::nullopt;
  is_anothers_ = record && record->instance != instance_;
}

Lease::Outcome Lease::on_result(const CoordinationResult& result, BootTime now) {
  ASSERT(is_waiting_for(result.number));
  const Sent sent = *std::exchange(sent_, std::nullopt);
  Outcome outcome;
  if (result.status == CoordinationStatus::done) {
    version_ = version_ ? *version_ + 1 : 0;
    is_anothers_ = false;
    written_ = sent.record;
    due_ = target() == written_ ? sent.at + length_ / kRenewals : BootTime::min();
    const BootTime begin = is_mutated(Mutation::lease_from_answer) ? now : sent.at;
    if (sent.is_lease) outcome.end = begin + length_;
    return outcome;
  }
  // Whether it was carried out is seen in the node, which is read before the next attempt.
  is_known_ = false;
  // A change that came meanwhile is written at once, as any.
  due_ = target() == sent.record ? now + length_ / kRetries : BootTime::min();
  const bool has_conflict = result.status == CoordinationStatus::wrong_version ||
                            result.status == CoordinationStatus::absent;
  outcome.is_view_old = has_conflict && sent.checks_view && result.failed_step == 0;
  return outcome;
}

BootTime Lease::deadline() const {
  const bool may_write = view_ != 0 && !sent_ && is_known_ &&
                         (is_member_ || (!is_anothers_ && version_ && target() != written_));
  return may_write ? due_ : BootTime::max();
}

}  // namespace prophecy::dht
