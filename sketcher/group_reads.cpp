#include "sketcher/group_reads.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include <boost/asio/post.hpp>

#include "base/assert.hpp"

namespace prophecy::sketcher {

using replica_client::ReplicaSet;
using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;
using replica_client::ReplicatedKind;

namespace {

// What a client brings about with any path that it makes up: that there is nothing, or nothing to
// remember.
Room room_of(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch) {
  return !sketch || form.status == 404 || form.status == 410 ? Room::limited : Room::any;
}

}  // namespace

// One call to the group, and all that hang on it.
class GroupReads::Read final : private replica_client::ReplicatedHandler {
 public:
  Read(GroupReads& owner, std::uint64_t number, const Sketch& key, WriteFloors::Slot slot)
      : owner_(owner),
        number_(number),
        key_(key),
        slot_(slot),
        floor_(floor_now()),
        writes_(owner.writes_) {}

  ~Read() {
    if (call_ != 0) owner_.group_.group().cancel_replicated(call_);
  }
  Read(const Read&) = delete;
  Read& operator=(const Read&) = delete;

  void begin(const sketch::RequestForm& form, std::string_view method, Asker asker) {
    if (asker.evidence) {
      method_ = method;
      target_ = form.target;
      authority_ = form.authority;
    }
    is_unwaited_ = asker.waiter == nullptr;
    may_share_ = asker.may_share;
    askers_.emplace_back(std::move(asker));
    submitted_ = owner_.group_.order().submit();
    call_ = owner_.group_.group().replicated(ReplicatedKind::ordered, form.wire, nullptr, *this);
  }

  void join(Asker asker) {
    asker.evidence.reset();
    if (!asker.asks_again) asker.counters->coalesced.add();
    askers_.emplace_back(std::move(asker));
  }

  [[nodiscard]] bool may_be_joined() const {
    return call_ != 0 && may_share_ && writes_ == owner_.writes_ && floor_ == floor_now();
  }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const Sketch& key() const { return key_; }
  [[nodiscard]] std::size_t askers() const { return askers_.size(); }
  [[nodiscard]] bool is_unwaited() const { return is_unwaited_; }

  // The asker at this place of askers().
  void leave(std::size_t place) {
    Asker& asker = askers_[place];
    asker.waiter = nullptr;
    if (call_ == 0) return;  // the others are being told
    if (place == 0) {
      first_has_left_ = true;
      asker.evidence.reset();
    } else {
      // Many may come and go while the group is slow: nothing is kept of them.
      if (place + 1 < askers_.size()) {
        asker = std::move(askers_.back());
        owner_.waiting_.at(asker.waiter).asker = place;
      }
      askers_.pop_back();
    }
    const bool wanted = !first_has_left_ || askers_.size() > 1;
    // What is out of date is to be brought up: whoever leaves, and comes again, would have the
    // group asked without end, at no charge to a budget (Exchange).
    if (wanted || is_out_of_date()) return;
    owner_.group_.group().cancel_replicated(std::exchange(call_, 0));
    owner_.remove(*this);
  }

 private:
  void on_replicated_answer(ReplicatedAnswer answer) override {
    call_ = 0;
    GroupReadHost& group = owner_.group_;
    RequestCounters& counters = *askers_.front().counters;
    const SigmaOrder::Placed placed = group.order().place(submitted_, answer.sigma);
    if (placed.restarted) counters.group_restarts.add();
    const std::optional<Sketch> sketch = group.sketch_of(answer.form);
    if (!sketch) counters.unsketchable.add();
    if (!sketch && sketch::has_sketchable_status(answer.form)) counters.varies_unkeyed.add();
    // The list first: who finds the entry is to find it, too.
    if (sketch && answer.form.in_blocks()) owner_.table_.blocks().put(*sketch, answer.storage);
    const bool outdated = !update_history(answer, sketch, placed) && !is_in_history(sketch);
    if (sketch) owner_.on_agreed(key_, *sketch);
    owner_.remove(*this);
    judge(answer, sketch);
    // Each may leave, or make others leave.
    for (std::size_t i = 0; i < askers_.size(); ++i) {
      const bool late = i > 0;
      GroupReadWaiter* waiter = std::exchange(askers_[i].waiter, nullptr);
      if (waiter == nullptr) continue;
      owner_.waiting_.erase(waiter);
      // What may be joined now was begun after those came who ask again: they joined an older one
      // while that was the newest, and it has ended since.
      if (late && outdated && !askers_[i].asks_again) {
        waiter->on_group_answer_outdated();
      } else {
        waiter->on_group_answer(answer.form, sketch);
      }
    }
  }

