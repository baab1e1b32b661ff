#include "dht/core/ring.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.hpp"
#include "dht/core/mutation.hpp"

namespace prophecy::dht {
namespace {

// Parts of a lease: how often all nodes are read, and by how much members of the ring who see that
// the view has to change let one another go first.
constexpr int kSurveysInLease = 4;
constexpr int kPatiencesInLease = 16;
// A service that is too busy, or refuses, is asked again after this part of a lease; after a write,
// at once the first time, then after twice as long each time, up to the pause between surveys.
constexpr int kReadRetriesInLease = 16;
constexpr int kFirstPausesInLease = 64;

// The result tells nothing of what is there.
bool says_nothing(CoordinationStatus status) {
  return status == CoordinationStatus::unknown || status == CoordinationStatus::refused;
}

}  // namespace

Ring::Ring(RingSettings settings, Permissions permissions, BootTime now)
    : settings_(std::move(settings)),
      permissions_(permissions),
      ownership_(permissions, settings_.self.holder, settings_.clocks),
      lease_(settings_.paths.lease(settings_.self.holder.name), settings_.self.holder.instance,
             settings_.parameters.lease),
      survey_(settings_.paths, settings_.parameters, settings_.self.steps),
      survey_due_(now),
      own_read_due_(now) {}

bool Ring::is_under_way(Purpose purpose, const std::string& name) const {
  return std::any_of(under_way_.begin(), under_way_.end(), [&](const auto& entry) {
    return entry.second.purpose == purpose && entry.second.name == name;
  });
}

// Once in each round of the survey.
bool Ring::may_try(Purpose purpose) {
  const std::uint64_t round = survey_.rounds() + 1;
  return !is_under_way(purpose) && std::exchange(tried_[purpose], round) != round;
}

void Ring::write(UnderWay purpose, std::vector<WriteStep> steps) {
  CoordinationCall call{.number = ++last_number_, .kind = CoordinationCall::Kind::write};
  call.steps = std::move(steps);
  under_way_[call.number] = std::move(purpose);
  actions_.push_back(std::move(call));
}

void Ring::on_session(SessionEvent event, BootTime now) {
  switch (event) {
    case SessionEvent::connected:
      is_connected_ = true;
      survey_due_ = now;
      own_read_due_ = now;
      failed_writes_ = 0;
      break;
    case SessionEvent::disconnected:
    case SessionEvent::rejected:
      is_connected_ = false;
      break;
    case SessionEvent::expired:
    case SessionEvent::changed:
      survey_due_ = now;
      break;
    case SessionEvent::alive:
      if (is_mutated(Mutation::lease_by_ping) && ownership_.adopted() != 0) {
        const BootTime end = now + settings_.parameters.lease;
        permissions_.extend(end, end + settings_.parameters.group_only);
      }
      break;
  }
  move_on(now);
}

void Ring::on_tick(BootTime now) {
  move_on(now);
}

void Ring::drain(BootTime now) {
  is_draining_ = true;
  survey_due_ = now;
  move_on(now);
}

void Ring::rejoin(BootTime now) {
  is_draining_ = false;
  survey_due_ = now;
  move_on(now);
}

void Ring::allow_announcing(BootTime now) {
  may_announce_ = true;
  move_on(now);
}

Member Ring::wanted_self() const {
  Member self = settings_.self;
  if (is_draining_) self.holder.weight = 0;
  return self;
}

void Ring::on_quiesced(std::uint64_t ticket, BootTime now) {
  ownership_.on_quiesced(ticket);
  move_on(now);
}

void Ring::on_cleared(std::uint64_t ticket, BootTime now) {
  ownership_.on_cleared(ticket);
  move_on(now);
}

void Ring::on_barrier(std::uint64_t ticket, OrderNumber number, BootTime now) {
  ownership_.on_barrier(ticket, number);
  move_on(now);
}

void Ring::on_barrier_failed(std::uint64_t ticket, BootTime now) {
  ownership_.on_barrier_failed(ticket);
  move_on(now);
}

void Ring::on_result(const CoordinationResult& result, BootTime now) {
  if (survey_.is_waiting_for(result.number)) {
    for (CoordinationCall& call : survey_.on_result(result, now, last_number_))
      actions_.push_back(std::move(call));
  } else if (lease_.is_waiting_for(result.number)) {
    on_renewed(result, now);
  } else if (own_read_ == result.number) {
    own_read_.reset();
    if (says_nothing(result.status)) own_read_due_ = now + lease_part(kReadRetriesInLease);
    if (result.status == CoordinationStatus::absent) lease_.on_read(std::nullopt, 0);
    if (result.status == CoordinationStatus::done) {
      const auto record =
          decode_lease({reinterpret_cast<const char*>(result.data.data()), result.data.size()});
      // (What cannot be read is reported by the survey, and stays as it is.)
      if (record) lease_.on_read(*record, result.version);
      if (record && is_mutated(Mutation::resumes_lease)) {
        const BootTime end = now + settings_.parameters.lease;
        permissions_.extend(end, end + settings_.parameters.group_only);
      }
    }
  } else if (const auto found = under_way_.extract(result.number); !found.empty()) {
    on_written(found.mapped(), result, now);
  }
  move_on(now);
}

void Ring::on_renewed(const CoordinationResult& result, BootTime now) {
  const Lease::Outcome outcome = lease_.on_result(result, now);
  if (outcome.is_view_old) survey_due_ = now;
  if (result.status == CoordinationStatus::done) {
    const View* const view = survey_.view();
    const Member* const self =
        view != nullptr ? find_member(*view, settings_.self.holder.name) : nullptr;
    const bool is_owner = self != nullptr && self->holder.weight > 0 &&
                          self->holder.instance == settings_.self.holder.instance;
    has_let_go_ = view != nullptr && ownership_.adopted() == view->number && !is_owner &&
                  lease_.written().view == view->number;
    if (is_mutated(Mutation::lease_before_words) && view != nullptr)
      ownership_.adopt(*view, survey_.view_known());
  }
  if (outcome.end)
    permissions_.extend(*outcome.end, *outcome.end + settings_.parameters.group_only);
}

// Whatever has happened: all that is due now.
void Ring::move_on(BootTime now) {
  const ViewNumber before = ownership_.adopted();
  follow_view();
  // A former holder that is alive confirms the view at once: its lease is watched from now on.
  if (ownership_.adopted() != before && !ownership_.is_settled()) survey_due_ = now;
  ownership_.progress(now, survey_.sightings());
  follow_view();  // it may be settled now
  if (is_connected_) {
    set_up();
    survey(now);
    keep_announced();
    if (wants_own_lease() && now >= own_read_due_) read_own_lease();
    if (auto call = lease_.renew(last_number_ + 1, now)) {
      last_number_ = call->number;
      actions_.push_back(std::move(*call));
    }
    propose(now);
    certify();
  }
  report_problems();
  while (auto action = ownership_.take_action())
    actions_.push_back(std::move(*action));
}

void Ring::set_up() {
  const std::array<std::string, 3> nodes{settings_.paths.root, settings_.paths.members(),
                                         settings_.paths.leases()};
  if (set_up_ == nodes.size() || !may_try(Purpose::setup)) return;
  write({.purpose = Purpose::setup, .name = {}},
        {{.kind = WriteStep::Kind::create, .path = nodes[set_up_]}});
}

void Ring::survey(BootTime now) {
  const Span pause = lease_part(kSurveysInLease);
  if (now < survey_due_ || survey_.is_under_way()) return;
  survey_due_ = now + pause;
  for (CoordinationCall& call :
       survey_.begin(ownership_.unconfirmed(survey_.sightings()), last_number_))
    actions_.push_back(std::move(call));
}

void Ring::keep_announced() {
  if (set_up_ < 3 || survey_.rounds() == 0) return;
  if (!may_announce_ && !is_mutated(Mutation::announced_without_settings)) return;
  const std::string& name = settings_.self.holder.name;
  const Announcement own{settings_.parameters, wanted_self()};
  const Survey::Node* const node = survey_.member_node(name);
  if (node == nullptr) {
    if (!may_try(Purpose::announce)) return;
    write({.purpose = Purpose::announce, .name = {}},
          {{WriteStep::Kind::create_ephemeral, settings_.paths.member(name), 0,
            to_bytes(encode(own))}});
    return;
  }
  // Ours; or another's: that is reported, and it may end.
  const bool is_old_own =
      node->announcement && node->announcement != own &&
      node->announcement->member.holder.instance == settings_.self.holder.instance;
  if (!is_old_own || !may_try(Purpose::announce)) return;
  // Not by changing it: a node that was made again has the same versions, so a late change could
  // give the node of the next process the instance of this one, for as long as that process lives.
  write({.purpose = Purpose::announce, .name = {}},
        {{WriteStep::Kind::remove, settings_.paths.member(name), node->version, {}},
         {WriteStep::Kind::create_ephemeral, settings_.paths.member(name), 0,
          to_bytes(encode(own))}});
}

// The words come before the lease that the view is confirmed with.
void Ring::follow_view() {
  const View* const view = survey_.view();
  if (view == nullptr) return;
  const bool is_due = !is_mutated(Mutation::lease_before_words) || ownership_.adopted() == 0;
  if (is_due) ownership_.adopt(*view, survey_.view_known());
  const Member* const self = find_member(*view, settings_.self.holder.name);
  // (Its weight may be one that we do not have any more.)
  const bool is_member = self != nullptr && self->holder.instance == settings_.self.holder.instance;
  const bool is_settled =
      is_member && ownership_.is_settled() && ownership_.adopted() == view->number;
  lease_.set_target(settings_.paths.view(), survey_.view_version(), view->number, is_settled,
                    is_member);
}

bool Ring::wants_own_lease() const {
  return !own_read_ && lease_.wants_reading() && ownership_.adopted() != 0;
}

void Ring::read_own_lease() {
  CoordinationCall call{.number = ++last_number_, .kind = CoordinationCall::Kind::read};
  call.path = settings_.paths.lease(settings_.self.holder.name);
  own_read_ = call.number;
  actions_.push_back(std::move(call));
}

// Members and candidates try in the order of their names. All but the first wait, so that most
// changes are proposed once.
void Ring::propose(BootTime now) {
  const bool is_due = propose_at_ && now >= *propose_at_;
  if (survey_.rounds() == rounds_used_ && !is_due) return;
  rounds_used_ = survey_.rounds();
  propose_at_.reset();
  if (survey_.rounds() == 0 || is_under_way(Purpose::propose)) return;
  const View* const newest = survey_.view();
  // Where a view was read once, an absent one is a read from before.
  if (newest == nullptr && !survey_.has_no_view()) return;
  const Announced& announced = survey_.announced();
  const std::string& own = settings_.self.holder.name;
  const auto self = announced.find(own);
  const bool is_announced = self != announced.end() && self->second == wanted_self();
  if (!is_announced) return;
  const auto next =
      next_view(newest, settings_.parameters, announced, survey_.sightings(), settings_.first_view);
  if (!next) {
    differs_since_.reset();
    return;
  }
  if (!differs_since_) differs_since_ = now;
  const auto rank = std::distance(announced.begin(), announced.lower_bound(own));
  const Span patience = lease_part(kPatiencesInLease) * rank;
  if (now < *differs_since_ + patience) {
    propose_at_ = *differs_since_ + patience;
    return;
  }
  differs_since_.reset();
  const std::string path = settings_.paths.view();
  if (newest == nullptr) {
    write({.purpose = Purpose::propose, .name = {}},
          {{WriteStep::Kind::create, path, 0, to_bytes(encode(*next))}});
  } else {
    write({.purpose = Purpose::propose, .name = {}},
          {{WriteStep::Kind::set, path, survey_.view_version(), to_bytes(encode(*next))}});
  }
}

void Ring::certify() {
  const View* const view = survey_.view();
  if (view == nullptr) return;
  for (const std::string& name : ownership_.awaited(survey_.sightings())) {
    const NodeVersion version = survey_.sightings().at(name).version;
    const auto failed = uncertain_.find(name);
    const bool has_failed =
        failed != uncertain_.end() && failed->second == std::pair(version, view->number);
    // A service that is too busy is asked once in each round of the survey.
    const auto unanswered = unanswered_.find(name);
    const bool is_later = unanswered != unanswered_.end() && unanswered->second == survey_.rounds();
    if (has_failed || is_later || is_under_way(Purpose::certify, name)) continue;
    write({Purpose::certify, name, version, view->number},
          {{WriteStep::Kind::check, settings_.paths.view(), survey_.view_version(), {}},
           {WriteStep::Kind::check, settings_.paths.lease(name), version, {}}});
  }
}

void Ring::on_written(const UnderWay& written, const CoordinationResult& result, BootTime now) {
  const bool is_done = result.status == CoordinationStatus::done;
  switch (written.purpose) {
    case Purpose::setup:
      if (!is_done && result.status != CoordinationStatus::exists) break;
      ++set_up_;
      tried_.erase(Purpose::setup);
      break;
    case Purpose::certify:
      // Otherwise it has been renewed since, or there is a newer view; the survey will see that.
      if (is_done) survey_.certify(written.name, written.version, written.view);
      if (is_done) break;
      if (result.status == CoordinationStatus::unknown) {
        unanswered_[written.name] = survey_.rounds();
      } else {
        uncertain_[written.name] = {written.version, written.view};
      }
      break;
    case Purpose::announce:
    case Purpose::propose:
      // Done or not, or not known: what is there now is read.
      survey_due_ = std::min(survey_due_, survey_after(result.status, now));
      break;
  }
}

// The survey leads to the next attempt, so a service that answers nothing but this would be asked
// as fast as it answers.
BootTime Ring::survey_after(CoordinationStatus written, BootTime now) {
  if (!says_nothing(written)) {
    failed_writes_ = 0;
    return BootTime::min();
  }
  const int failed_before = failed_writes_;
  if (failed_before == 0) {
    failed_writes_ = 1;
    return BootTime::min();
  }
  const Span pause = lease_part(kFirstPausesInLease) * failed_before;
  const Span pause_max = lease_part(kSurveysInLease);
  if (pause >= pause_max) return now + pause_max;
  failed_writes_ = 2 * failed_before;
  return now + pause;
}

// One that drains goes on while nobody takes its place.
bool Ring::has_owner() const {
  const Announced& announced = survey_.announced();
  const View* const view = survey_.view();
  return std::any_of(announced.begin(), announced.end(), [view](const auto& entry) {
    const auto& [name, member] = entry;
    const Member* const owner = view != nullptr ? find_member(*view, name) : nullptr;
    return member.holder.weight > 0 || (owner != nullptr && owner->holder.weight > 0 &&
                                        owner->holder.instance == member.holder.instance);
  });
}

void Ring::report_problems() {
  std::map<std::string, std::string> problems = survey_.problems();
  // (Without anybody, not even us, nothing is known yet.)
  if (!survey_.announced().empty() && !has_owner()) {
    problems[settings_.paths.members()] =
        settings_.paths.members() +
        ": no member with a weight is there, so nobody owns the partitions; start one, or let one "
        "that has drained join again";
  }
  const std::string& name = settings_.self.holder.name;
  const Survey::Node* const node = survey_.member_node(name);
  const bool is_anothers =
      node != nullptr && node->announcement &&
      node->announcement->member.holder.instance != settings_.self.holder.instance;
  if (is_anothers) {
    problems[settings_.paths.member(name)] =
        settings_.paths.member(name) +
        ": another process has this name; it was ours before, and ends with its session, or two "
        "members are configured alike";
  }
  for (const auto& [path, message] : problems) {
    const auto known = reported_.find(path);
    if (known == reported_.end() || known->second != message)
      actions_.push_back(RingReport{path, message});
  }
  for (const auto& [path, message] : reported_) {
    if (!problems.contains(path)) actions_.push_back(RingReport{path, {}});
  }
  reported_ = std::move(problems);
}

std::optional<RingAction> Ring::take_action() {
  if (actions_.empty()) return std::nullopt;
  RingAction action = std::move(actions_.front());
  actions_.pop_front();
  return action;
}

BootTime Ring::deadline() const {
  BootTime next = ownership_.deadline();
  if (!is_connected_) return next;
  next = std::min(next, lease_.deadline());
  if (!survey_.is_under_way()) next = std::min(next, survey_due_);
  if (wants_own_lease()) next = std::min(next, own_read_due_);
  if (propose_at_) next = std::min(next, *propose_at_);
  return next;
}

}  // namespace prophecy::dht
