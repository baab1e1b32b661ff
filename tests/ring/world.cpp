#include "ring/world.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#ifndef PROPHECY_MUTATIONS
#error "the simulator is built with the switches of dht/core/mutation.hpp"
#endif

namespace prophecy::ring {

namespace {

constexpr std::size_t kClients = 4;
constexpr std::int64_t kAheadMsMax = 100'000;

}  // namespace

World::World(std::uint64_t seed, const Variant& variant, bool is_traced)
    : random_(seed),
      settings_(RunSettings::draw(variant, random_)),
      is_traced_(is_traced),
      zookeeper_(scheduler_, random_, kSessionTimeout),
      group_(settings_.layout.registers),
      recorder_(settings_.layout.registers),
      tenures_(settings_.layout.partitions),
      newest_accepted_(settings_.layout.registers) {
  dht::active_mutation = variant.mutation;
  for (std::size_t i = 0; i < settings_.hosts; ++i) {
    Machine& machine = machines_[std::string(1, static_cast<char>('a' + i))];
    const std::int64_t drift = settings_.drift_ppm;
    machine.clock.rate_ppm =
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(2 * drift + 1))) - drift;
    if (random_.chance(50)) machine.clock.rate_ppm = random_.chance(50) ? drift : -drift;
    machine.clock.ahead = milliseconds(random_.below(kAheadMsMax));
    machine.weight = static_cast<std::uint32_t>(50 + random_.below(100));
  }
  std::size_t started = 0;
  for (auto& [name, machine] : machines_) {
    if (started++ < settings_.hosts_at_first) start(machine, name);
  }
  for (std::size_t i = 0; i < kClients; ++i)
    clients_.push_back(std::make_unique<Client>(*this));
}

World::~World() {
  is_over_ = true;
  for (auto& [name, machine] : machines_) {
    machine.host.reset();
    machine.ghost.reset();
  }
}

void World::run() {
  for (const auto& client : clients_)
    client->start();
  scheduler_.after(milliseconds(500), [this] { disturb(); });
  scheduler_.after(milliseconds(5), [this] { advance_origins(); });
  scheduler_.after(milliseconds(50), [this] { evict_some(); });
  scheduler_.after(milliseconds(200), [this] { set_something(); });
  if (settings_.has_other_writers) scheduler_.after(milliseconds(100), [this] { write_past(); });
  scheduler_.at(TimePoint{} + kTurmoil, [this] { calm_down(); });
  while (!breach_ && scheduler_.now() < TimePoint{} + kTurmoil + kCalm) {
    scheduler_.step();
    check_settings();
    check_owners();
  }
  if (!breach_) check_service();
}

void World::fail(Oracle oracle, std::string text) {
  if (breach_) return;
  trace("breach: " + text);
  for (const auto& [name, machine] : machines_) {
    if (!machine.host) continue;
    std::string line = name;
    line += " has stages";
    for (std::size_t i = 0; i < layout().partitions; ++i) {
      const auto word = machine.host->permissions().owner(static_cast<Partition>(i));
      line += ' ';
      line += std::to_string(static_cast<int>(word.stage()));
    }
    const auto left = machine.host->permissions().lease_end() - machine.host->now();
    line += ", lease until ";
    line += std::to_string(left.count() / 1000);
    line += " us from now";
    trace(line);
  }
  breach_ = Breach{oracle, std::move(text)};
}

void World::trace(const std::string& line) const {
  if (is_traced_)
    std::cerr
        << std::chrono::duration_cast<microseconds>(scheduler_.now().time_since_epoch()).count()
        << " us  " << line << '\n';
}

std::vector<Host*> World::living() {
  std::vector<Host*> hosts;
  for (auto& [name, machine] : machines_) {
    if (machine.host) hosts.push_back(machine.host.get());
  }
  return hosts;
}

// ---- What takes its time.

Duration World::network_delay() {
  if (!is_calm_ && random_.chance(settings_.slow_percent)) return milliseconds(random_.below(1500));
  return microseconds(100 + random_.below(3000));
}

void World::ask_group(std::function<Group::Answer()> request,
                      std::function<void(Group::Answer)> done) {
  scheduler_.after(
      network_delay(), [this, request = std::move(request), done = std::move(done)]() mutable {
        const Group::Answer answer = request();
        scheduler_.after(network_delay(), [answer, done = std::move(done)] { done(answer); });
      });
}

