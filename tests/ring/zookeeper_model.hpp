// A model of ZooKeeper that promises no more than the ring relies on: committed writes are steps of
// one order, and their conditions hold at that step.
//
// Three servers. A session is connected to one of them. A server may be cut off from the others:
// it goes on answering pings and reads, from what it knew, and takes writes that are carried out
// later, or never. The service may have no leader for a while. Reads lag behind, and may go back
// when a session comes to another server. Watches are bundled, come late, or are lost. A session
// expires when the leader has not heard of it for long enough, or by a whim; its ephemeral nodes go
// then, and its client hears of it when it next comes to a server that knows. A connection that
// breaks leaves all calls under way unknown, carried out or not, or to be carried out.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dht/core/coordination.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/random.hpp"

namespace prophecy::ring {

using dht::CoordinationCall;
using dht::CoordinationResult;
using dht::CoordinationStatus;
using dht::SessionEvent;
using simulation::Random;
using simulation::Scheduler;

class ZooKeeperModel {
 public:
  static constexpr std::size_t kServers = 3;

  // A member's connection. The callbacks are called while it is open.
  struct Client {
    std::function<void(SessionEvent)> on_session;
    std::function<void(CoordinationResult)> on_result;
  };
  using ClientId = std::uint64_t;

  ZooKeeperModel(Scheduler& scheduler, Random& random, Duration session_timeout);

  // It connects when it can, again and again.
  [[nodiscard]] ClientId open(Client client);
  // The process has died: nothing is said to it any more, and its session ends by itself.
  void close(ClientId client);
  void call(ClientId client, const CoordinationCall& call);

  // ---- What goes wrong.
  void cut_off_server(std::size_t server, Duration time);
  void lose_leader(Duration time);
  void isolate(ClientId client, Duration time);
  void break_connection(ClientId client);
  void expire_by_whim(ClientId client);
  // Nothing goes wrong any more.
  void heal();

  // What is committed.
  [[nodiscard]] std::optional<std::string> data(const std::string& path) const;
  [[nodiscard]] std::uint64_t commits() const { return states_.size(); }
  // Of what is committed; -1: there is no such node.
  [[nodiscard]] dht::NodeVersion version(const std::string& path) const {
    const auto found = states_.back().find(path);
    return found == states_.back().end() ? -1 : found->second->version;
  }

 private:
  struct Node {
    Bytes data;
    dht::NodeVersion version = 0;
    std::uint64_t owner = 0;  // a session; 0: none
  };
  using State = std::map<std::string, std::shared_ptr<const Node>>;

  struct Connection {
    Client client;
    std::uint64_t session = 0;
    std::optional<std::size_t> server;  // connected to
    std::set<std::uint64_t> under_way;
    TimePoint heard{};  // by the client, of its server
    TimePoint isolated_until{};
    std::uint64_t times = 0;  // it has connected
    bool watches = false;
  };
  struct Session {
    TimePoint heard{};  // by the leader
    bool has_ended = false;
  };

  [[nodiscard]] bool is_cut_off(std::size_t server) const;
  [[nodiscard]] Duration delay();
  void tick();
  void tick_connection(ClientId id);
  void connect(ClientId id);
  void drop(ClientId id);
  void answer(ClientId id, std::uint64_t times, CoordinationResult result);
  [[nodiscard]] CoordinationResult read(std::size_t server, const CoordinationCall& call) const;
  void commit_call(ClientId id, std::uint64_t times, std::uint64_t session,
                   const CoordinationCall& call);
  [[nodiscard]] CoordinationResult commit(const CoordinationCall& call, std::uint64_t session);
  void add_state(State state, bool is_watched);
  void end_session(std::uint64_t session);

  Scheduler& scheduler_;
  Random& random_;
  Duration timeout_;
  std::vector<State> states_{State{}};           // after each commit
  std::array<std::size_t, kServers> applied_{};  // the state that a server has
  std::array<TimePoint, kServers> cut_off_until_{};
  TimePoint leaderless_until_{};
  std::map<ClientId, Connection> connections_;
  std::map<std::uint64_t, Session> sessions_;
  std::uint64_t last_id_ = 0;
  bool is_healed_ = false;
};

}  // namespace prophecy::ring
