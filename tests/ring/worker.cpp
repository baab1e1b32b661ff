#include "ring/worker.hpp"

#include <utility>

#include "ring/host.hpp"
#include "ring/world.hpp"

namespace prophecy::ring {

using dht::Basis;
using dht::OwnerWord;
using dht::Stage;

namespace {

constexpr Duration kRetry = milliseconds(60);
constexpr int kHopsMax = 3;
constexpr std::uint64_t kLostPercent = 2;

}  // namespace

Worker::Worker(World& world, Host& host)
    : world_(world), host_(host), process_(world.scheduler(), world.random()) {
  process_.set_stumbles(world.settings().stumble_percent, kLease * 2,
                        [&tally = world.tally()] { tally.add(Met::stumbles); });
}

// ---- Permissions, and what breaks them.

bool Worker::allows(Stage stage, Basis basis) const {
  if (world_.is_broken(Broken::both_blacklisted) && basis == Basis::group)
    return stage >= Stage::waiting;
  return dht::Permissions::allows(stage, basis);
}

bool Worker::is_in_force(Basis basis) const {
  if (world_.is_broken(Broken::both_blacklisted) && basis == Basis::group) return true;
  return host_.permissions().is_in_force(basis, [this] { return host_.now(); });
}

// The stronger basis of those that are in force.
void Worker::check_lease(Check& check) const {
  check.at = world_.instant();
  const Stage stage = check.claim.stage();
  for (const Basis basis : {Basis::history, Basis::group}) {
    if (check.is_in_force || !allows(stage, basis) || !is_in_force(basis)) continue;
    check.basis = basis;
    check.is_in_force = true;
  }
}

void Worker::check_word(Check& check) const {
  const OwnerWord now = host_.permissions().owner(check.partition);
  check.is_unchanged = now == check.claim;
  if (world_.is_broken(Broken::word_by_stage))
    check.is_unchanged = now.stage() == check.claim.stage();
  if (world_.is_broken(Broken::both_blacklisted))
    check.is_unchanged = now.slot() == check.claim.slot();
}

void Worker::add_checks(std::vector<Process::Work>& steps,
                        const std::shared_ptr<Check>& check) const {
  const auto lease = [this, check] { check_lease(*check); };
  const auto word = [this, check] { check_word(*check); };
  const bool is_reversed = world_.is_broken(Broken::word_before_lease);
  if (is_reversed) steps.emplace_back(word);
  steps.emplace_back(lease);
  if (!is_reversed) steps.emplace_back(word);
}

void Worker::note_accepted(const Check& check, Instant at) const {
  world_.trace(host_.self().name + " accepts for partition " + std::to_string(check.partition) +
               (check.basis == Basis::history ? " by its history" : " by the group") + ", word " +
               std::to_string(check.claim.number()) + ", at " + std::to_string(at / 1000) + " us");
  if (check.basis == Basis::history) {
    world_.note_accepted(check.partition, host_, check.claim, at);
  } else {
    world_.tally().add(Met::group_only_answers);
  }
}

// It belongs to what is handed over, and is erased with what is cleared.
void Worker::note_change(const Check& check) const {
  // (In stage group_only nothing is recorded, and clearing leaves floors as they are.)
  if (check.claim.stage() == Stage::taken && host_.touched(check.partition) > check.at)
    world_.fail(Oracle::acceptance, host_.self().name + " changes partition " +
                                        std::to_string(check.partition) +
                                        " after it was cleared or handed over");
}

// ---- Requests.

void Worker::on_request(const OperationPointer& operation, int hops) {
  process_.post([this, operation, hops] { handle(operation, hops); });
}

void Worker::handle_later(const OperationPointer& operation) {
  process_.post_after(kRetry, [this, operation] { handle(operation, 0); });
}

void Worker::handle(const OperationPointer& operation, int hops) {
  if (!operation->is_open) return;
  const OwnerWord word = host_.permissions().owner(world_.layout().partition_of(operation->at));
  if (word.stage() == Stage::elsewhere && hops < kHopsMax)
    return host_.pass_on(operation, word.slot(), hops + 1);
  const bool by_history = allows(word.stage(), Basis::history) && is_in_force(Basis::history);
  const bool by_group = allows(word.stage(), Basis::group) && is_in_force(Basis::group);
  if (!by_history && !by_group) return handle_later(operation);
  if (operation->is_write()) return start_write(operation);
  begin_read(operation, word, by_history);
}

void Worker::begin_read(const OperationPointer& operation, OwnerWord claim, bool by_history) {
  if (!by_history || !host_.table().look_up(operation->at))
    return ask_group(operation, claim, by_history);
  world_.ask_origin(operation->at,
                    [this, operation, claim, alive = host_.alive()](Content content) {
                      if (!alive.expired())
                        process_.post([=, this] { on_fast_answer(operation, claim, content); });
                    });
}

void Worker::on_fast_answer(const OperationPointer& operation, OwnerWord claim, Content content) {
  const auto check = std::make_shared<Check>();
  check->partition = world_.layout().partition_of(operation->at);
  check->claim = claim;
  struct Look {
    std::optional<Table::Entry> entry;
    Instant at = 0;
  };
  const auto look = std::make_shared<Look>();
  const auto look_up = [this, look, operation] {
    look->entry = host_.table().look_up(operation->at);
    look->at = world_.instant();
  };
  std::vector<Process::Work> steps;
  if (world_.is_broken(Broken::lease_before_look_up)) {
    add_checks(steps, check);
    steps.emplace_back(look_up);
  } else {
    steps.emplace_back(look_up);
    add_checks(steps, check);
  }
  steps.emplace_back([this, look, check, operation, claim, content] {
    if (!check->holds() || check->basis != Basis::history) {
      world_.tally().add(check->is_in_force ? Met::moved_reads : Met::refused_late);
      return handle_later(operation);
    }
    if (!look->entry || look->entry->content != content) return ask_group(operation, claim, true);
    note_accepted(*check, look->at);
    world_.tally().add(Met::fast_reads);
    if (look->entry->was_handed)
      world_.tally().add(world_.settings().counts_itself ? Met::handed_reads_by_age
                                                         : Met::handed_reads);
    if (content != world_.group().now(operation->at)) world_.tally().add(Met::stale_reads);
    world_.trace("  fast, register " + std::to_string(operation->at) + ", v" +
                 std::to_string(content) + (look->entry->was_handed ? ", handed" : ""));
    operation->answer(content, look->at);
  });
  process_.run_steps(std::move(steps));
}

void Worker::ask_group(const OperationPointer& operation, OwnerWord claim, bool by_history) {
  const Register at = operation->at;
  const auto found = joinable_.find(at);
  const bool may_share = by_history || world_.is_broken(Broken::shares_in_group_phase);
  if (may_share && found != joinable_.end()) {
    Call& call = *found->second;
    const bool is_of_now = (call.claim == claim || world_.is_broken(Broken::call_shared_across)) &&
                           call.floor == host_.table().floor(at);
    if (is_of_now) {
      call.askers.push_back(operation);
      return;
    }
  }
  const auto call = std::make_shared<Call>();
  call->at = at;
  call->claim = claim;
  call->floor = host_.table().floor(at);
  call->base = host_.table().base();
  call->askers.push_back(operation);
  if (may_share) joinable_[at] = call;
  const bool is_lost = world_.random().chance(kLostPercent) && !world_.is_calm();
  const dht::ViewNumber view = host_.permissions().view();
  world_.ask_group([&group = world_.group(), at, view] { return group.read(at, view); },
                   [this, call, is_lost, alive = host_.alive()](Group::Answer answer) {
                     if (alive.expired()) return;
                     process_.post([=, this] {
                       const auto newest = joinable_.find(call->at);
                       if (newest != joinable_.end() && newest->second == call)
                         joinable_.erase(newest);
                       if (!is_lost) return on_group_answer(call, answer);
                       for (const OperationPointer& asker : call->askers)
                         handle_later(asker);
                     });
                   });
}

void Worker::on_group_answer(const CallPointer& call, Group::Answer answer) {
  const auto check = std::make_shared<Check>();
  check->partition = world_.layout().partition_of(call->at);
  check->claim = call->claim;
  std::vector<Process::Work> steps;
  const auto was_recorded = std::make_shared<bool>(false);
  if (world_.is_broken(Broken::update_before_check)) {
    steps.emplace_back([this, call, answer, was_recorded] {
      *was_recorded = host_.table().update(call->at, answer.content, answer.number, call->base);
    });
  }
  add_checks(steps, check);
  if (world_.is_broken(Broken::replicated_unchecked)) {
    steps.emplace_back([check] { check->is_in_force = true; });
  }
  if (world_.is_broken(Broken::call_shared_across)) {
    // Whoever asks now decides, not who began.
    steps.emplace_back([this, check] {
      check->is_unchanged =
          allows(host_.permissions().owner(check->partition).stage(), Basis::history);
    });
  }
  steps.emplace_back([this, call, answer, check, was_recorded] {
    if (check->holds()) return accept_group_answer(*call, answer, *check, *was_recorded);
    world_.tally().add(check->is_in_force ? Met::moved_reads : Met::refused_late);
    for (const OperationPointer& asker : call->askers)
      handle_later(asker);
  });
  process_.run_steps(std::move(steps));
}

// It has been looked whether it may be: from here on nothing stops it but death.
void Worker::accept_group_answer(const Call& call, const Group::Answer& answer, const Check& check,
                                 bool was_recorded_before) {
  Table& table = host_.table();
  note_accepted(check, check.at);
  note_change(check);
  world_.note_answer(call.at, answer.content, answer.number);
  table.note(answer.number);
  const bool is_behind_write = table.floor(call.at) >= table.number_of(answer.number);
  const bool is_kept =
      check.claim.stage() == Stage::taken || world_.is_broken(Broken::both_blacklisted);
  bool is_recorded = was_recorded_before;
  if (is_kept && !is_behind_write)
    is_recorded = table.update(call.at, answer.content, answer.number, call.base) || is_recorded;
  world_.trace("  replicated, register " + std::to_string(call.at) + ", v" +
               std::to_string(answer.content) + ", number " + std::to_string(answer.number) +
               (is_recorded ? ", recorded" : ""));
  const auto entry = table.look_up(call.at);
  const bool is_current =
      (is_recorded && !is_behind_write) || (entry && entry->content == answer.content);
  const bool is_shared =
      check.basis == Basis::history || world_.is_broken(Broken::shares_in_group_phase);
  const bool is_for_all = is_shared && (is_current || check.basis == Basis::group);
  for (std::size_t i = 0; i < call.askers.size(); ++i) {
    const OperationPointer& asker = call.askers[i];
    if (i > 0 && !is_for_all) {
      handle_later(asker);
      continue;
    }
    if (i > 0) world_.tally().add(Met::shared_reads);
    asker->answer(answer.content, check.at);
  }
}

// ---- Writes.

// The view is read before the word.
void Worker::start_write(const OperationPointer& operation) {
  struct Seen {
    dht::ViewNumber view = 0;
    OwnerWord word;
  };
  const auto seen = std::make_shared<Seen>();
  // R7 has to suffice by itself where a group knows no views.
  const auto view = [this, seen] {
    if (!world_.is_broken(Broken::write_unchecked)) seen->view = host_.permissions().view();
  };
  const auto word = [this, seen, operation] {
    seen->word = host_.permissions().owner(world_.layout().partition_of(operation->at));
  };
  const bool is_reversed = world_.is_broken(Broken::view_after_word);
  std::vector<Process::Work> steps;
  if (is_reversed) steps.emplace_back(word);
  steps.emplace_back(view);
  if (!is_reversed) steps.emplace_back(word);
  steps.emplace_back([this, seen, operation] {
    const Stage stage = seen->word.stage();
    const bool may_begin = (allows(stage, Basis::history) && is_in_force(Basis::history)) ||
                           (allows(stage, Basis::group) && is_in_force(Basis::group));
    if (!may_begin) return handle_later(operation);
    begin_write(operation, seen->word, seen->view);
  });
  process_.run_steps(std::move(steps));
}

void Worker::begin_write(const OperationPointer& operation, OwnerWord claim, dht::ViewNumber view) {
  world_.tally().add(Met::writes);
  const bool is_lost = world_.random().chance(kLostPercent) && !world_.is_calm();
  world_.ask_group(
      [&world = world_, operation, view, writer = host_.self().instance] {
        const auto answer =
            world.group().write(operation->at, operation->also, *operation->content, view);
        if (!answer.is_refused)
          world.check_write(world.layout().partition_of(operation->at), writer);
        return answer;
      },
      [this, operation, claim, is_lost, alive = host_.alive()](Group::Answer answer) {
        if (is_lost || alive.expired()) return;
        process_.post([=, this] {
          if (!answer.is_refused) return on_written(operation, claim, answer.number);
          world_.tally().add(Met::refused_writes);
          handle_later(operation);
        });
      });
}

void Worker::on_written(const OperationPointer& operation, OwnerWord claim, OrderNumber number) {
  const auto check = std::make_shared<Check>();
  check->partition = world_.layout().partition_of(operation->at);
  check->claim = claim;
  std::vector<Process::Work> steps;
  add_checks(steps, check);
  steps.emplace_back([this, operation, number, check] {
    const std::size_t slot = world_.layout().slot_of(operation->at);
    const auto done = [operation, at = check->at] { operation->answer(*operation->content, at); };
    const bool holds = check->holds() || world_.is_broken(Broken::write_unchecked);
    if (!holds) {
      // It is kept until the owner of now has raised the floor; it is never sent again.
      return raise_then(operation, slot, number, [this, operation, number, done] {
        world_.tally().add(Met::moved_writes);
        raise_also(operation, number, done);
      });
    }
    if (check->holds()) {
      note_accepted(*check, check->at);
      note_change(*check);
      world_.note_answer(operation->at, *operation->content, number);
    }
    host_.table().note(number);
    host_.table().raise_floor(slot, host_.table().newest());
    raise_also(operation, number, done);
  });
  process_.run_steps(std::move(steps));
}

void Worker::raise_also(const OperationPointer& operation, OrderNumber number,
                        const std::function<void()>& done) {
  if (!operation->also) return done();
  const std::size_t slot = world_.layout().slot_of(*operation->also);
  const Partition partition = world_.layout().partition_of_slot(slot);
  if (host_.permissions().owner(partition).stage() == Stage::elsewhere) {
    if (world_.is_broken(Broken::location_ignored)) return done();
    world_.tally().add(Met::locations);
  }
  raise_then(operation, slot, number, done);
}

// Until it is done, or the client has left.
void Worker::raise_then(const OperationPointer& operation, std::size_t slot, OrderNumber number,
                        const std::function<void()>& done) {
  process_.post([=, this] {
    if (!operation->is_open) return;
    const OwnerWord word = host_.permissions().owner(world_.layout().partition_of_slot(slot));
    const auto is_done = std::make_shared<bool>(false);
    const auto once = [=] {
      if (!std::exchange(*is_done, true)) done();
    };
    if (word.stage() == Stage::elsewhere) {
      host_.raise_elsewhere(word.slot(), slot, number, [this, once, alive = host_.alive()] {
        if (!alive.expired()) process_.post(once);
      });
    } else {
      on_raise(slot, number, once);
    }
    process_.post_after(kRetry * 3, [=, this] {
      if (!*is_done) raise_then(operation, slot, number, once);
    });
  });
}

void Worker::on_raise(std::size_t slot, OrderNumber number, std::function<void()> done) {
  process_.post([this, slot, number, done = std::move(done)] {
    const auto check = std::make_shared<Check>();
    check->partition = world_.layout().partition_of_slot(slot);
    check->claim = host_.permissions().owner(check->partition);
    std::vector<Process::Work> steps;
    add_checks(steps, check);
    steps.emplace_back([this, slot, number, done, check] {
      if (!check->holds()) return;  // it is asked for again, wherever it belongs then
      note_accepted(*check, check->at);
      note_change(*check);
      host_.table().note(number);
      host_.table().raise_floor(slot, host_.table().newest());
      done();
    });
    process_.run_steps(std::move(steps));
  });
}

}  // namespace prophecy::ring
