#include "sketcher/group/group_calls.hpp"

#include <utility>

namespace prophecy::sketcher {

using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;

class GroupCalls::Call final : public replica_client::ReplicatedHandler {
 public:
  Call(GroupCalls& owner, std::uint64_t number) : owner_(owner), number_(number) {}
  ~Call() {
    if (id != 0) owner_.group_.cancel_replicated(id);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::uint64_t id = 0;  // 0 once it has ended

 private:
  void on_replicated_answer(ReplicatedAnswer answer) override {
    id = 0;
    owner_.on_answer(number_, std::move(answer));
  }
  void on_replicated_failure(ReplicatedFailure failure) override {
    id = 0;
    owner_.on_failure(number_, failure);
  }

  GroupCalls& owner_;
  std::uint64_t number_;
};

class GroupCalls::Confirmation final : private http::OriginHandler {
 public:
  Confirmation(GroupCalls& owner, const Accusations::Confirmation& of)
      : owner_(owner), number_(of.number), wire_(of.form.wire), exchange_(*this) {}

  void start(NodeId replica, bool is_head) {
    // Its answer is evidence, so that nothing else can have come on its connection in its place.
    owner_.group_.fast(exchange_, replica, wire_, {.is_head = is_head});
  }

 private:
  void on_exchange_end(http::OriginExchange& /*exchange*/, http::ExchangeEnd end,
                       http::Response& response) override {
    owner_.on_confirmed(number_, end, response);
  }

  GroupCalls& owner_;
  std::uint64_t number_;
  std::string wire_;
  http::OriginExchange exchange_;
};

GroupCalls::GroupCalls(GroupCore& core, replica_client::ReplicaGroup& group)
    : core_(core), group_(group) {}
GroupCalls::~GroupCalls() {
  // The end of a call may bring about the end of others, which look for theirs.
  const auto calls = std::exchange(calls_, {});
}

// An action may bring about events, which add actions and come back here: the innermost round
// carries them out, in their order.
void GroupCalls::perform_all() {
  while (!core_.actions.empty()) {
    const GroupAction action = std::move(core_.actions.front());
    core_.actions.pop_front();
    switch (action.kind) {
      case GroupAction::Kind::call:
        call(action);
        break;
      case GroupAction::Kind::cancel:
        // Taken out first: its end may bring about other calls.
        static_cast<void>(calls_.extract(action.number));
        break;
      case GroupAction::Kind::confirm:
        confirm(*action.confirmation);
        break;
    }
  }
}

void GroupCalls::call(const GroupAction& action) {
  const sketch::RequestForm& form = *action.form;
  const auto [made, is_new] =
      calls_.emplace(action.number, std::make_unique<Call>(*this, action.number));
  Call& call = *made->second;
  call.id = group_.replicated({.method = action.method,
                               .authority = form.authority,
                               .target = form.target,
                               .wire = action.wire,
                               .kind = replica_client::ReplicatedKind::ordered,
                               .view = core_.group.view()},
                              call);
  former_[call.id % kFormerKept] = {.id = call.id, .number = action.number};
}

void GroupCalls::on_answer(std::uint64_t number, ReplicatedAnswer answer) {
  const auto call = calls_.extract(number);  // it is on the stack
  core_.shared.on_answer(number, std::move(answer), std::chrono::steady_clock::now());
  perform();
  report_results();
}

void GroupCalls::on_failure(std::uint64_t number, ReplicatedFailure failure) {
  const auto call = calls_.extract(number);
  core_.shared.on_failure(number, failure);
  perform();
  report_results();
}

void GroupCalls::report_results() {
  if (std::exchange(is_reporting_, true)) return;
  while (const auto result = core_.shared.take_result())
    result->waiter->on_shared_result(*result);
  is_reporting_ = false;
}

void GroupCalls::on_refuted(const replica_client::Refutation& vote) {
  core_.shared.on_refuted(number_of(vote.call), vote);
  perform();
}

void GroupCalls::on_strong_agreement(std::uint64_t call) {
  core_.shared.on_strong_agreement(number_of(call), std::chrono::steady_clock::now());
  perform();
}

std::uint64_t GroupCalls::number_of(std::uint64_t call) const {
  const Former& former = former_[call % kFormerKept];
  return former.id == call ? former.number : 0;
}

void GroupCalls::confirm(const Accusations::Confirmation& confirmation) {
  const NodeId replica = confirmation.replica;
  const bool is_head = confirmation.form.is_head;
  const auto [made, is_new] = confirmations_.emplace(
      confirmation.number, std::make_unique<Confirmation>(*this, confirmation));
  made->second->start(replica, is_head);
}

void GroupCalls::on_confirmed(std::uint64_t number, http::ExchangeEnd end,
                              const http::Response& response) {
  const auto confirmation = confirmations_.extract(number);  // it is on the stack
  core_.shared.on_confirmed(number, end, response, std::chrono::steady_clock::now());
  perform();
}

}  // namespace prophecy::sketcher
