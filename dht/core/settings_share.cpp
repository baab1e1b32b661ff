#include "dht/core/settings_share.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "dht/core/mutation.hpp"

namespace prophecy::dht {
namespace {

// After a conflict the node is read again in this part of a pause.
constexpr int kConflictPauses = 8;

bool is_conflict(CoordinationStatus status) {
  return status == CoordinationStatus::wrong_version || status == CoordinationStatus::exists ||
         status == CoordinationStatus::absent;
}

std::string quoted(const std::string& value) {
  return value.empty() ? "as configured" : "\"" + value + "\"";
}

}  // namespace

// ---- Events.

void SettingsShare::on_session(SessionEvent event, BootTime now) {
  switch (event) {
    case SessionEvent::connected:
      is_connected_ = true;
      read_due_ = BootTime::min();
      break;
    case SessionEvent::disconnected:
    case SessionEvent::expired:
    case SessionEvent::rejected:
      is_connected_ = false;
      break;
    case SessionEvent::changed:
      read_due_ = BootTime::min();
      break;
    case SessionEvent::alive:
      break;
  }
  move_on(now);
}

// A decision goes before changes, which wait for it.
void SettingsShare::order(SettingsOrder order, BootTime now) {
  const bool is_change = order.kind == SettingsOrder::Kind::change;
  if (!is_change && !is_connected_) return refuse(order.id, why_waiting());
  if (orders_.size() >= kOrdersMax) return refuse(order.id, "too many changes wait for the ring");
  const bool is_writing = under_way_ && under_way_->call == Call::write;
  const auto place = is_change    ? orders_.end()
                     : is_writing ? std::next(orders_.begin())
                                  : orders_.begin();
  orders_.insert(place, {std::move(order), false, {}});
  move_on(now);
}

void SettingsShare::refuse(std::uint64_t id, std::string reason) {
  actions_.push_back(SettingsOutcome{id, SettingsOutcome::Kind::refused, std::move(reason)});
}

void SettingsShare::on_result(const CoordinationResult& result, BootTime now) {
  ASSERT(under_way_ && under_way_->number == result.number);
  const UnderWay ended = std::move(*std::exchange(under_way_, std::nullopt));
  switch (ended.call) {
    case Call::read:
      on_read(result);
      break;
    case Call::certify:
      on_certified(ended.settings, result, now);
      break;
    case Call::begin:
      if (result.status == CoordinationStatus::done) {
        version_ = 0;
        adopt(ended.settings);
      } else if (result.status == CoordinationStatus::exists) {
        read_due_ = now;
      } else if (result.status == CoordinationStatus::refused) {
        set_problem("ZooKeeper refuses to create it: " + result.message);
      }
      break;
    case Call::write:
      on_written(ended, result, now);
      break;
  }
  move_on(now);
}

void SettingsShare::on_read(const CoordinationResult& result) {
  if (result.status == CoordinationStatus::absent) {
    version_.reset();
    // Where nobody has ever set anything, nothing is lost.
    if (known_.number <= 1 && known_.values.empty() && !first_adopted_) return begin();
    state_ = State::gone;
    return set_problem("the node is gone, and settings of number " + std::to_string(known_.number) +
                       " were agreed; decide by prophecyctl ring settings --restore");
  }
  if (result.status == CoordinationStatus::refused)
    return set_problem("ZooKeeper refuses to read it: " + result.message);
  if (result.status != CoordinationStatus::done) return;
  version_ = result.version;
  auto settings = codec_.decode(as_text(result.data));
  if (!settings) {
    state_ = State::unusable;
    return set_problem(settings.error().message +
                       "; ignored; decide by prophecyctl ring settings --restore");
  }
  if (first_adopted_ && !is_older(*settings)) return adopt(std::move(*settings));
  if (state_ == State::set_back && *settings == found_) return;
  // A process has to begin with the newest settings. Settings older than the known ones were read
  // from a server that lags, or somebody has put the node back (S3).
  if (state_ == State::agreed) state_ = State::unread;
  CoordinationCall check{.kind = CoordinationCall::Kind::write};
  check.steps.push_back({WriteStep::Kind::check, path_, result.version, {}});
  call({.call = Call::certify, .settings = std::move(*settings)}, std::move(check));
}

// Settings of the same number that are others were agreed by a ring that did not know of ours.
bool SettingsShare::is_older(const AgreedSettings& settings) const {
  return settings.number < known_.number ||
         (settings.number == known_.number && settings.values != known_.values);
}

void SettingsShare::on_certified(const AgreedSettings& settings, const CoordinationResult& result,
                                 BootTime now) {
  if (result.status != CoordinationStatus::done) {
    read_due_ = now + pause_ / kConflictPauses;
    return;
  }
  if (!is_older(settings)) return adopt(settings);
  state_ = State::set_back;
  found_ = settings;
  set_problem("settings of number " + std::to_string(found_.number) +
              " were put back, and number " + std::to_string(known_.number) +
              " was agreed; decide by prophecyctl ring settings --accept or --restore");
}

// As far as this process knows, nobody has set anything; making the node shows whether that is so.
void SettingsShare::begin() {
  AgreedSettings first;
  first.number = 1;
  CoordinationCall create{.kind = CoordinationCall::Kind::write};
  create.steps.push_back({WriteStep::Kind::create, path_, 0, to_bytes(codec_.encode(first))});
  call({.call = Call::begin, .settings = std::move(first)}, std::move(create));
}

void SettingsShare::adopt(AgreedSettings settings) {
  const bool is_news = !first_adopted_ || settings.number != known_.number;
  known_ = std::move(settings);
  state_ = State::agreed;
  set_problem({});
  if (!is_news) return;
  if (!first_adopted_) first_adopted_ = known_.number;
  actions_.push_back(SettingsAdopted{known_});
}

void SettingsShare::set_problem(std::string message) {
  if (!message.empty()) message = path_ + ": " + message;
  if (message == problem_) return;
  problem_ = std::move(message);
  actions_.push_back(SettingsProblem{path_, problem_});
}

// ---- Calls. One at a time.

void SettingsShare::move_on(BootTime now) {
  if (is_connected_ && !under_way_) {
    if (now >= read_due_) {
      read(now);
    } else {
      write_next();
    }
  }
  note_waiting();
}

void SettingsShare::call(UnderWay under_way, CoordinationCall call) {
  ASSERT(!under_way_);
  call.number = under_way.number = ++last_number_;
  under_way_ = std::move(under_way);
  actions_.push_back(std::move(call));
}

void SettingsShare::read(BootTime now) {
  read_due_ = now + pause_;
  CoordinationCall call_out{.kind = CoordinationCall::Kind::read};
  call_out.path = path_;
  call_out.watches = true;
  call({.call = Call::read, .settings = {}}, std::move(call_out));
}

void SettingsShare::write_next() {
  while (!orders_.empty()) {
    if (was_carried_out(orders_.front())) {
      end_order(SettingsOutcome::Kind::agreed, {});
      continue;
    }
    replace_older();
    Pending& pending = orders_.front();
    const bool is_change = pending.order.kind == SettingsOrder::Kind::change;
    if (is_change && state_ != State::agreed) return;
    if (is_change ? write_change(pending) : write_decision(pending)) return;
  }
}

// S2.
bool SettingsShare::was_carried_out(const Pending& pending) const {
  return pending.was_sent && state_ == State::agreed &&
         std::any_of(known_.setters.begin(), known_.setters.end(), [&](const Setter& setter) {
           return setter.instance == self_ && setter.change == pending.order.id;
         });
}

// An operator who changes his mind while the first order waits means the second one.
void SettingsShare::replace_older() {
  const SettingsOrder& first = orders_.front().order;
  if (first.kind != SettingsOrder::Kind::change) return;
  const auto later =
      std::find_if(std::next(orders_.begin()), orders_.end(), [&](const Pending& other) {
        return other.order.kind == SettingsOrder::Kind::change &&
               other.order.change.name == first.change.name;
      });
  if (later == orders_.end()) return;
  std::vector<std::string>& bases = later->order.bases;
  bases.insert(bases.end(), first.bases.begin(), first.bases.end());
  bases.push_back(first.change.value);
  std::sort(bases.begin(), bases.end());
  bases.erase(std::unique(bases.begin(), bases.end()), bases.end());
  end_order(SettingsOutcome::Kind::replaced, "by a later change of the same setting");
  if (!orders_.empty()) replace_older();
}

// False: it has ended.
bool SettingsShare::write_change(Pending& pending) {
  const SettingChange& change = pending.order.change;
  const std::string current = value_of(known_.values, change.name);
  const std::vector<std::string>& bases = pending.order.bases;
  const bool is_based =
      current == change.value || std::find(bases.begin(), bases.end(), current) != bases.end();
  if (!is_based) {
    end_order(SettingsOutcome::Kind::lost, "it was set at another member: " + quoted(current));
    return false;
  }
  auto next = changed(known_, change, self_, pending.order.id);
  if (!next) {
    end_order(SettingsOutcome::Kind::refused, next.error().message);
    return false;
  }
  send_write(std::move(*next));
  return true;
}

bool SettingsShare::write_decision(const Pending& pending) {
  const bool accepts = pending.order.kind == SettingsOrder::Kind::accept;
  if (state_ == State::unread) return true;  // it waits
  if (state_ == State::agreed) {
    end_order(SettingsOutcome::Kind::refused,
              "there is nothing to decide: the settings are agreed");
    return false;
  }
  if (accepts && state_ != State::set_back) {
    end_order(SettingsOutcome::Kind::refused, "ZooKeeper has no settings to accept; restore them");
    return false;
  }
  AgreedSettings next = accepts ? found_ : known_;
  next.number = std::max(known_.number, found_.number) + kDecisionStep;
  next.setters = {{self_, pending.order.id, next.number}};
  send_write(std::move(next));
  return true;
}

void SettingsShare::send_write(AgreedSettings next) {
  CoordinationCall write{.kind = CoordinationCall::Kind::write};
  Bytes data = to_bytes(codec_.encode(next));
  if (version_) {
    write.steps.push_back({WriteStep::Kind::set, path_, *version_, std::move(data)});
  } else {
    write.steps.push_back({WriteStep::Kind::create, path_, 0, std::move(data)});
  }
  call({.call = Call::write, .settings = std::move(next)}, std::move(write));
}

void SettingsShare::on_written(const UnderWay& written, const CoordinationResult& result,
                               BootTime now) {
  const bool is_done =
      result.status == CoordinationStatus::done || (result.status == CoordinationStatus::unknown &&
                                                    is_mutated(Mutation::settings_unknown_agreed));
  if (is_done) {
    version_ = version_ ? *version_ + 1 : 0;
    adopt(written.settings);
    return end_order(SettingsOutcome::Kind::agreed, {});
  }
  if (result.status == CoordinationStatus::refused)
    return end_order(SettingsOutcome::Kind::refused, "ZooKeeper refuses it: " + result.message);
  if (result.status == CoordinationStatus::unknown) orders_.front().was_sent = true;
  if (is_conflict(result.status)) ++conflicts_;
  if (is_mutated(Mutation::settings_written_blindly) && version_ && is_conflict(result.status)) {
    version_ = *version_ + 1;
    return;
  }
  // The node is read again, and the change applied to what it holds then.
  state_ = State::unread;
  read_due_ = now + pause_ / kConflictPauses;
}

void SettingsShare::end_order(SettingsOutcome::Kind kind, std::string message) {
  actions_.push_back(SettingsOutcome{orders_.front().order.id, kind, std::move(message)});
  orders_.pop_front();
}

std::string SettingsShare::why_waiting() const {
  if (!is_connected_) return "there is no connection to ZooKeeper";
  if (!problem_.empty()) return problem_;
  return {};
}

void SettingsShare::note_waiting() {
  const std::string reason = why_waiting();
  if (reason.empty()) return;
  for (Pending& pending : orders_) {
    const bool is_decision = pending.order.kind != SettingsOrder::Kind::change;
    if (pending.told == reason || (is_decision && is_connected_)) continue;
    pending.told = reason;
    actions_.push_back(SettingsOutcome{pending.order.id, SettingsOutcome::Kind::waiting, reason});
  }
}

std::optional<SettingsAction> SettingsShare::take_action() {
  if (actions_.empty()) return std::nullopt;
  SettingsAction action = std::move(actions_.front());
  actions_.pop_front();
  return action;
}

BootTime SettingsShare::deadline() const {
  return is_connected_ && !under_way_ ? read_due_ : BootTime::max();
}

}  // namespace prophecy::dht
