#include "ring/zookeeper_model.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::ring {

using dht::WriteStep;

namespace {

constexpr Duration kTick = milliseconds(50);

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

ZooKeeperModel::ZooKeeperModel(Scheduler& scheduler, Random& random, Duration session_timeout)
    : scheduler_(scheduler), random_(random), timeout_(session_timeout) {
  scheduler_.after(kTick, [this] { tick(); });
}

ZooKeeperModel::ClientId ZooKeeperModel::open(Client client) {
  const ClientId id = ++last_id_;
  connections_[id].client = std::move(client);
  return id;
}

void ZooKeeperModel::close(ClientId client) {
  connections_.erase(client);
}

bool ZooKeeperModel::is_cut_off(std::size_t server) const {
  return scheduler_.now() < cut_off_until_[server];
}

Duration ZooKeeperModel::delay() {
  if (!is_healed_ && random_.chance(2)) return milliseconds(random_.below(800));
  return microseconds(200 + random_.below(3000));
}

void ZooKeeperModel::tick() {
  for (std::size_t server = 0; server < kServers; ++server) {
    const bool lags = !is_healed_ && random_.chance(40);
    if (!is_cut_off(server) && !lags) applied_[server] = states_.size() - 1;
  }
  std::vector<ClientId> ids;
  for (const auto& [id, connection] : connections_)
    ids.push_back(id);
  for (const ClientId id : ids)
    tick_connection(id);
  std::vector<std::uint64_t> ended;
  for (auto& [number, session] : sessions_) {
    // (A new leader gives all sessions their whole time.)
    if (scheduler_.now() < leaderless_until_) session.heard = scheduler_.now();
    if (!session.has_ended && session.heard + timeout_ < scheduler_.now()) ended.push_back(number);
  }
  for (const std::uint64_t number : ended)
    end_session(number);
  scheduler_.after(kTick, [this] { tick(); });
}

void ZooKeeperModel::tick_connection(ClientId id) {
  Connection& connection = connections_.at(id);
  if (!connection.server) {
    if (random_.chance(20)) connect(id);
    return;
  }
  const bool is_reached = scheduler_.now() >= connection.isolated_until;
  if (is_reached) {
    connection.heard = scheduler_.now();
    if (!is_cut_off(*connection.server)) sessions_[connection.session].heard = scheduler_.now();
    // A ping is answered, whether the server is cut off or not.
    if (random_.chance(10)) connection.client.on_session(SessionEvent::alive);
  }
  const bool has_ended = sessions_[connection.session].has_ended &&
                         !is_cut_off(*connection.server) && random_.chance(30);
  const bool gives_up = connection.heard + timeout_ * 2 / 3 < scheduler_.now();
  const bool is_closed =
      is_cut_off(*connection.server) && random_.chance(1);  // its own patience is over
  if (gives_up || is_closed || has_ended) drop(id);
}

void ZooKeeperModel::connect(ClientId id) {
  Connection& connection = connections_.at(id);
  if (scheduler_.now() < connection.isolated_until) return;
  const std::size_t server = random_.below(kServers);
  // One that is cut off takes nobody in, and without a leader nobody does.
  if (is_cut_off(server) || scheduler_.now() < leaderless_until_) return;
  connection.heard = scheduler_.now();
  ++connection.times;
  connection.server = server;
  connection.watches = false;
  const bool is_over = connection.session == 0 || sessions_[connection.session].has_ended;
  if (is_over) {
    if (connection.session != 0) connection.client.on_session(SessionEvent::expired);
    connection.session = ++last_id_;
  }
  sessions_[connection.session].heard = scheduler_.now();
  connection.client.on_session(SessionEvent::connected);
}

void ZooKeeperModel::drop(ClientId id) {
  Connection& connection = connections_.at(id);
  if (!connection.server) return;
  connection.server.reset();
  const std::set<std::uint64_t> lost = std::exchange(connection.under_way, {});
  const Client client = connection.client;
  client.on_session(SessionEvent::disconnected);
  for (const std::uint64_t number : lost)
    client.on_result({.number = number, .status = CoordinationStatus::unknown});
}

void ZooKeeperModel::call(ClientId id, const CoordinationCall& call) {
  Connection& connection = connections_.at(id);
  if (!connection.server) {
    // (It comes behind what the caller is at.)
    scheduler_.after({}, [this, id, number = call.number] {
      const auto found = connections_.find(id);
      if (found == connections_.end()) return;
      found->second.client.on_result({.number = number, .status = CoordinationStatus::unknown});
    });
    return;
  }
  connection.under_way.insert(call.number);
  if (scheduler_.now() < connection.isolated_until) return;
  const std::uint64_t times = connection.times;
  const std::size_t server = *connection.server;
  if (call.kind != CoordinationCall::Kind::write) {
    connection.watches = connection.watches || call.watches;
    scheduler_.after(delay(),
                     [this, id, times, server, call] { answer(id, times, read(server, call)); });
    return;
  }
  const std::uint64_t session = connection.session;
  Duration until = delay();
  if (is_cut_off(server)) {
    if (random_.chance(50)) return;  // never
    until += cut_off_until_[server] - scheduler_.now();
  }
  if (scheduler_.now() < leaderless_until_) until += leaderless_until_ - scheduler_.now();
  if (!is_healed_ && random_.chance(1)) until += milliseconds(random_.below(3000));
  scheduler_.after(until,
                   [this, id, times, session, call] { commit_call(id, times, session, call); });
}

void ZooKeeperModel::answer(ClientId id, std::uint64_t times, CoordinationResult result) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.times != times) return;
  Connection& connection = found->second;
  if (!connection.server || connection.under_way.erase(result.number) == 0) return;
  if (scheduler_.now() < connection.isolated_until) {
    connection.under_way.insert(result.number);  // the answer is lost
    return;
  }
  connection.client.on_result(std::move(result));
}

