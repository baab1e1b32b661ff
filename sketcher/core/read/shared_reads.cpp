#include "sketcher/core/read/shared_reads.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "history_table/partition.hpp"
#include "sketcher/core/read/mutation.hpp"

namespace prophecy::sketcher {

using replica_client::Refutation;
using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;

namespace {

// A client brings about, with any path that it makes up, that there is no such page, or nothing to
// remember.
Room room_of(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch) {
  return !sketch || form.status == 404 || form.status == 410 ? Room::limited : Room::any;
}

}  // namespace

// What a call that has ended says about origins. It counts once n - f members have given the call's
// answer: fewer may have been led by a faulty one, where correct ones differ.
struct SharedReads::Judgement {
  // A vote that differs, until the call's answer says what it is worth.
  struct Vote {
    NodeId replica = 0;
    std::uint16_t status = 0;
    Bytes digest;
    Bytes agreed;
  };

  std::uint64_t number = 0;
  Sketch key{};
  WriteFloors::Slot slot = 0;
  std::optional<Sketch> agreed;
  bool is_settled = false;  // the history held the answer when the call began
  Sigma call_floor = 0;     // of the URI, when the call began
  bool is_strong = false;
  std::vector<Vote> votes;
  // Of the first read's origin, where the answer refutes it.
  std::optional<Evidence> evidence;
  Evidence answer;
  Sigma sigma = 0;
  RequestCounters* counters = nullptr;
  std::string method, target, authority;
  std::string constant_wire;
};

// One call to the group, and the reads that wait for it.
struct SharedReads::Read {
  std::uint64_t number = 0;
  Sketch key{};
  WriteFloors::Slot slot = 0;  // of its URI
  Sigma floor = 0;             // of the slot, when the call was begun
  std::uint64_t writes = 0;    // the owner's, likewise
  std::optional<Sketch> held;  // the history's answer, likewise
  SigmaOrder::Submitted submitted;
  Claim claim;                // of the first one
  std::vector<Asker> askers;  // the first one began it
  bool has_first_left = false;
  std::size_t* place = nullptr;  // where the first one has no waiter: among those without
  bool may_share = true;
  std::string method, target, authority;
  std::string constant_wire;  // for a confirming read; empty: the first read has no exceptions
  std::vector<Judgement::Vote> votes;
  bool is_strong = false;  // n - f members have given its answer