void World::ask_origin(Register at, std::function<void(Content)> done) {
  const std::size_t origin = random_.below(Group::kOrigins);
  scheduler_.after(network_delay(), [this, origin, at, done = std::move(done)]() mutable {
    const Content content = group_.serve(origin, at, random_);
    scheduler_.after(network_delay(), [content, done = std::move(done)] { done(content); });
  });
}

void World::send(const Host& from, const std::string& to, std::function<void(Host&)> message) {
  const std::string& own = from.self().name;
  scheduler_.after(network_delay(), [this, own, to, message = std::move(message)] {
    const auto found = machines_.find(to);
    if (found == machines_.end() || !found->second.host) return;
    if (parted_.contains(std::minmax(own, to))) return;
    message(*found->second.host);
  });
}

void World::send_ask(const Host& from, const dht::Holder& to, const dht::HandOverAsk& ask,
                     std::function<void(const dht::HandOverPage&)> answer) {
  const std::string own = from.self().name;
  send(from, to.name, [this, to, ask, own, answer = std::move(answer)](Host& giver) {
    if (giver.self().instance != to.instance)
      return answer({.partition = ask.partition,
                     .token = ask.token,
                     .phase = ask.phase,
                     .cursor = ask.cursor});
    giver.on_ask(ask, own, [this, own, answer, &giver](const dht::HandOverPage& page) {
      // A page may be long on its way, while the taker answers already.
      const bool is_slow = !is_calm_ && random_.chance(40);
      const Duration late = is_slow ? milliseconds(random_.below(1000)) : Duration{};
      send(giver, own, [this, late, page, answer](Host& /*taker*/) {
        scheduler_.after(late, [page, answer] { answer(page); });
      });
    });
  });
}

// ---- What goes wrong.

void World::start(Machine& machine, const std::string& name) {
  auto table = settings_.keeps_tables ? std::move(machine.kept_table) : nullptr;
  if (!table) table = std::make_shared<Table>(layout(), settings_.counts_itself);
  const bool resumes = dht::is_mutated(dht::Mutation::resumes_lease) && machine.instance != 0;
  if (!resumes) machine.instance = ++last_instance_;
  trace("starts " + name);
  machine.host = std::make_unique<Host>(*this, name, machine.instance, machine.weight,
                                        machine.clock, std::move(table), machine.kept_settings);
  if (is_calm_) machine.host->resume();
}

void World::kill(Machine& machine) {
  trace("dies " + machine.host->self().name);
  machine.kept_table = machine.host->table_pointer();
  machine.kept_settings = {};
  if (settings_.keeps_tables) machine.kept_settings = machine.host->carried_out();
  machine.host.reset();
}

void World::haunt(const std::string& name, Machine& machine, TimePoint until) {
  tally_.add(Met::ghosts);
  trace("another process is started as " + name);
  machine.ghost = std::move(machine.host);
  machine.ghost->stop_all(until);
  // (Until its session ends, the new one is kept out.)
  if (random_.chance(50)) zookeeper_.expire_by_whim(machine.ghost->client());
  start(machine, name);
}

void World::disturb() {
  if (is_calm_) return;
  auto machine = machines_.begin();
  std::advance(machine, random_.below(machines_.size()));
  if (random_.chance(75)) {
    disturb_host(machine->first, machine->second);
  } else {
    disturb_service();
  }
  const std::uint64_t pause = random_.chance(30) ? 50 : 1500;
  scheduler_.after(milliseconds(random_.below(pause)), [this] { disturb(); });
}

void World::disturb_host(const std::string& name, Machine& machine) {
  if (!machine.host) {
    tally_.add(Met::restarts);
    return start(machine, name);
  }
  Host& host = *machine.host;
  const Duration time = milliseconds(
      random_.below(static_cast<std::uint64_t>(settings_.fault_pause_most.count()) / 1'000'000));
  const TimePoint until = scheduler_.now() + time;
  const auto what = random_.below(12);
  trace("disturbs " + name + ": " + std::to_string(what) + " for " +
        std::to_string(time.count() / 1000) + " us");
  switch (what) {
    case 0:
      tally_.add(Met::crashes);
      return kill(machine);
    case 1:
    case 2:
      tally_.add(Met::pauses);
      if (is_broken(Broken::hidden_pause)) {
        // A machine that is stopped, with its clock.
        scheduler_.at(until, [&machine, time] { machine.clock.hidden += time; });
      }
      return host.stop_all(until);
    case 3:
      tally_.add(Met::pauses);
      return host.stop_ring(until);
    case 4:
      tally_.add(Met::pauses);
      return host.stop_worker(random_.below(2), until);
    case 5:
    case 6:
      tally_.add(Met::partitions);
      return zookeeper_.isolate(host.client(), time);
    case 7:
      return zookeeper_.break_connection(host.client());
    case 8:
      tally_.add(Met::expiries);
      return zookeeper_.expire_by_whim(host.client());
    case 9:
      if (!random_.chance(30)) return;
      tally_.add(Met::drains);
      host.drain();
      if (random_.chance(50)) return;
      scheduler_.at(until, [&machine] {
        if (machine.host && machine.host->is_draining()) machine.host->rejoin();
      });
      return;
    case 10:
      if (random_.chance(50)) return haunt(name, machine, until);
      machine.clock.wall += milliseconds(random_.below(4000)) - milliseconds(2000);
      return;
    default: {
      tally_.add(Met::partitions);
      auto other = machines_.begin();
      std::advance(other, random_.below(machines_.size()));
      const std::pair<std::string, std::string> pair = std::minmax(name, other->first);
      parted_.insert(pair);
      scheduler_.at(until, [this, pair] { parted_.erase(pair); });
    }
  }
}