CoordinationResult ZooKeeperModel::read(std::size_t server, const CoordinationCall& call) const {
  const State& state = states_[applied_[server]];
  CoordinationResult result{.number = call.number, .status = CoordinationStatus::done};
  const auto found = state.find(call.path);
  if (found == state.end()) {
    result.status = CoordinationStatus::absent;
    return result;
  }
  if (call.kind == CoordinationCall::Kind::read) {
    result.data = found->second->data;
    result.version = found->second->version;
    result.owner_session = found->second->owner;
    return result;
  }
  for (const auto& [path, node] : state) {
    if (path != call.path && parent_of(path) == call.path)
      result.children.push_back(path.substr(call.path.size() + 1));
  }
  return result;
}

void ZooKeeperModel::commit_call(ClientId id, std::uint64_t times, std::uint64_t session,
                                 const CoordinationCall& call) {
  CoordinationResult result = commit(call, session);
  scheduler_.after(delay(), [this, id, times, result = std::move(result)]() mutable {
    answer(id, times, std::move(result));
  });
}

CoordinationResult ZooKeeperModel::commit(const CoordinationCall& call, std::uint64_t session) {
  CoordinationResult result{.number = call.number, .status = CoordinationStatus::done};
  State state = states_.back();
  bool is_watched = false;
  for (std::size_t i = 0; i < call.steps.size(); ++i) {
    const WriteStep& step = call.steps[i];
    const auto fail = [&](CoordinationStatus status) {
      result.status = status;
      result.failed_step = i;
    };
    const auto found = state.find(step.path);
    const bool creates =
        step.kind == WriteStep::Kind::create || step.kind == WriteStep::Kind::create_ephemeral;
    if (creates) {
      if (found != state.end()) {
        fail(CoordinationStatus::exists);
        return result;
      }
      const std::string parent = parent_of(step.path);
      const bool is_ephemeral = step.kind == WriteStep::Kind::create_ephemeral;
      if (!parent.empty() && !state.contains(parent)) {
        fail(CoordinationStatus::absent);
        return result;
      }
      if (is_ephemeral && sessions_[session].has_ended) {
        fail(CoordinationStatus::refused);
        return result;
      }
      state[step.path] =
          std::make_shared<const Node>(Node{step.data, 0, is_ephemeral ? session : 0});
      is_watched = true;
      continue;
    }
    if (found == state.end()) {
      fail(CoordinationStatus::absent);
      return result;
    }
    if (found->second->version != step.version) {
      fail(CoordinationStatus::wrong_version);
      return result;
    }
    if (step.kind == WriteStep::Kind::set) {
      const Node& node = *found->second;
      found->second = std::make_shared<const Node>(Node{step.data, node.version + 1, node.owner});
      is_watched = is_watched || step.path.ends_with("/view");
    } else if (step.kind == WriteStep::Kind::remove) {
      state.erase(found);
      is_watched = true;
    }
  }
  add_state(std::move(state), is_watched);
  return result;
}

