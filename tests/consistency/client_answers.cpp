// The part of SimulatedClient that takes answers, and has the oracles look at them.
#include <utility>

#include "consistency/client.hpp"
#include "consistency/world.hpp"

namespace prophecy::consistency {

void SimulatedClient::deliver(bool is_verified) {
  const sketch::AnswerForm& form = machine_->answer();
  if (!is_verified && wanted_.reads == sketcher::Reads::delay_once &&
      wanted_.kind != Kind::publish) {
    world_.attribution().check_unverified(machine_->answer_sketch().has_value());
    return world_.counted().add(Met::unverified);
  }
  std::string text(form.body);
  std::string_view cookie;
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name == "x-text") text = value;
    if (name == "set-cookie") cookie = value;
  }
  check(text, cookie);
  if (!wanted_.is_recorded()) return;
  // (An agreed 503 may bring a value, as any answer that may not be sketched.)
  if (form.status != 200 && (text == "busy" || text == "down")) return finish(nullptr);
  finish(wanted_.kind == Kind::publish ? &value_ : &text);
}

void SimulatedClient::check(std::string_view text, std::string_view cookie) {
  world_.attribution().check_verified({.page = wanted_.page,
                                       .agent = agent_,
                                       .address = address_,
                                       .status = machine_->answer().status,
                                       .text = text,
                                       .cookie = cookie});
}

void SimulatedClient::end_body(bool is_whole) {
  const bool is_verified = machine_->answer_sketch().has_value();
  if (!is_whole) {
    if (is_tried_ && is_verified) world_.note_unserved("a body is cut off");
    return finish(nullptr);
  }
  if (!is_verified && wanted_.reads == sketcher::Reads::delay_once) {
    return world_.counted().add(Met::unverified);
  }
  const auto text = taker_.is_complete() ? taker_.text() : std::nullopt;
  if (!text) return world_.attribution().note_patchwork(agent_);
  check(*text, {});
  finish(&*text);
}

void SimulatedClient::refuse() {
  if (is_tried_) world_.note_unserved(machine_->refusal().reason);
  if (!is_late_) finish(nullptr);
}

void SimulatedClient::finish(const std::string* value) {
  if (wanted_.is_recorded()) world_.recorder().end(operation_, value, world_.instant());
}

void SimulatedClient::on_shared_result(const sketcher::SharedResult& result) {
  world_.cost().check("results-per-read", ++calls_);
  using ResultKind = sketcher::SharedResult::Kind;
  if (result.kind == ResultKind::answered) {
    world_.counted().add(Met::replicated);
    const bool is_again = std::exchange(is_agreed_, true);
    if (wanted_.is_recorded()) {
      if (is_again) world_.recorder().discard(operation_);
      world_.recorder().accept(operation_, world_.instant());
    }
  }
  if (result.kind == ResultKind::outdated) world_.counted().add(Met::outdated);
  if (result.kind == ResultKind::is_anothers) world_.counted().add(Met::is_anothers);
  machine_->on_shared_result(result, world_.now());
  perform();
}

void SimulatedClient::on_replicated_answer(replica_client::ReplicatedAnswer answer) {
  call_ = 0;
  is_agreed_ = true;
  machine_->on_group_answer(answer);
  perform();
}

void SimulatedClient::on_replicated_failure(replica_client::ReplicatedFailure failure) {
  call_ = 0;
  machine_->on_group_failure(failure);
  perform();
}

}  // namespace prophecy::consistency