  // What the answer says of the history, and of the origin that was asked first. Of the former also
  // if the client has left; but then nothing is known of the latter any more.
  void judge(const ReplicatedAnswer& answer, const std::optional<Sketch>& sketch) {
    Asker& first = askers_.front();
    const Verdict verdict = first.algorithm.on_replicated_answer(sketch);
    if (verdict.transition) first.counters->transitions.add();
    if (verdict.compared) owner_.group_.on_compared(key_, verdict.transition);
    if (verdict.divergence && first.evidence) report(answer, sketch);
  }

  void on_replicated_failure(ReplicatedFailure failure) override {
    call_ = 0;
    // Nor does it come up: who asks next is charged as for what nobody knows. (Busy: another call
    // has an answer.)
    const bool was_asked = failure != ReplicatedFailure::overloaded;
    if (was_asked && is_out_of_date()) (void)owner_.table_.erase(key_);
    owner_.remove(*this);
    for (std::size_t i = 0; i < askers_.size(); ++i) {
      GroupReadWaiter* waiter = std::exchange(askers_[i].waiter, nullptr);
      if (waiter == nullptr) continue;
      owner_.waiting_.erase(waiter);
      waiter->on_group_failure(failure);
    }
  }

  // The history holds an entry, and it does not count.
  [[nodiscard]] bool is_out_of_date() const {
    const auto entry = owner_.table_.lookup(key_);
    return entry && !owner_.group_.floors().admit(entry, slot_);
  }

  [[nodiscard]] Sigma floor_now() const { return owner_.group_.floors().at(slot_); }

  // A write was answered meanwhile, and this may be of a state before it. Numbers of a group
  // without an order tell by what it was when it was asked: that of the answer was drawn already,
  // as the floors need.
  [[nodiscard]] bool is_behind_write(const ReplicatedAnswer& answer,
                                     const SigmaOrder::Placed& placed) const {
    return answer.asked ? *answer.asked < floor_now() : placed.sigma <= floor_now();
  }

  // False when the history holds, or has held, an answer that may be newer, or there may be one.
  [[nodiscard]] bool update_history(const ReplicatedAnswer& answer,
                                    const std::optional<Sketch>& sketch,
                                    const SigmaOrder::Placed& placed) {
    const bool doubtful = placed.doubtful || is_behind_write(answer, placed);
    const Sketch update = doubtful ? kNoSketch : sketch.value_or(kNoSketch);
    // Numbers of a group without an order stay as they are: it never begins anew.
    HistoryTable& table = owner_.table_;
    const Room room = room_of(answer.form, sketch);
    const UpdateOutcome outcome =
        answer.asked ? table.update_unordered(key_, update, *answer.asked, placed.sigma, room)
                     : table.update(key_, update, placed.sigma, room);
    // The numbering was begun anew in between. What is numbered by it may have been stored before
    // this, and be older or newer: then neither counts. (What had no order has seen to it itself.)
    SigmaOrder& order = owner_.group_.order();
    if (!answer.asked && !placed.doubtful && order.has_begun_anew(placed)) {
      const Sigma later = order.place(submitted_, answer.sigma).sigma;
      (void)table.update(key_, kNoSketch, later, Room::limited);
      return false;
    }
    RequestCounters& counters = *askers_.front().counters;
    if (outcome == UpdateOutcome::inserted) counters.table_inserts.add();
    if (outcome == UpdateOutcome::replaced) counters.table_replaces.add();
    if (outcome == UpdateOutcome::unordered) counters.table_unordered.add();
    return !doubtful && outcome != UpdateOutcome::older && outcome != UpdateOutcome::unordered &&
           outcome != UpdateOutcome::marked;
  }

  // Another worker was told the same, and stored it first: whoever waits may have it from there.
  [[nodiscard]] bool is_in_history(const std::optional<Sketch>& sketch) const {
    const auto entry = owner_.group_.floors().admit(owner_.table_.lookup(key_), slot_);
    return sketch && entry && entry->mark == Mark::none && entry->answer == *sketch;
  }

