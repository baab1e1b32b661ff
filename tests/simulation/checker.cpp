#include "simulation/checker.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "pbft/wire/limits.hpp"
#include "simulation/hosts/describe_frame.hpp"
#include "simulation/hosts/origin_faults.hpp"

namespace prophecy::simulation {
namespace {

// No frame of a run is longer.
constexpr std::uint64_t kFrameBytes = 16384;

std::string name(const Operation& operation) {
  return std::string(operation.append ? "append" : "read") + " #" +
         std::to_string(operation.id >> 32) + "." + std::to_string(operation.id & UINT32_MAX);
}

std::string name(ByteView encoded) {
  const auto operation = decode_operation(encoded);
  return operation ? name(*operation) : "garbage of " + std::to_string(encoded.size()) + " bytes";
}

}  // namespace

Checker::Checker(const Scenario& scenario)
    : scenario_(scenario),
      liars_(scenario.liars()),
      bad_clients_(static_cast<std::uint64_t>(std::count_if(
          scenario.ingredients.begin(), scenario.ingredients.end(),
          [](const Ingredient& other) { return other.kind == IngredientKind::bad_client; }))) {}

void Checker::fail(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

bool Checker::is_unique(const Operation& operation) const {
  const std::uint64_t client = operation.id >> 32;
  return client >= kFirstClientId && client < kFirstClientId + scenario_.clients;
}

// A client whose clock was set back sends a call that changes nothing again under another
// timestamp, when it learns that its own was overtaken: maybe behind its execution.
bool Checker::is_sent_again(const Operation& operation) const {
  return !operation.append &&
         std::any_of(scenario_.ingredients.begin(), scenario_.ingredients.end(),
                     [&](const Ingredient& other) {
                       return other.kind == IngredientKind::client_restart &&
                              other.node == operation.id >> 32 && other.offset < Duration{};
                     });
}

void Checker::on_handed_out(NodeId replica, const pbft::Execution& execution) {
  if (execution.sigma == 0) return;
  const auto who = [&] {
    return "replica " + std::to_string(replica) + " executes " + name(execution.operation) +
           " at " + place(execution.sigma);
  };
  pbft::Sigma& last = last_of_replica_[replica];
  if (execution.sigma <= last) fail(who() + " after " + place(last));
  last = execution.sigma;
  const auto operation = decode_operation(execution.operation);
  if (operation && is_unique(*operation) && !is_sent_again(*operation) &&
      !executed_by_replica_[replica].emplace(operation->id, execution.sigma).second) {
    fail(who() + " for the second time");
  }
  // It goes on only behind what is ordered.
  settle_up_to(replica, (execution.sigma >> 16) - 1);
  Ahead ahead{execution.sigma, Bytes(execution.operation.begin(), execution.operation.end()),
              execution.input};
  if (execution.tentative) {
    ahead_[replica].push_back(std::move(ahead));
  } else {
    settle_in_order(replica, ahead);
  }
}

void Checker::settle_in_order(NodeId replica, const Ahead& execution) {
  pbft::Sigma& last = settled_by_replica_[replica];
  const auto next = order_.upper_bound(last);
  if (next != order_.end() && next->first < execution.sigma) {
    fail("replica " + std::to_string(replica) + " goes from " + place(last) + " to " +
         place(execution.sigma) + ", and has passed over " + name(next->second.operation) + " at " +
         place(next->first));
  }
  last = execution.sigma;
  settle(replica, execution);
}

void Checker::settle(NodeId replica, const Ahead& execution) {
  const auto who = [&] {
    return "replica " + std::to_string(replica) + " executes " + name(execution.operation) +
           " at " + place(execution.sigma);
  };
  const auto known = order_.find(execution.sigma);
  if (known != order_.end()) {
    if (execution.operation != known->second.operation) {
      fail(who() + ", where another one executed " + name(known->second.operation));
    }
    if (known->second.input != execution.input) fail(who() + " with another time or seed");
    return;
  }
  if (!order_.empty() && order_.rbegin()->first > execution.sigma) {
    fail(who() + ", which another one has passed over");
    return;
  }
  if (!order_.empty() && order_.rbegin()->second.input.time > execution.input.time) {
    fail(who() + " at a time before that of " + place(order_.rbegin()->first));
  }
  const auto operation = decode_operation(execution.operation);
  const bool is_nothing =
      operation && operation->append && is_without_effect(scenario_, operation->id);
  const std::uint64_t sequence = execution.sigma >> 16;
  const bool takes_room = operation && operation->append && !operation->frees;
  Bytes result = takes_room && is_full_in(sequence) ? full_result()
                 : is_nothing                       ? uncertain_result()
                                                    : model_.execute(execution.operation);
  order_.emplace(execution.sigma, Ordered{execution.operation, std::move(result), execution.input});
  size_behind_[sequence] = model_.size();
}

bool Checker::is_full_in(std::uint64_t sequence) const {
  const auto after = checkpoints_.lower_bound(sequence);
  if (after == checkpoints_.begin()) return false;
  const std::uint64_t checkpoint = *std::prev(after);
  const auto next = size_behind_.upper_bound(checkpoint);
  const std::uint64_t size = next == size_behind_.begin() ? 0 : std::prev(next)->second;
  return is_full(scenario_, checkpoint, size);
}

void Checker::on_write(NodeId replica, const pbft::Execution& execution, bool refuses) {
  const bool has_no_room = is_full_in(execution.sigma >> 16);
  if (refuses == has_no_room || contains(liars_, replica)) return;
  fail("replica " + std::to_string(replica) + (refuses ? " refuses " : " carries out ") +
       name(execution.operation) + " at " + place(execution.sigma) + ", although the state is " +
       (has_no_room ? "full" : "not full"));
}

void Checker::settle_up_to(NodeId replica, std::uint64_t last_ordered) {
  const Batch& ahead = ahead_[replica];
  if (ahead.empty() || ahead.front().sigma >> 16 > last_ordered) return;
  for (const Ahead& execution : ahead)
    settle_in_order(replica, execution);
  end_ahead(replica);
}

void Checker::end_ahead(NodeId replica) {
  Batch& ahead = ahead_[replica];
  if (!ahead.empty()) once_ahead_[replica].push_back(std::move(ahead));
  ahead.clear();
}

void Checker::settle_promised(const Call& call, pbft::Sigma sigma) {
  const Bytes operation = encode(call.operation);
  const auto holds = [&](const Batch& batch) {
    return std::any_of(batch.begin(), batch.end(), [&](const Ahead& execution) {
      return execution.sigma == sigma && execution.operation == operation;
    });
  };
  // What comes behind it in its batch may wait for a write that crashed, at some longer than at
  // others.
  const auto up_to_it = [&](const Batch& batch) {
    Batch part;
    std::copy_if(batch.begin(), batch.end(), std::back_inserter(part),
                 [&](const Ahead& execution) { return execution.sigma <= sigma; });
    return part;
  };
  const auto was_ahead_with = [&](NodeId replica, const Batch& part) {
    const auto& once = once_ahead_[replica];
    return up_to_it(ahead_[replica]) == part ||
           std::any_of(once.begin(), once.end(),
                       [&](const Batch& batch) { return up_to_it(batch) == part; });
  };
  struct Promise {
    NodeId by = 0;
    Batch batch;
    std::uint32_t correct = 0;  // that have executed it ahead
  };
  std::optional<Promise> promised;
  // Several views may have begun with the call, in different batches: the one that most have.
  const auto consider = [&](NodeId replica, const Batch& all) {
    if (!holds(all)) return;
    Promise found{replica, up_to_it(all), 0};
    for (NodeId other = 0; other < scenario_.replicas(); ++other)
      found.correct += !contains(liars_, other) && was_ahead_with(other, found.batch) ? 1 : 0;
    if (!promised || found.correct > promised->correct) promised = std::move(found);
  };
  for (const auto& [replica, ahead] : ahead_)
    consider(replica, ahead);
  // A late reply may complete the call when all have lost their power since.
  for (const auto& [replica, once] : once_ahead_) {
    for (auto batch = once.rbegin(); batch != once.rend(); ++batch)
      consider(replica, *batch);
  }
  if (!promised) return;
  // Who has lied at another time may be correct now.
  if (promised->correct <= scenario_.faults && !scenario_.has_turns()) {
    fail("call " + name(call.operation) + " agreed at " + place(sigma) + ", which only " +
         std::to_string(promised->correct) + " correct replicas have executed ahead");
  }
  for (const Ahead& execution : promised->batch)
    settle(promised->by, execution);
}

void Checker::note_unsettled(NodeId replica) {
  if (ahead_[replica].empty()) return;
  const pbft::Sigma first = ahead_[replica].front().sigma;
  pbft::Sigma& known = first_unsettled_.try_emplace(replica, first).first->second;
  known = std::min(known, first);
}

void Checker::on_started(NodeId replica) {
  note_unsettled(replica);
  end_ahead(replica);
}

void Checker::on_restored(NodeId replica, std::uint64_t sequence) {
  const pbft::Sigma last = (sequence << 16) | 0xffff;
  last_of_replica_[replica] = last;
  // What was executed ahead may be no part of any state: another batch may stand in its place.
  note_unsettled(replica);
  const auto unsettled = first_unsettled_.extract(replica);
  const pbft::Sigma kept = unsettled.empty() ? last : std::min(last, unsettled.mapped() - 1);
  std::erase_if(executed_by_replica_[replica],
                [&](const auto& executed) { return executed.second > kept; });
  end_ahead(replica);
  // The replica may find the state lost again, and go on from where it was.
  settled_by_replica_[replica] = std::max(settled_by_replica_[replica], last);
}

void Checker::on_submitted(Call& call) {
  call.sigma_floor = completed_sigma_;
  call.version_floor = completed_version_[call.operation.key];
}

void Checker::on_completed(const Call& call, const pbft::Completion& completion) {
  const std::string who = "call " + name(call.operation);
  if (call.cancelled) fail(who + " completes although it was cancelled");
  switch (completion.outcome) {
    case pbft::CallOutcome::agreed:
      if (call.kind == pbft::CallKind::ordered || completion.fell_back) {
        check_ordered(call, completion);
      } else {
        check_read_only(call, completion);
      }
      return;
    case pbft::CallOutcome::timed_out:
      if (!call.impatient && scenario_.asks_for_liveness()) fail(who + " has timed out");
      return;
    case pbft::CallOutcome::overloaded:
      return;
    case pbft::CallOutcome::unavailable:
    case pbft::CallOutcome::no_agreement:
      // While no f+1 replicas have a service, no reply to a call is proven.
      if (scenario_.has(IngredientKind::lost_services)) return;
      // While replicas wait for a checkpoint that shows which of their states is right.
      if (scenario_.has(IngredientKind::crashing_writes)) return;
      // Where replies differ, a replica that takes a state over has none of before. So had one that
      // could not tell its own, and one that was faulty. And they differ where services were lost.
      if (scenario_.has(IngredientKind::untold_states) &&
          scenario_.has(IngredientKind::read_failures)) {
        return;
      }
      if (scenario_.services_lost() > scenario_.faults) return;
      if (scenario_.asks_for_liveness()) fail(who + " found no agreement");
      return;
  }
}

void Checker::on_waited(const Call& call, Duration waited) {
  // Bodies that are not everywhere yet are not bounded by that.
  const bool has_bodies = scenario_.percent_of(IngredientKind::large_operations, TimePoint{}) > 0;
  if (!scenario_.network_works() || has_bodies || call.impatient ||
      waited <= scenario_.longest_wait()) {
    return;
  }
  const auto ms = [](Duration duration) {
    return std::to_string(std::chrono::duration_cast<milliseconds>(duration).count()) + " ms";
  };
  fail("call " + name(call.operation) + " has waited for " + ms(waited) + ", and not for " +
       ms(scenario_.longest_wait()) + " at most");
}

void Checker::check_ordered(const Call& call, const pbft::Completion& completion) {
  const std::string who = "call " + name(call.operation) + " agreed at " + place(completion.sigma);
  if (!order_.contains(completion.sigma)) settle_promised(call, completion.sigma);
  const auto found = order_.find(completion.sigma);
  if (found == order_.end()) return fail(who + ", where no correct replica executed anything");
  if (found->second.operation != encode(call.operation)) {
    return fail(who + ", where replicas executed " + name(found->second.operation));
  }
  const bool is_uncertain =
      completion.result == uncertain_result() && may_be_uncertain(scenario_, call.operation.id);
  if (found->second.result != completion.result && !is_uncertain) {
    return fail(who + " with another result than the sequential history's");
  }
  if (completion.sigma <= call.sigma_floor) {
    fail(who + ", not after " + place(call.sigma_floor) + ", which completed before it began");
  }
  check_turns(call, completion.sigma);
  completed_sigma_ = std::max(completed_sigma_, completion.sigma);
  if (is_uncertain || completion.result == full_result()) return;
  std::uint64_t& version = completed_version_[call.operation.key];
  version = std::max(version, decode_result(completion.result).state.version);
}

void Checker::on_arrived(Call& call) const {
  const pbft::Sigma executed = order_.empty() ? 0 : order_.rbegin()->first;
  // What is ordered may wait for a disk before it is executed, and the next batches do not.
  call.arrived_behind = std::max(executed, last_ordered_ << 16 | 0xffff);
}

// What is on its way, the batch that is laid out already, the one in which its turn comes; and the
// turns of the calls that its own client has in front.
void Checker::check_turns(const Call& call, pbft::Sigma sigma) {
  if (!call.arrived_behind || has_changed_view_ || !scenario_.blames_nobody()) return;
  const pbft::ReplicaSettings& settings = scenario_.replica;
  const std::uint64_t most =
      (settings.batches_in_flight_max + std::uint64_t{2}) * settings.batch_requests_max +
      2 * scenario_.sessions;
  std::map<std::uint64_t, std::uint64_t> in_front;  // by client
  for (auto at = order_.upper_bound(*call.arrived_behind); at != order_.end() && at->first < sigma;
       ++at) {
    const auto operation = decode_operation(at->second.operation);
    if (!operation || operation->id >> 32 == call.client) continue;
    if (++in_front[operation->id >> 32] <= most) continue;
    return fail("call " + name(call.operation) + " waits for more than " + std::to_string(most) +
                " calls of client " + std::to_string(operation->id >> 32));
  }
}

void Checker::check_read_only(const Call& call, const pbft::Completion& completion) {
  const std::string who = "call " + name(call.operation) + " outside the order";
  const OperationResult result = decode_result(completion.result);
  const auto& history = model_.history(call.operation.key);
  if (result.key != call.operation.key || result.state.version >= history.size() ||
      history[result.state.version] != result.state) {
    return fail(who + " saw a state that never was");
  }
  // With f+1 replies to writes, a liar can hide the newest ones from a read (docs/protocol.md).
  const bool promised = scenario_.linearizable_reads || liars_ == 0;
  if (promised && result.state.version < call.version_floor) {
    fail(who + " saw version " + std::to_string(result.state.version) + " after version " +
         std::to_string(call.version_floor));
  }
  std::uint64_t& version = completed_version_[call.operation.key];
  if (promised) version = std::max(version, result.state.version);
}

void Checker::on_refuted(NodeId replica) {
  // An answer that honestly differs from the agreed one is evidence of that.
  const bool differs = scenario_.find(IngredientKind::noisy_answers, replica) != nullptr ||
                       scenario_.has(IngredientKind::crashing_writes);
  if (!contains(liars_, replica) && !differs) {
    fail("replica " + std::to_string(replica) + " is accused, and is correct");
  }
}

void Checker::on_state(NodeId replica, std::uint64_t sequence, const Sha256::Digest& root) {
  states_[{replica, sequence}].insert(root);
}

void Checker::on_given_up(NodeId replica, std::uint64_t sequence, const Sha256::Digest& root) {
  if (contains(liars_, replica) || !scenario_.network_works()) return;
  const auto own = states_.find({replica, sequence});
  if (own == states_.end() || own->second.contains(root)) return;
  ++states_given_up_;
  std::uint32_t correct = 0;  // that have it, or may have it soon
  for (NodeId other = 0; other < scenario_.replicas(); ++other) {
    const auto states = states_.find({other, sequence});
    const bool has_another = states != states_.end() && !states->second.contains(root);
    if (!has_another && other != replica && !contains(liars_, other)) ++correct;
  }
  if (correct <= scenario_.faults) {
    fail("replica " + std::to_string(replica) + " gives up its own state behind batch " +
         std::to_string(sequence) + " for one that only " + std::to_string(correct) +
         " correct replicas have");
  }
}

void Checker::on_status(NodeId replica, const pbft::ReplicaStatus& status) {
  settle_up_to(replica, status.last_ordered);
  if (!contains(liars_, replica)) last_ordered_ = std::max(last_ordered_, status.last_ordered);
  const pbft::ReplicaSettings& settings = scenario_.replica;
  const auto who = [&] { return "replica " + std::to_string(replica); };
  const auto check_bound = [&](const char* what, std::uint64_t size, std::uint64_t bound) {
    if (size <= bound) return;
    fail(who() + " keeps " + std::to_string(size) + " " + what + ", which are more than " +
         std::to_string(bound));
  };
  // The ring's places: while a disk stalls, and after a restart, the log reaches back to the base.
  const std::uint64_t numbers = std::bit_ceil(settings.window + settings.retained_batches + 1);
  check_bound("batches", status.log_batches, pbft::kProposalsPerNumber * numbers);
  // Two shares of the current view and two of what older ones have left, and one frame too many.
  // Where nobody has a state, what is on record leads to one.
  const std::uint64_t record =
      scenario_.has(IngredientKind::lost_services) ? settings.record_kept_max() : 0;
  check_bound("bytes in its log", status.log_bytes,
              4 * settings.log_bytes_max + record + kFrameBytes);
  // And those for which backups wait: a batch, and one of each client.
  check_bound(
      "requests in its queue", status.queued_requests,
      settings.queue_requests_max + settings.batch_requests_max + scenario_.clients + bad_clients_);
  check_bound("bytes of replies", status.cached_reply_bytes,
              settings.cached_reply_bytes_max + kFrameBytes);
  // Under load others than the first may be tried (pbft/core/views/slow_primary.hpp).
  const bool is_blame = status.view_change_cause == pbft::ViewChangeCause::request_waited ||
                        status.view_change_cause == pbft::ViewChangeCause::nothing_settled ||
                        status.view_change_cause == pbft::ViewChangeCause::left_out;
  if (is_blame && scenario_.blames_nobody()) {
    fail(who() + " is in view " + std::to_string(status.view) + " (" +
         std::string(to_string(status.view_change_cause)) + "), which no fault explains");
  }
  has_changed_view_ = has_changed_view_ || status.view > 0;
  if (status.state == pbft::ReplicaState::diverged) fail(who() + " has diverged");
  // What was executed ahead may have to be undone, and that is all.
  if (!status.answers && scenario_.network_works() && !settings.tentative_execution) {
    fail(who() + " does not answer, although its service is well");
  }
  for (const pbft::PeerStanding& peer : status.peers) {
    // Who takes its group for new, because 2f others are, may have spoken to the rest.
    if (peer.contradicted_at == TimePoint::min()) continue;
    const bool may_forget = scenario_.find(IngredientKind::lost_disk, peer.replica) != nullptr;
    if (!may_forget) on_refuted(peer.replica);
  }
}

// As many as a restart could hold; and as many once more, because what the last base made needless
// may still be there while the writes that erase it are on their way.
void Checker::on_record(NodeId replica, std::uint64_t numbers) {
  const pbft::ReplicaSettings& settings = scenario_.replica;
  const std::uint64_t held = std::bit_ceil(settings.window + settings.retained_batches + 1);
  if (numbers <= 2 * held) return;
  fail("replica " + std::to_string(replica) + " has " + std::to_string(numbers) +
       " batches on its disk, which are more than " + std::to_string(2 * held));
}

}  // namespace prophecy::simulation
