#include "consistency/client.hpp"

#include "base/assert.hpp"

namespace prophecy::consistency {

using sketcher::ReadAlgorithm;
using sketcher::ReadStep;

namespace {

constexpr std::uint64_t kLeavingPercent = 1;
constexpr std::uint64_t kOriginFailingPercent = 4;
constexpr std::uint64_t kAvoidingPercent = 4;

std::string read_of(Key key) {
  return "read " + std::to_string(key);
}

std::string write_of(Key key, const std::string& value) {
  return "write " + std::to_string(key) + " " + value;
}

}  // namespace

void SimulatedClient::advance() {
  if (state_ != State::idle && world_.random().chance(kLeavingPercent)) return leave();
  if (state_ == State::idle) return start();
  if (state_ == State::awaits_origin) return on_origin_answer();
}

void SimulatedClient::start() {
  worker_ = &world_.any_worker();
  key_ = world_.any_key();
  const std::uint64_t draw = world_.random().below(100);
  kind_ = draw < 7 ? Kind::publish : draw < 11 ? Kind::audit : Kind::read;
  // A group without an order has no place for an audit.
  if (kind_ == Kind::read || (kind_ == Kind::audit && world_.has_votes())) return start_read();
  if (kind_ == Kind::publish) value_ = world_.new_value();
  operation_ = world_.begin(key_, kind_, kind_ == Kind::publish ? &value_ : nullptr);
  ask_ordered();
}

void SimulatedClient::start_read() {
  kind_ = Kind::read;
  operation_ = world_.begin(key_, kind_, nullptr);
  algorithm_ = {};
  first_lookup_ = look_up();
  is_blacklisted_ = first_lookup_ && first_lookup_->mark == Mark::blacklisted;
  // As a request that is blacklisted automatically does.
  const bool avoids_fast_read = world_.random().chance(kAvoidingPercent);
  if (algorithm_.on_request(first_lookup_, avoids_fast_read) == ReadStep::ask_group)
    return ask_judge();
  ask_origin();
}

void SimulatedClient::ask_origin() {
  state_ = State::awaits_origin;
  origin_ = world_.random().below(Service::kOrigins);
  early_answer_.reset();
  if (world_.random().chance(50)) early_answer_ = world_.service().answer_of(origin_, key_);
}

void SimulatedClient::on_origin_answer() {
  if (world_.random().chance(kOriginFailingPercent)) {
    const ReadStep step = algorithm_.on_fast_failure();
    ASSERT(step == ReadStep::ask_group);
    return ask_judge();
  }
  const std::string answer =
      early_answer_ ? *early_answer_ : world_.service().answer_of(origin_, key_);
  const Sketch sketch = World::sketch_of(answer);
  if (algorithm_.on_fast_answer(sketch, second_lookup(sketch), false) == ReadStep::ask_group) {
    return ask_judge();
  }
  ++world_.counted().fast;
  finish(&answer);
}

ReadAlgorithm::Lookup SimulatedClient::look_up() const {
  const auto entry = world_.table().lookup(world_.sketch_of(key_));
  const auto admitted = world_.floors().admit(entry, world_.slot_of(key_));
  world_.counted().out_of_date += entry && !admitted ? 1 : 0;
  return admitted;
}

ReadAlgorithm::Lookup SimulatedClient::second_lookup(const Sketch& answer) const {
  if (world_.variant() == Variant::one_lookup) return first_lookup_;
  if (world_.variant() == Variant::floor_at_first_only) {
    return world_.table().lookup(world_.sketch_of(key_));
  }
  auto entry = look_up();
  if (world_.variant() == Variant::any_former && entry && world_.former().contains(answer)) {
    entry->answer = answer;
  }
  return entry;
}

void SimulatedClient::ask_judge(bool asks_again) {
  state_ = State::awaits_judge;
  bool may_share = !is_blacklisted_;
  // That is another variant.
  if (world_.variant() == Variant::vote_ignores_floor) may_share = false;
  sketch::RequestForm form;
  form.target = World::target_of(key_);
  form.wire = read_of(key_);
  const bool is_asked = worker_->reads().ask(world_.sketch_of(key_), form, "GET",
                                             {.algorithm = algorithm_,
                                              .evidence = std::nullopt,
                                              .waiter = this,
                                              .counters = &world_.counters(),
                                              .may_share = may_share,
                                              .asks_again = asks_again});
  ASSERT(is_asked);
}

void SimulatedClient::ask_ordered() {
  state_ = State::awaits_order;
  submitted_ = world_.order().submit();
  call_ = world_.service().submit(kind_ == Kind::publish ? write_of(key_, value_) : read_of(key_),
                                  *this);
}

void SimulatedClient::on_group_answer(const sketch::AnswerForm& form,
                                      const std::optional<Sketch>&) {
  ++world_.counted().replicated;
  const std::string value(form.body);
  finish(&value);
}

void SimulatedClient::on_group_answer_outdated() {
  ++world_.counted().outdated;
  if (world_.variant() == Variant::outdated_for_late) {
    return finish(&world_.service().last_answer());
  }
  ask_judge(true);
}

void SimulatedClient::on_replicated_answer(replica_client::ReplicatedAnswer answer) {
  call_ = 0;
  static_cast<void>(world_.order().place(submitted_, answer.sigma));
  if (kind_ == Kind::publish) {
    worker_->reads().on_write();
    make_out_of_date();
    return finish(&value_);
  }
  const std::string value(answer.form.body);
  finish(&value);
}

void SimulatedClient::on_replicated_failure(replica_client::ReplicatedFailure) {
  call_ = 0;
  if (kind_ == Kind::publish) worker_->reads().on_write();
  finish(nullptr);
}

void SimulatedClient::make_out_of_date() {
  if (world_.variant() == Variant::no_floors) return;
  const WriteFloors::Slot slot = world_.slot_of(key_);
  if (world_.has_votes()) {
    world_.floors().raise_unordered(slot, [this] { return world_.service().next_sigma(); });
  } else {
    world_.floors().raise(slot, world_.order().newest());
  }
}

void SimulatedClient::finish(const std::string* value) {
  state_ = State::idle;
  world_.end(key_, operation_, value);
}

void SimulatedClient::leave() {
  if (state_ == State::awaits_judge) worker_->reads().leave(*this);
  if (state_ == State::awaits_order) world_.service().cancel(std::exchange(call_, 0));
  state_ = State::idle;
}

void SimulatedClient::on_worker_killed(const SimulatedWorker& worker) {
  if (worker_ == &worker) leave();
}

}  // namespace prophecy::consistency