  void report(const ReplicatedAnswer& answer, const std::optional<Sketch>& sketch) {
    const Evidence& evidence = *askers_.front().evidence;
    const sketch::AnswerForm refuted = evidence.form();
    Divergence divergence;
    divergence.kind = DivergenceKind::fast_read;
    divergence.replica = evidence.replica;
    divergence.method = method_;
    divergence.target = target_;
    divergence.authority = authority_;
    divergence.sigma = answer.sigma;
    divergence.differences = sketch::compare(refuted, answer.form);
    divergence.answer_digest = evidence.sketch ? to_hex(*evidence.sketch) : "";
    divergence.agreed_digest = sketch ? to_hex(*sketch) : "";
    divergence.answer_status = refuted.status;
    divergence.agreed_status = answer.form.status;
    divergence.answer_body_bytes = evidence.body_bytes;
    divergence.agreed_body_bytes = answer.form.body_bytes();
    owner_.group_.report(divergence);
    if (evidence.sketch) owner_.refuted_.add(key_, *evidence.sketch, evidence.replica);
  }

  GroupReads& owner_;
  std::uint64_t number_;
  Sketch key_;
  WriteFloors::Slot slot_;  // of its URI
  Sigma floor_;             // of that, when this was begun
  std::uint64_t writes_;    // the owner's, likewise
  SigmaOrder::Submitted submitted_;
  std::uint64_t call_ = 0;     // 0 once it has ended
  std::vector<Asker> askers_;  // the first one began it
  bool first_has_left_ = false;
  bool is_unwaited_ = false;  // of the first one
  bool may_share_ = true;
  std::string method_, target_, authority_;  // for evidence
};

std::size_t GroupReads::KeyHash::operator()(const Sketch& key) const {
  std::size_t hash;
  static_assert(sizeof hash <= sizeof key);
  std::memcpy(&hash, key.data(), sizeof hash);
  return hash;
}

GroupReads::GroupReads(boost::asio::io_context& loop, GroupReadHost& group, HistoryTable& table)
    : loop_(loop), group_(group), table_(table), refuted_(group.group().size()) {}
GroupReads::~GroupReads() = default;

void GroupReads::vindicate(const Sketch& key, const Sketch& answer) {
  for (ReplicaSet early = refuted_.take(key, answer); early != 0; early &= early - 1)
    group_.on_vindicated(static_cast<NodeId>(std::countr_zero(early)));
}

bool GroupReads::ask(const Sketch& key, const sketch::RequestForm& form, std::string_view method,
                     Asker asker) {
  GroupReadWaiter* waiter = asker.waiter;
  Read* read = asker.may_share ? find_joinable(key) : nullptr;
  const bool joins = read != nullptr;
  if (!joins) {
    if (waiter == nullptr && unwaited_ >= kUnwaitedMax) return false;
    const std::uint64_t number = ++last_number_;
    const auto slot = group_.floors().slot_of(form.authority, form.target);
    auto made = std::make_unique<Read>(*this, number, key, slot);
    read = reads_.emplace(number, std::move(made)).first->second.get();
    if (asker.may_share) joinable_[key] = number;
    if (waiter == nullptr) ++unwaited_;
  }
  if (joins && waiter == nullptr) {  // what it wants will be done
    asker.counters->coalesced.add();
    return true;
  }
  if (waiter != nullptr) waiting_.emplace(waiter, Place{read->number(), read->askers()});
  if (joins) {
    read->join(std::move(asker));
  } else {
    read->begin(form, method, std::move(asker));
  }
  return true;
}

void GroupReads::leave(GroupReadWaiter& waiter) {
  const auto waiting = waiting_.find(&waiter);
  if (waiting == waiting_.end()) return;
  const Place place = waiting->second;
  waiting_.erase(waiting);
  reads_.at(place.read)->leave(place.asker);
}

GroupReads::Read* GroupReads::find_joinable(const Sketch& key) {
  const auto found = joinable_.find(key);
  if (found == joinable_.end()) return nullptr;
  Read& read = *reads_.at(found->second);
  return read.may_be_joined() ? &read : nullptr;
}

void GroupReads::remove(Read& read) {
  if (read.is_unwaited()) --unwaited_;
  const auto newest = joinable_.find(read.key());
  if (newest != joinable_.end() && newest->second == read.number()) joinable_.erase(newest);
  boost::asio::post(loop_, [this, number = read.number()] { reads_.erase(number); });
}

}  // namespace prophecy::sketcher
