#include "consistency/group/group_member.hpp"

#include <utility>

namespace prophecy::consistency {

using replica_client::Refutation;
using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;
using replica_client::ReplicatedHandler;

GroupMember::GroupMember(std::uint64_t number, BrokenWorld broken,
                         const pbft::ClientSettings& settings, Duration deadline,
                         const pbft::KeyRing& keys, simulation::Scheduler& scheduler,
                         Listener listener)
    : number_(number),
      broken_(broken),
      id_(keys.self()),
      scheduler_(scheduler),
      listener_(std::move(listener)),
      calls_(settings, deadline, keys) {
  calls_.start(scheduler.now());
}

void GroupMember::Call::on_replicated_answer(ReplicatedAnswer answer) {
  const auto ended = member.handlers_.extract(id);
  member.listener_.on_answer(member.number_of(id), answer);
  member.listener_.on_end();
  handler.on_replicated_answer(std::move(answer));
}

void GroupMember::Call::on_replicated_failure(ReplicatedFailure failure) {
  const auto ended = member.handlers_.extract(id);
  member.listener_.on_end();
  handler.on_replicated_failure(failure);
}

std::uint64_t GroupMember::submit(std::string_view wire, ReplicatedHandler& handler) {
  auto call = std::make_unique<Call>(*this, handler);
  const std::size_t method_end = wire.find(' ');
  const std::size_t target_end = wire.find(' ', method_end + 1);
  replica_client::ReplicatedRequest request;
  request.method = wire.substr(0, method_end);
  request.authority = "site";
  request.target = wire.substr(method_end + 1, target_end - method_end - 1);
  request.wire = wire;
  const std::uint64_t id = call->id = calls_.submit(request, *call, scheduler_.now());
  handlers_.emplace(id, std::move(call));
  targets_.emplace(id, request.target);
  send();
  if (calls_.has_reports()) later(scheduler_.now(), [this] { report(); });
  arm();
  return number_of(id);
}

void GroupMember::cancel(std::uint64_t call) {
  const std::uint64_t id = call % kCallsMax;
  if (handlers_.erase(id) == 0) return;
  calls_.cancel(id, scheduler_.now());
  send();
  if (calls_.has_reports()) later(scheduler_.now(), [this] { report(); });
  arm();
}

void GroupMember::on_frame(ByteView frame) {
  calls_.on_frame(frame, scheduler_.now());
  report();
}

void GroupMember::on_refuted(const Refutation& refutation) {
  const bool is_misnamed = broken_ == BrokenWorld::group_misnamed;
  const auto call = is_misnamed ? std::prev(targets_.end()) : targets_.find(refutation.call);
  if (call == targets_.end() || call->second != refutation.target) {
    listener_.on_wrong_evidence("a refuted vote on " + std::string(refutation.target) +
                                " is said to be of another call");
  }
  Refutation named = refutation;
  named.call = number_of(refutation.call);
  listener_.on_refuted(named);
}

void GroupMember::on_strong_agreement(std::uint64_t call) {
  if (!targets_.contains(call)) listener_.on_wrong_evidence("agreement on what is no call");
  listener_.on_strong(number_of(call));
}

void GroupMember::later(TimePoint time, std::function<void()> what) {
  scheduler_.at(time, [member = weak_from_this(), what = std::move(what)] {
    if (const auto kept = member.lock()) what();
  });
}

void GroupMember::send() {
  for (const pbft::Outgoing& outgoing : std::exchange(calls_.sends(), {}))
    listener_.send(id_, outgoing);
}

void GroupMember::report() {
  send();
  calls_.report(*this, scheduler_.now());
  send();
  arm();
}

void GroupMember::arm() {
  const TimePoint wanted = calls_.next_timer();
  if (wanted >= armed_for_) return;
  armed_for_ = std::max(wanted, scheduler_.now());
  later(armed_for_, [this, time = armed_for_] {
    if (armed_for_ != time) return;
    armed_for_ = TimePoint::max();
    calls_.on_tick(scheduler_.now());
    report();
  });
}

}  // namespace prophecy::consistency