void World::disturb_service() {
  const Duration time = milliseconds(random_.below(2500));
  trace("disturbs the service");
  if (random_.chance(30)) return zookeeper_.lose_leader(time);
  zookeeper_.cut_off_server(random_.below(ZooKeeperModel::kServers), time);
}

// Often by two members at once.
void World::set_something() {
  if (is_calm_) return;
  constexpr std::size_t kNames = 3;
  const auto hosts = living();
  for (std::size_t i = 0; i < 2 && !hosts.empty(); ++i) {
    std::string value = random_.chance(20) ? "" : "v" + std::to_string(++values_);
    const std::string name = "n" + std::to_string(random_.below(kNames));
    hosts[random_.below(hosts.size())]->set(name, std::move(value));
  }
  scheduler_.after(milliseconds(random_.below(1500)), [this] { set_something(); });
}

void World::advance_origins() {
  if (is_calm_) {
    group_.advance_all();
  } else {
    group_.advance(random_);
  }
  scheduler_.after(milliseconds(1 + random_.below(60)), [this] { advance_origins(); });
}

// By another client of the group.
void World::write_past() {
  const Register at = random_.below(layout().registers);
  const Content content = new_content();
  const auto id = recorder_.begin(at, consistency::Kind::write, content, instant());
  ask_group([this, at, content] { return group_.write(at, {}, content, 0); },
            [this, id, content](Group::Answer) { recorder_.end(id, content, instant(), 0); });
  if (!is_calm_) scheduler_.after(milliseconds(random_.below(600)), [this] { write_past(); });
}

void World::evict_some() {
  for (Host* const host : living()) {
    if (random_.chance(10)) host->table().evict(random_.below(layout().registers));
  }
  scheduler_.after(milliseconds(50), [this] { evict_some(); });
}

void World::calm_down() {
  trace("calm");
  is_calm_ = true;
  parted_.clear();
  zookeeper_.heal();
  for (auto& [name, machine] : machines_) {
    machine.ghost.reset();
    if (machine.host && machine.host->is_draining()) kill(machine);
    if (machine.host) machine.host->resume();
  }
  // Some stay away; one at least is there.
  for (auto& [name, machine] : machines_) {
    if (!machine.host && (living().empty() || random_.chance(50))) start(machine, name);
  }
}

// ---- Oracles.

void World::note_accepted(Partition partition, const Host& host, dht::OwnerWord claim, Instant at) {
  std::vector<Tenure>& tenures = tenures_[partition];
  for (const Tenure& tenure : tenures) {
    const bool is_over = tenure.instance == host.self().instance &&
                         tenure.claim.number() > claim.number() && at >= tenure.first;
    if (is_over)
      return fail(Oracle::acceptance, host.self().name + " accepts for partition " +
                                          std::to_string(partition) +
                                          " under an ownership that is over");
  }
  const auto is_own = [&](const Tenure& tenure) {
    return tenure.instance == host.self().instance && tenure.claim == claim;
  };
  for (const Tenure& tenure : tenures) {
    if (is_own(tenure) || at < tenure.first || at > tenure.last) continue;
    return fail(Oracle::acceptance,
                host.self().name + " accepts for partition " + std::to_string(partition) + " at " +
                    std::to_string(at / 1000) + " us, under another ownership that lasted from " +
                    std::to_string(tenure.first / 1000) + " to " +
                    std::to_string(tenure.last / 1000) + " us");
  }
  const auto own = std::find_if(tenures.begin(), tenures.end(), is_own);
  if (own == tenures.end()) {
    // (It may be known late what lies before another's.)
    if (tenures.empty() || at > tenures.back().last)
      tenures.push_back({host.self().instance, claim, at, at});
    return;
  }
  const auto next = std::next(own);
  if (next != tenures.end() && at > next->first)
    return fail(Oracle::acceptance,
                host.self().name + " accepts for partition " + std::to_string(partition) + " at " +
                    std::to_string(at / 1000) + " us, after another member has since " +
                    std::to_string(next->first / 1000) + " us");
  own->last = std::max(own->last, at);
}