void ZooKeeperModel::add_state(State state, bool is_watched) {
  states_.push_back(std::move(state));
  if (!is_watched) return;
  for (auto& [id, connection] : connections_) {
    if (!connection.watches || !connection.server || (!is_healed_ && random_.chance(10))) continue;
    connection.watches = false;
    const Duration late = random_.chance(10) ? milliseconds(random_.below(2000)) : delay();
    scheduler_.after(late, [this, id = id, times = connection.times] {
      const auto found = connections_.find(id);
      if (found == connections_.end() || found->second.times != times || !found->second.server)
        return;
      // It is seen by the server that says so, in most cases.
      if (random_.chance(80) && !is_cut_off(*found->second.server))
        applied_[*found->second.server] = states_.size() - 1;
      found->second.client.on_session(SessionEvent::changed);
    });
  }
}

void ZooKeeperModel::end_session(std::uint64_t session) {
  sessions_[session].has_ended = true;
  State state = states_.back();
  const std::size_t erased =
      std::erase_if(state, [&](const auto& entry) { return entry.second->owner == session; });
  if (erased > 0) add_state(std::move(state), true);
}

void ZooKeeperModel::cut_off_server(std::size_t server, Duration time) {
  // (Never two at once: there would be no quorum; see lose_leader().)
  for (std::size_t other = 0; other < kServers; ++other) {
    if (other != server && is_cut_off(other)) return;
  }
  cut_off_until_[server] = scheduler_.now() + time;
}

void ZooKeeperModel::lose_leader(Duration time) {
  leaderless_until_ = std::max(leaderless_until_, scheduler_.now() + time);
}

void ZooKeeperModel::isolate(ClientId client, Duration time) {
  Connection& connection = connections_.at(client);
  connection.isolated_until = std::max(connection.isolated_until, scheduler_.now() + time);
}

void ZooKeeperModel::break_connection(ClientId client) {
  drop(client);
}

void ZooKeeperModel::expire_by_whim(ClientId client) {
  const std::uint64_t session = connections_.at(client).session;
  if (session != 0 && !sessions_[session].has_ended) end_session(session);
}

void ZooKeeperModel::heal() {
  is_healed_ = true;
  cut_off_until_.fill({});
  leaderless_until_ = {};
  for (auto& [id, connection] : connections_) {
    connection.isolated_until = {};
    // Its calls may have been lost.
    if (!connection.under_way.empty())
      scheduler_.after({}, [this, id = id] {
        if (connections_.contains(id)) drop(id);
      });
  }
}

std::optional<std::string> ZooKeeperModel::data(const std::string& path) const {
  const auto found = states_.back().find(path);
  if (found == states_.back().end()) return std::nullopt;
  return std::string(found->second->data.begin(), found->second->data.end());
}

}  // namespace prophecy::ring
