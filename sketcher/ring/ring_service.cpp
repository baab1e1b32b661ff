#include "sketcher/ring/ring_service.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "base/assert.hpp"
#include "sketcher/ring/ring_parameters.hpp"
#include "sketcher/ring/ring_report.hpp"

namespace prophecy::sketcher {

using dht::BootTime;
using dht::Span;

namespace {

// A page of a partition is asked for again.
constexpr Span kPageRetry = milliseconds(250);
// How often workers' turns and barriers are looked at while they are awaited.
constexpr Span kLook = milliseconds(2);
// A group that has not ordered a barrier by then is asked through another worker.
constexpr Span kBarrierTime = seconds(2);
constexpr Span kBarrierPause = milliseconds(100);
// Of the history, in one turn of the loop.
constexpr std::uint64_t kBucketsInTurn = 4096;
// A member that drains is done when nobody has asked it for anything for so long: a new owner asks
// after its barrier. It may have to see first, in a survey of the nodes, that we hold nothing.
constexpr Span kQuiet = seconds(2);
Span quiet(const LivingRingSettings& living) {
  return kQuiet + living.lease / 2;
}

dht::RingSettings ring_settings(const Installation& installation) {
  const RingSettings& settings = *installation.settings.ring;
  dht::RingSettings ring;
  ring.paths.root = settings.living->root;
  ring.parameters = ring_parameters(installation);
  ring.self = ring_member(settings);
  ring.first_view = settings.living->first_view;
  return ring;
}

std::optional<OwnNumbers> own_numbers(const Settings& settings, const SharedState& shared) {
  if (shares_numbers(settings)) return std::nullopt;
  return OwnNumbers(settings, shared);
}

zookeeper::ClientSettings client_settings(const LivingRingSettings& living, const RingTls& tls) {
  zookeeper::ClientSettings settings;
  for (std::size_t i = 0; i < living.zookeeper.size(); ++i)
    settings.servers.push_back({.address = living.zookeeper[i], .tls = tls.zookeeper[i].get()});
  // A member that has died is missed when its lease is over, about.
  settings.session.timeout =
      std::clamp(std::chrono::duration_cast<milliseconds>(living.lease),
                 zookeeper::kSessionTimeoutMin, zookeeper::kSessionTimeoutMax);
  return settings;
}

}  // namespace

RingService::RingService(boost::asio::io_context& loop, const Installation& installation,
                         HistoryTable& table, const SharedState& shared, std::vector<int> wakes,
                         UniqueFd listener, dht::AgreedSettings known, Logger& log)
    : installation_(installation),
      ring_(shared.ring()),
      wakes_(std::move(wakes)),
      log_(log),
      own_numbers_(own_numbers(installation.settings, shared)),
      has_barriers_(has_order(installation.settings)),
      history_(table, static_cast<std::uint32_t>(installation.settings.groups.size()),
               own_numbers_ ? &*own_numbers_ : nullptr),
      node_(ring_settings(installation), {installation.settings_key, std::move(known)},
            shared.ring().permissions, history_, kPageRetry, boot_timer_.now()),
      links_(loop, *installation.ring_tls, std::move(listener), shared.ring().counters, log, *this),
      loop_(loop),
      timer_(loop),
      drain_watch_(quiet(*installation.settings.ring->living)) {}

Result<> RingService::start() {
  const LivingRingSettings& living = *installation_.settings.ring->living;
  auto client = zookeeper::CoordinationClient::make(
      loop_, client_settings(living, *installation_.ring_tls), log_, *this);
  if (!client) return client.error();
  client_ = std::move(*client);
  ring_.counters.connected.set(0);
  ring_.counters.view.set(0);
  links_.start();
  client_->start();
  go_on();
  return {};
}

void RingService::drain() {
  log_.info("ring-draining");
  node_.drain(now());
  go_on();
}

void RingService::rejoin() {
  log_.info("ring-rejoining");
  node_.rejoin(now());
  go_on();
}

void RingService::on_master(MasterMessage message) {
  if (auto* const order = std::get_if<dht::SettingsOrder>(&message)) {
    node_.on_settings_order(std::move(*order), now());
  } else {
    node_.on_settings_carried_out(std::get<SettingsCarriedOut>(message).number, now());
  }
  go_on();
}

void RingService::close(std::function<void()> on_closed) {
  when_closed_ = std::move(on_closed);
  client_->close();
}

void RingService::on_closed() {
  if (when_closed_) when_closed_();
}

// ---- Events.

void RingService::on_result(dht::CoordinationResult result) {
  node_.on_result(result, now());
  go_on();
}

void RingService::on_session(dht::SessionEvent event) {
  node_.on_session(event, now());
  go_on();
}

std::optional<dht::HandOverPage> RingService::on_ask(const dht::HandOverAsk& ask,
                                                     const std::string& from) {
  drain_watch_.on_ask(now());
  auto page = node_.on_ask(ask, from);
  if (page && page->status == dht::HandOverPage::Status::page) {
    ring_.counters.pages_given.add();
    ring_.counters.entries_given.add(page->entries.size());
  }
  go_on();
  return page;
}

void RingService::on_page(const dht::HandOverPage& page, const std::string& /*from*/) {
  if (page.status == dht::HandOverPage::Status::page) {
    ring_.counters.pages_taken.add();
    ring_.counters.entries_taken.add(page.entries.size());
  }
  node_.on_page(page, now());
  go_on();
}

// ---- Reports of members go between the masters. A message that does not fit into the channel is
// lost, and asked for again; so is one that comes too fast.

void RingService::on_report(const ReportMessage& message) {
  if (const auto* const part = std::get_if<dht::ReportPart>(&message.content))
    return links_.give_part(message.member, *part);
  const auto* const ask = std::get_if<dht::ReportAsk>(&message.content);
  if (ask != nullptr && !links_.ask_report(message.member, *ask)) on_lost(message.member);
}

void RingService::on_report_ask(const dht::ReportAsk& ask, const std::string& from) {
  if (!ask_rates_.take(from, MessageRates::cost(ask), now()))
    return ring_.counters.reports_refused.add();
  pass_on({from, ask});
}

void RingService::on_report_part(dht::ReportPart part, const std::string& from) {
  if (!part_rates_.take(from, 1, now())) return ring_.counters.reports_refused.add();
  pass_on({from, std::move(part)});
}

void RingService::on_lost(const std::string& member) {
  pass_on({member, ReportLost{}});
}

void RingService::pass_on(const ReportMessage& message) {
  if (tell_) static_cast<void>(tell_(report_message_text(message)));
}

// ---- Actions.

void RingService::go_on() {
  while (auto action = node_.take_action(now()))
    carry_out(std::move(*action));
  tell_master();
  begin_barrier();
  follow_view();
  count();
  arm();
}

void RingService::carry_out(dht::RingNodeAction action) {
  if (auto* const call = std::get_if<dht::CoordinationCall>(&action)) {
    client_->call(std::move(*call));
  } else if (const auto* const turns = std::get_if<dht::AwaitTurns>(&action)) {
    turns_.push_back({.number = ring_.turns.ask(), .ticket = turns->ticket});
    wake_workers();
  } else if (const auto* const clear = std::get_if<dht::ClearPartitions>(&action)) {
    history_.clear(clear->partitions, clear->ticket);
  } else if (const auto* const barrier = std::get_if<dht::OrderBarrier>(&action)) {
    barrier_tickets_.push_back(barrier->ticket);
  } else if (const auto* const send = std::get_if<dht::Taker::Send>(&action)) {
    links_.ask(send->to.name, send->ask);
  } else if (const auto* const taken = std::get_if<dht::PartitionsTaken>(&action)) {
    ring_.counters.taken.add(taken->partitions.size());
    wake_workers();  // requests wait for it
    log_.info("partitions-taken", {{"partitions", taken->partitions.size()},
                                   {"view", node_.ring().ownership().adopted()}});
  } else if (auto* const adopted = std::get_if<dht::SettingsAdopted>(&action)) {
    on_adopted(std::move(adopted->settings));
  } else if (auto* const outcome = std::get_if<dht::SettingsOutcome>(&action)) {
    untold_outcomes_.push_back(std::move(*outcome));
  } else {
    report(std::get<dht::RingReport>(action));
  }
}

void RingService::report(const dht::RingReport& report) {
  if (report.message.empty()) return log_.info("ring-problem-over", {{"node", report.path}});
  log_.error("ring-problem", {{"node", report.path}, {"problem", report.message}});
}

void RingService::on_adopted(dht::AgreedSettings settings) {
  log_.info("settings-agreed", {{"number", settings.number}, {"settings", settings.values.size()}});
  untold_settings_ = std::move(settings);
}

// Settings first: an order that has ended is part of them.
void RingService::tell_master() {
  if (!tell_) return;
  if (untold_settings_) {
    if (!tell_(agreed_text(*untold_settings_))) return;
    untold_settings_.reset();
  }
  while (!untold_outcomes_.empty()) {
    if (!tell_(outcome_text(untold_outcomes_.front()))) return;
    untold_outcomes_.pop_front();
  }
}

// Where the members are, for the workers and for the hand-over.
void RingService::follow_view() {
  const dht::View* const view = node_.ring().view();
  if (view == nullptr || view->number == followed_) return;
  followed_ = view->number;
  shares_ = shares_of(*view, ring_.permissions.partitions());
  links_.set_members(*view);
  // Nothing is forwarded to members that would not understand it.
  const bool is_spoken = node_.ring().speaks(*view);
  const dht::MemberSlots& slots = node_.ring().ownership().slots();
  for (dht::MemberSlot slot = 0; slot < dht::MemberSlots::kSlots; ++slot) {
    MemberEntry entry;
    const dht::Member* const member = dht::find_member(*view, slots.name_at(slot));
    if (member != nullptr && is_spoken) {
      entry.name = member->holder.name;
      // The last one is the ring process's.
      for (std::size_t i = 0; i + 1 < member->addresses.size(); ++i) {
        const auto address = IpAddress::parse(member->addresses[i].address);
        if (address)
          entry.addresses.push_back({.address = *address, .port = member->addresses[i].port});
      }
    }
    if (ring_.members.find(slot).value_or(MemberEntry{}) != entry) ring_.members.set(slot, entry);
  }
  std::string names;
  for (const dht::Member& member : view->members)
    names += (names.empty() ? "" : " ") + member.holder.name;
  log_.info("ring-view", {{"view", view->number}, {"step", view->step}, {"members", names}});
}

void RingService::wake_workers() const {
  const std::uint64_t one = 1;
  for (const int wake : wakes_)
    static_cast<void>(!::write(wake, &one, sizeof one));
}

// A group without an order cannot be asked for one.
void RingService::begin_barrier() {
  if (barrier_ || barrier_tickets_.empty()) return;
  barrier_.emplace();
  barrier_->tickets = std::exchange(barrier_tickets_, {});
  barrier_->end = now() + kBarrierTime;
  if (!has_barriers_) return;
  barrier_->worker = next_worker_++ % static_cast<std::uint32_t>(ring_.turns.workers());
  barrier_->asked = ring_.turns.ask();
  ring_.turns.ask_barrier(barrier_->worker, barrier_->asked);
  wake_workers();
}

void RingService::look_at_turns() {
  const auto passed = std::partition(turns_.begin(), turns_.end(), [&](const Turn& turn) {
    return !ring_.turns.have_all_passed(turn.number);
  });
  const std::vector<Turn> over(passed, turns_.end());
  turns_.erase(passed, turns_.end());
  for (const Turn& turn : over)
    node_.on_turns(turn.ticket, now());
}

void RingService::look_at_barrier() {
  if (!barrier_) return;
  std::optional<dht::OrderNumber> number;
  if (has_barriers_) {
    const auto ended = ring_.turns.ended_barrier(barrier_->worker, barrier_->asked);
    if (ended) number = ended->number;
    if (ended && !number && !std::exchange(barrier_->has_failed, true))
      barrier_->end = std::min(barrier_->end, now() + kBarrierPause);
    if (!number && now() < barrier_->end) return;
    if (!number) ring_.counters.barriers_failed.add();
    // Some group may be without a barrier: what others have handed over could not be trusted.
    const bool is_whole = number && *number != 0;
    if (is_whole && own_numbers_) number = own_numbers_->begin_anew();
  } else {
    number = own_numbers_->begin_anew();
  }
  const RingBarrier over = std::move(*std::exchange(barrier_, std::nullopt));
  for (const std::uint64_t ticket : over.tickets)
    node_.on_barrier(ticket, number, now());
}

void RingService::look_at_history() {
  if (!history_.is_idle()) history_.step(kBucketsInTurn);
  while (const auto ticket = history_.take_cleared())
    node_.on_cleared(*ticket, now());
}

void RingService::count() {
  const BootTime lease_end = ring_.permissions.lease_end();
  if (lease_end > lease_end_) ring_.counters.leases.add();
  lease_end_ = lease_end;
  const dht::Ring& ring = node_.ring();
  drain_watch_.note(ring.is_drained(), now());
  ring_.counters.view.set(ring.ownership().adopted());
  ring_.counters.connected.set(ring.is_connected() ? 1 : 0);
  const dht::SettingsShare& settings = node_.settings();
  ring_.counters.settings_number.set(settings.known().number);
  ring_.counters.settings_conflicts.add(settings.conflicts() - settings_conflicts_);
  settings_conflicts_ = settings.conflicts();
  ring_.counters.settings_undecided.set(settings.problem().empty() ? 0 : 1);
  ring_.counters.waiting.set(ring.ownership().untaken());
}

void RingService::arm() {
  BootTime next = node_.deadline();
  const BootTime now_is = now();
  // However many events come meanwhile, it stays due.
  if ((!turns_.empty() || barrier_) && !look_due_) look_due_ = now_is + kLook;
  if (look_due_) next = std::min(next, *look_due_);
  if (!history_.is_idle()) next = now_is;
  // (It may come too early: then nothing is due.)
  if (armed_for_ <= next) return;
  armed_for_ = next;
  timer_.expires_after(std::max(next - now_is, Span::zero()));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) on_timer();
  });
}

void RingService::on_timer() {
  armed_for_ = BootTime::max();
  look_due_.reset();
  look_at_turns();
  look_at_barrier();
  look_at_history();
  node_.on_tick(now());
  go_on();
}

std::string RingService::status() {
  const dht::Ring& ring = node_.ring();
  return ring_report({.ring = ring,
                      .settings_problem = node_.settings().problem(),
                      .settings = *installation_.settings.ring,
                      .shares = shares_,
                      .permissions = ring_.permissions,
                      .fetching = node_.fetching(),
                      .is_handed_over = drain_watch_.is_over(ring.ownership().to_give(), now()),
                      .now = now()});
}

}  // namespace prophecy::sketcher