// By a member: none of them would let another carry out a write of its partition beside it.
void World::check_write(Partition partition, dht::Instance writer) {
  if (settings_.variant.oracle != Oracle::any && settings_.variant.oracle != Oracle::view) return;
  for (const Host* const host : living()) {
    const dht::Permissions& permissions = host->permissions();
    const dht::OwnerWord word = permissions.owner(partition);
    const bool is_owner = permissions.may_accept(partition, word, dht::Basis::history,
                                                 [host] { return host->now(); });
    if (!is_owner || host->self().instance == writer) continue;
    return fail(Oracle::view, "a write of partition " + std::to_string(partition) +
                                  " is carried out for another member than its owner, " +
                                  host->self().name);
  }
}

void World::note_answer(Register at, Content content, OrderNumber number) {
  if (number > newest_accepted_[at].number) newest_accepted_[at] = {content, number};
}

void World::check_handed(const Host& host, Register at, const Table::Entry& entry) {
  const Group::Answer& newest = newest_accepted_[at];
  if (newest.number <= entry.order || newest.content == entry.content) return;
  fail(Oracle::hand_over, host.self().name + " was handed v" + std::to_string(entry.content) +
                              " of register " + std::to_string(at) + ", where v" +
                              std::to_string(newest.content) + " was accepted");
}

std::size_t World::owners_of(Partition partition, std::string& names, bool& is_double) {
  std::size_t by_history = 0;
  std::size_t by_group = 0;
  const auto count = [&](const Host& host) {
    const dht::Permissions& permissions = host.permissions();
    const dht::Stage stage = permissions.owner(partition).stage();
    const auto now = [&host] { return host.now(); };
    const auto may = [&](dht::Basis basis) {
      return dht::Permissions::allows(stage, basis) && permissions.is_in_force(basis, now);
    };
    if (!may(dht::Basis::group)) return;
    if (host.carried_out().number < host.agreed_at_first())
      fail(Oracle::settings, host.self().name + " answers without what operators have set");
    names += (names.empty() ? "" : ", ") + host.self().name;
    by_history += may(dht::Basis::history) ? 1 : 0;
    ++by_group;
  };
  for (const auto& [name, machine] : machines_) {
    if (machine.host) count(*machine.host);
    if (machine.ghost) count(*machine.ghost);
  }
  is_double = by_history > 1 || (by_history == 1 && by_group > 1);
  return by_history;
}

void World::check_owners() {
  for (std::size_t i = 0; i < layout().partitions; ++i) {
    std::string names;
    bool is_double = false;
    (void)owners_of(static_cast<Partition>(i), names, is_double);
    if (is_double)
      return fail(Oracle::owner, "partition " + std::to_string(i) + " is owned by " + names);
  }
}

void World::check_settings() {
  if (zookeeper_.commits() == commits_) return;
  commits_ = zookeeper_.commits();
  const std::string path = dht::Paths{}.settings();
  const dht::NodeVersion version = zookeeper_.version(path);
  if (version == settings_version_) return;
  if (version != settings_version_ + 1)
    return fail(Oracle::settings, "the settings' node was made anew, or changed twice at once");
  settings_version_ = version;
  if (const auto problem = settings_oracle_.on_commit(*zookeeper_.data(path)))
    fail(Oracle::settings, *problem);
}

bool World::is_recovered(Instant since) const {
  return since >= Duration(kTurmoil + kRecovery).count();
}

void World::check_service() {
  for (std::size_t i = 0; i < layout().partitions; ++i) {
    std::string names;
    bool is_double = false;
    if (owners_of(static_cast<Partition>(i), names, is_double) != 1)
      return fail(Oracle::service, "partition " + std::to_string(i) + " has no owner");
  }
  for (const Host* const host : living()) {
    if (host->carried_out() != settings_oracle_.committed())
      return fail(Oracle::settings, host->self().name + " has not what was agreed");
    if (host->orders_under_way() != 0)
      return fail(Oracle::settings, host->self().name + " has not ended what was asked for");
  }
}

}  // namespace prophecy::ring