  // Once it has ended.
  std::size_t told = 0;  // askers that have their results
  std::optional<ReplicatedFailure> failure;
  ReplicatedAnswer answer;
  std::optional<Sketch> sketch;
  bool is_outdated = false;
  bool is_private = false;   // the answer was made for the first one alone
  bool is_moved = false;     // it may not be accepted
  bool is_unshared = false;  // it may be, as the answer to the first one's own request alone
};

std::size_t SharedReads::KeyHash::operator()(const Sketch& key) const {
  std::size_t hash;
  static_assert(sizeof hash <= sizeof key);
  std::memcpy(&hash, key.data(), sizeof hash);
  return hash;
}

SharedReads::SharedReads(ReadGroup& group, Accusations& accusations, GroupActions& actions)
    : group_(group), accusations_(accusations), actions_(actions) {}
SharedReads::~SharedReads() = default;

SharedReads::Read* SharedReads::find_joinable(const Sketch& key, const Claim& claim) {
  const auto found = joinable_.find(key);
  if (found == joinable_.end()) return nullptr;
  Read& read = *found->second;
  if (read.claim != claim) return nullptr;
  const bool is_before_write =
      read.writes != writes_ || read.floor != group_.floors().at(read.slot);
  if (is_before_write && !is_mutated(Mutation::join_ignores_floor)) return nullptr;
  return &read;
}

bool SharedReads::has_place(bool is_judgement) const {
  if (is_mutated(Mutation::unwaited_without_bound)) return true;
  return is_judgement ? judging_ < kJudgingMax : unwaited_ < kUnwaitedMax;
}

SharedReads::Read& SharedReads::begin(const Sketch& key, const sketch::RequestForm& form,
                                      std::string_view method, Asker& asker) {
  auto made = std::make_unique<Read>();
  Read& read = *made;
  read.number = ++last_number_;
  read.key = key;
  read.slot = group_.floors().slot_of(form.authority, form.target);
  read.floor = group_.floors().at(read.slot);
  read.writes = writes_;
  read.claim = asker.claim;
  if (const auto entry = group_.look_up(key, read.slot);
      entry && entry->mark == Mark::none && entry->answer != kNoSketch) {
    read.held = entry->answer;
  }
  read.method = method;
  read.target = form.target;
  read.authority = form.authority;
  if (asker.evidence && !asker.evidence->is_confirmed && form.has_exceptions())
    form.append_group_wire(read.constant_wire);
  if (asker.waiter == nullptr) {
    read.place = asker.evidence && asker.evidence->is_confirmed ? &judging_ : &unwaited_;
    ++*read.place;
  }
  read.may_share = asker.may_share;
  read.submitted = group_.order().submit();
  if (asker.may_share) joinable_[key] = &read;
  reads_.emplace(read.number, std::move(made));
  std::string wire;
  if (is_mutated(Mutation::real_to_group)) {
    wire = form.wire;
  } else {
    form.append_group_wire(wire);
  }
  actions_.push_back({.kind = GroupAction::Kind::call,
                      .number = read.number,
                      .form = &form,
                      .wire = std::move(wire),
                      .method = method});
  return read;
}

bool SharedReads::ask(const Sketch& key, const sketch::RequestForm& form, std::string_view method,
                      Asker asker) {
  SharedReadWaiter* const waiter = asker.waiter;
  Read* read = asker.may_share ? find_joinable(key, asker.claim) : nullptr;
  const bool joins = read != nullptr;
  if (joins && !asker.asks_again) asker.counters->coalesced.add();
  if (joins && waiter == nullptr) return true;  // its wish is being carried out
  if (!joins) {
    const bool is_judgement = asker.evidence && asker.evidence->is_confirmed;
    if (waiter == nullptr && !has_place(is_judgement)) return false;
    read = &begin(key, form, method, asker);
  } else {
    asker.evidence.reset();
  }
  if (waiter != nullptr) waiting_.emplace(waiter, Place{read, read->askers.size()});
  read->askers.push_back(std::move(asker));
  return true;
}

void SharedReads::leave(SharedReadWaiter& waiter) {
  const auto waiting = waiting_.find(&waiter);
  if (waiting == waiting_.end()) return;
  const auto [read, place] = waiting->second;
  waiting_.erase(waiting);
  Asker& asker = read->askers[place];
  asker.waiter = nullptr;
  const auto found = reads_.find(read->number);
  if (found == reads_.end()) return;  // it has ended, and the others get their results
  if (place == 0) {
    read->has_first_left = true;
    asker.evidence.reset();
  } else {
    // Many may come and go while the group is slow: nothing is kept of them.
    if (place + 1 < read->askers.size()) {
      asker = std::move(read->askers.back());
      waiting_.at(asker.waiter).asker = place;
    }
    read->askers.pop_back();
  }
  const bool is_wanted = !read->has_first_left || read->askers.size() > 1;
  // What is out of date is to be brought up: a client that leaves, and comes again, would have the
  // group asked without end, at no charge to a budget.
  if (is_wanted || is_out_of_date(*read)) return;
  actions_.push_back({.kind = GroupAction::Kind::cancel, .number = read->number});
  end(found);
}

// The history holds an entry, and it does not count.
bool SharedReads::is_out_of_date(const Read& read) {
  const auto entry = group_.table().lookup(read.key);
  return entry && !group_.floors().admit(entry, read.slot);
}

void SharedReads::end(std::unordered_map<std::uint64_t, std::unique_ptr<Read>>::iterator found) {
  Read& read = *found->second;
  if (read.place != nullptr) --*read.place;
  const auto newest = joinable_.find(read.key);
  if (newest != joinable_.end() && newest->second == &read) joinable_.erase(newest);
  const bool is_awaited = std::any_of(read.askers.begin(), read.askers.end(),
                                      [](const Asker& asker) { return asker.waiter != nullptr; });
  if (is_awaited) ended_.push_back(std::move(found->second));
  reads_.erase(found);
}

void SharedReads::on_answer(std::uint64_t number, ReplicatedAnswer answer, TimePoint now) {
  const auto found = reads_.find(number);
  if (found == reads_.end()) return;
  Read& read = *found->second;
  RequestCounters& counters = *read.askers.front().counters;
  read.sketch = group_.sketch_of(answer.form);
  read.is_private = sketch::is_for_one_request(answer.form, group_.profile()) &&
                    !is_mutated(Mutation::private_for_late);
  if (!read.sketch) counters.unsketchable.add();
  if (!read.sketch && sketch::has_sketchable_status(answer.form)) counters.varies_unkeyed.add();
  // The list goes first: a worker that finds the entry has to find the list, too.
  if (read.sketch && answer.form.in_blocks()) {
    group_.table().blocks().put(*read.sketch, answer.storage);
  }
  if (read.sketch) note_former(*read.sketch);
  if (!accept(read, answer)) return end(found);
  if (read.sketch) accusations_.on_agreed(read.key, *read.sketch);
  if (answer.digest) accusations_.on_agreed_votes(read.key, *answer.digest);
  judge(read, answer.form, answer.sigma, now);
  read.answer = std::move(answer);
  end(found);
}

void SharedReads::on_failure(std::uint64_t number, ReplicatedFailure failure) {
  const auto found = reads_.find(number);
  if (found == reads_.end()) return;
  Read& read = *found->second;
  // What is out of date is not brought up: the next reader is charged as for what nobody knows.
  // (Overloaded: the group was not asked, and another call has an answer.)
  if (failure != ReplicatedFailure::overloaded && is_out_of_date(read)) {
    (void)group_.table().erase(read.key);
  }
  read.failure = failure;
  end(found);
}

// A write was answered meanwhile, and this answer may be of a state before it. Numbers of a group
// without an order show that by the newest number when the group was asked: the answer's own number
// was drawn already, as the floors need.
bool SharedReads::is_behind_write(const Read& read, const ReplicatedAnswer& answer,
                                  Sigma placed) const {
  if (is_mutated(Mutation::vote_ignores_floor)) return false;
  if (is_mutated(Mutation::join_ignores_floor)) return false;
  const Sigma floor = group_.floors().at(read.slot);
  return answer.asked ? *answer.asked < floor : placed <= floor;
}

bool SharedReads::accept(Read& read, const ReplicatedAnswer& answer) {
  auto basis = group_.basis(read.claim);
  if (is_mutated(Mutation::record_unchecked)) basis = dht::Basis::history;
  read.is_moved = !basis;
  read.is_unshared = basis == dht::Basis::group;
  if (basis && group_.may_record(read.claim)) {
    update_history(read, answer);
  } else if (group_.order().place(read.submitted, answer.sigma).restarted) {
    read.askers.front().counters->group_restarts.add();
  }
  return !read.is_moved;
}

// Algorithm 1's update: only by a newer sigma. The answer is outdated when the history holds, or
// has held, an answer that may be newer, or there may be one.
void SharedReads::update_history(Read& read, const ReplicatedAnswer& answer) {
  RequestCounters& counters = *read.askers.front().counters;
  SigmaOrder& order = group_.order();
  const SigmaOrder::Placed placed = order.place(read.submitted, answer.sigma);
  if (placed.restarted) counters.group_restarts.add();
  const bool is_doubtful = placed.doubtful || is_behind_write(read, answer, placed.sigma);
  const bool is_ignored = !read.sketch && is_mutated(Mutation::unsketchable_ignored);
  if (is_ignored) return;
  const Sketch update = is_doubtful ? kNoSketch : read.sketch.value_or(kNoSketch);
  HistoryTable& table = group_.table();
  const Room room = room_of(answer.form, read.sketch);
  // Numbers of a group without an order stay as they are: it never begins anew.
  const UpdateOutcome outcome =
      answer.asked ? table.update_unordered(read.key, update, *answer.asked, placed.sigma, room)
                   : table.update(read.key, update, placed.sigma, room);
  if (!answer.asked && !placed.doubtful && order.has_begun_anew(placed)) {
    // The numbering was begun anew in between. An answer that is numbered by it may have been
    // stored before this one, and be older or newer: then neither counts. (An unordered update has
    // seen to it itself.)
    const Sigma later = order.place(read.submitted, answer.sigma).sigma;
    (void)table.update(read.key, kNoSketch, later, Room::limited);
    read.is_outdated = true;
  } else {
    if (outcome == UpdateOutcome::inserted) counters.table_inserts.add();
    if (outcome == UpdateOutcome::replaced) counters.table_replaces.add();
    if (outcome == UpdateOutcome::unordered) counters.table_unordered.add();
    read.is_outdated = is_doubtful || outcome == UpdateOutcome::older ||
                       outcome == UpdateOutcome::unordered || outcome == UpdateOutcome::marked;
  }
  // Another worker got the same answer, and stored it first: the late reads may have it from there.
  if (read.is_outdated && read.sketch && group_.holds(read.key, read.slot, *read.sketch)) {
    read.is_outdated = false;
  }
}

// Judges the history, and the origin that the first read asked. The history is judged also when the
// first client has left; its origin is not.
void SharedReads::judge(Read& read, const sketch::AnswerForm& form, Sigma sigma, TimePoint now) {
  Asker& first = read.askers.front();
  const Verdict verdict = first.algorithm.on_replicated_answer(read.sketch);
  if (verdict.transition) first.counters->transitions.add();
  if (verdict.compared) {
    group_.activity().on_compared(read.key, verdict.transition, activity_seconds(now));
  }
  auto judgement = std::make_unique<Judgement>();
  judgement->number = read.number;
  judgement->key = read.key;
  judgement->slot = read.slot;
  judgement->agreed = read.sketch;
  judgement->is_settled = read.sketch && read.held == read.sketch;
  judgement->call_floor = read.floor;
  judgement->is_strong = read.is_strong || is_mutated(Mutation::weak_accuses);
  judgement->votes = std::move(read.votes);
  judgement->counters = first.counters;
  judgement->method = read.method;
  judgement->target = read.target;
  judgement->authority = read.authority;
  const bool is_as_large = first.evidence && first.evidence->is_too_large && form.in_blocks();
  if (verdict.divergence && first.evidence && !is_as_large) {
    judgement->evidence = std::move(first.evidence);
    if (judgement->evidence->wrong_block) judgement->evidence = judgement->evidence->against(form);
    judgement->answer = Evidence::of(judgement->evidence->replica, form, read.sketch);
    judgement->sigma = sigma;
    judgement->constant_wire = std::move(read.constant_wire);
  }
  auto& place = judgements_[read.number % kJudgementsKept];
  if (place) give_up(*place);
  place = std::move(judgement);
  if (place->is_strong) carry_out(*place, now);
}

// Too few members have given its answer: its votes prove nothing.
void SharedReads::give_up(const Judgement& judgement) {
  for (const Judgement::Vote& vote : judgement.votes) {
    Refutation refuted;
    refuted.replica = vote.replica;
    refuted.vote_status = vote.status;
    accusations_.on_refuted_vote(refuted, judgement.key, false);
  }
}

void SharedReads::carry_out(Judgement& judgement, TimePoint now) {
  for (const Judgement::Vote& vote : std::exchange(judgement.votes, {})) {
    judge_vote(judgement, {.replica = vote.replica,
                           .method = judgement.method,
                           .authority = judgement.authority,
                           .target = judgement.target,
                           .vote_digest = vote.digest,
                           .agreed_digest = vote.agreed,
                           .vote_status = vote.status});
  }
  if (!judgement.evidence) return;
  Evidence evidence = std::move(*judgement.evidence);
  judgement.evidence.reset();
  const Evidence answer = std::exchange(judgement.answer, {});
  std::string constant_wire = std::exchange(judgement.constant_wire, {});
  // A write may have changed the answer and put it back: floors show that.
  const bool is_unwritten = group_.floors().at(judgement.slot) == evidence.floor;
  if (!is_unwritten) return accusations_.note_noise(evidence.replica);
  if (!group_.holds(judgement.key, judgement.slot, *judgement.agreed)) return;
  const auto* confirmation = accusations_.on_refuted_read(
      {judgement.key, judgement.slot, judgement.method, judgement.target, judgement.authority},
      std::move(evidence), answer.form(), *judgement.agreed, judgement.sigma,
      std::move(constant_wire), *judgement.counters, now);
  if (confirmation == nullptr) return;
  actions_.push_back({.kind = GroupAction::Kind::confirm,
                      .number = confirmation->number,
                      .confirmation = confirmation});
}

// The origin has answered the confirming read otherwise, too: the group is asked once more, since
// its state may have changed after its last answer.
void SharedReads::on_confirmed(std::uint64_t number, http::ExchangeEnd end,
                               const http::Response& response, TimePoint now) {
  auto confirmed = accusations_.on_confirmed(number, end, response, now);
  if (!confirmed) return;
  confirmed_ = std::move(confirmed->confirmation);
  const NodeId replica = confirmed->evidence.replica;
  if (!ask_about(confirmed_.key, confirmed_.form, confirmed_.method, confirmed_.expected,
                 std::move(confirmed->evidence), *confirmed_.counters)) {
    accusations_.note_noise(replica);
  }
}

bool SharedReads::ask_about(const Sketch& key, const sketch::RequestForm& form,
                            std::string_view method, const Sketch& held, Evidence evidence,
                            RequestCounters& counters) {
  const HistoryEntry entry{.answer = held, .sigma = 1, .mark = Mark::none};
  const Claim claim = group_.claim(partition_of(table::tag_of(key)));
  if (!group_.may_record(claim)) return false;
  Asker asker{.algorithm = {},
              .evidence = std::move(evidence),
              .counters = &counters,
              .may_share = false,
              .claim = claim};
  ReadStep step = asker.algorithm.on_request(entry);
  ASSERT(step == ReadStep::ask_one);
  step = asker.algorithm.on_fast_answer(asker.evidence->sketch, entry, false);
  ASSERT(step == ReadStep::ask_group);
  return ask(key, form, method, std::move(asker));
}

void SharedReads::on_refuted_block(const Sketch& key, const sketch::RequestForm& form,
                                   std::string_view method, const Sketch& list, Evidence evidence,
                                   RequestCounters& counters, TimePoint now) {
  const NodeId replica = evidence.replica;
  // The call outlives the read.
  confirmed_.form = {};
  confirmed_.form.is_read = true;
  confirmed_.form.authority = form.authority;
  confirmed_.form.target = form.target;
  confirmed_.form.wire.clear();
  form.append_group_wire(confirmed_.form.wire);
  confirmed_.method = method;
  const bool is_asked =
      accusations_.may_ask_about_block(replica, now) &&
      ask_about(key, confirmed_.form, confirmed_.method, list, std::move(evidence), counters);
  if (!is_asked) accusations_.note_noise(replica);
}

SharedReads::Judgement* SharedReads::find_judgement(std::uint64_t number) {
  Judgement* const judgement = judgements_[number % kJudgementsKept].get();
  return judgement != nullptr && judgement->number == number ? judgement : nullptr;
}

void SharedReads::judge_vote(const Judgement& judgement, const Refutation& vote) {
  const bool is_unwritten = group_.floors().at(judgement.slot) == judgement.call_floor;
  const bool is_settled = judgement.is_settled && is_unwritten &&
                          group_.holds(judgement.key, judgement.slot, *judgement.agreed);
  accusations_.on_refuted_vote(vote, judgement.key, is_settled);
}

void SharedReads::on_strong_agreement(std::uint64_t number, TimePoint now) {
  if (Judgement* const judgement = find_judgement(number)) {
    judgement->is_strong = true;
    return carry_out(*judgement, now);
  }
  const auto found = reads_.find(number);
  if (found != reads_.end()) found->second->is_strong = true;
}

void SharedReads::on_refuted(std::uint64_t number, const Refutation& vote) {
  Judgement* const judgement = find_judgement(number);
  if (judgement != nullptr && judgement->is_strong) return judge_vote(*judgement, vote);
  const auto found = reads_.find(number);
  if (judgement == nullptr && found == reads_.end()) {
    return accusations_.on_refuted_vote(vote, kNoSketch, false);
  }
  std::vector<Judgement::Vote>& votes =
      judgement != nullptr ? judgement->votes : found->second->votes;
  if (votes.size() >= group_.size()) return;  // each replica votes once
  votes.push_back({.replica = vote.replica,
                   .status = vote.vote_status,
                   .digest = Bytes(vote.vote_digest.begin(), vote.vote_digest.end()),
                   .agreed = Bytes(vote.agreed_digest.begin(), vote.agreed_digest.end())});
}

SharedResult SharedReads::result_for(const Read& read, const Asker& asker, bool is_late) const {
  SharedResult result{.kind = SharedResult::Kind::answered, .waiter = asker.waiter};
  if (read.failure) {
    result.kind = SharedResult::Kind::failed;
    result.failure = *read.failure;
    return result;
  }
  if (read.is_moved || (is_late && read.is_unshared)) {
    result.kind = SharedResult::Kind::moved;
    return result;
  }
  result.form = &read.answer.form;
  result.sketch = read.sketch;
  if (!is_late) return result;
  // A call that may be joined now was begun after the reads that ask again came: they joined an
  // older one while that was the newest, and it has ended since.
  const bool is_outdated = read.is_outdated && !asker.asks_again;
  if (read.is_private) {
    result.kind = SharedResult::Kind::is_anothers;
  } else if (is_outdated && !is_mutated(Mutation::outdated_for_late)) {
    result.kind = SharedResult::Kind::outdated;
  }
  return result;
}

std::optional<SharedResult> SharedReads::take_result() {
  while (!ended_.empty()) {
    Read& read = *ended_.front();
    while (read.told < read.askers.size()) {
      const std::size_t place = read.told++;
      const SharedResult result = result_for(read, read.askers[place], place > 0);
      if (std::exchange(read.askers[place].waiter, nullptr) == nullptr) continue;
      waiting_.erase(result.waiter);
      if (read.failure && place > 0 && is_mutated(Mutation::result_lost)) continue;
      return result;
    }
    ended_.pop_front();
  }
  return std::nullopt;
}

}  // namespace prophecy::sketcher
