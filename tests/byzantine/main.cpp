// byzantine-replica: a replica agent with real keys, connections, disk and origin that follows the
// protocol inside, and deviates in what it hears and says. For tests.
#include <csignal>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/command_line/command_line.hpp"
#include "byzantine/misbehaving_gate.hpp"
#include "pbft/replica/replica_node.hpp"

namespace {

using namespace prophecy;
using simulation::BehaviourKind;

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (std::size_t kind = 0; kind < simulation::kBehaviourKinds; ++kind)
    names.emplace_back(simulation::to_string(static_cast<BehaviourKind>(kind)));
  return names;
}

BehaviourKind behaviour_of(std::string_view name) {
  std::size_t kind = 0;
  while (simulation::to_string(static_cast<BehaviourKind>(kind)) != name)
    ++kind;  // it is one of them
  return static_cast<BehaviourKind>(kind);
}

// USR1 takes the next behaviour, for as long as the node runs.
void follow_signal(boost::asio::signal_set& next, byzantine::MisbehavingGate& gate) {
  next.async_wait([&](const boost::system::error_code& error, int /*signal*/) {
    if (error) return;
    gate.next();
    follow_signal(next, gate);
  });
}

int run(const pbft::ReplicaIdentity& identity, byzantine::Misbehaviour plan) {
  const pbft::ReplicaConfig& config = identity.config;
  Logger log("byzantine-" + std::to_string(config.id), config.log);
  boost::asio::io_context io(1);  // this thread only
  byzantine::MisbehavingGate gate(io, identity.keys, std::move(plan), log);
  auto node = pbft::ReplicaNode::create(io, identity, log, &gate);
  if (!node) {
    std::cerr << "byzantine-replica: " << node.error().message << '\n';
    return 1;
  }
  boost::asio::signal_set next(io, SIGUSR1);
  follow_signal(next, gate);
  boost::asio::signal_set end(io, SIGTERM, SIGINT);
  end.async_wait([&](const boost::system::error_code& error, int /*signal*/) {
    if (error) return;
    next.cancel();
    (*node)->stop();
    gate.stop();
  });
  (*node)->start();
  io.run();
  return (*node)->failed() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine line("byzantine-replica", "A replica agent that does not behave as it should.");
  const Command program = line.program();
  std::string config;
  std::vector<std::string> names;
  std::uint64_t seed = 1;
  bool list = false;
  program.flag("--list", list, "Print the names of all behaviours, and stop");
  program.add("--config", config, "The agent's configuration (TOML)");
  program
      .add("--behaviour", names,
           "What it does wrong; several take turns, the next one with each SIGUSR1, and "
           "behind the last it is honest")
      .one_of(all_names());
  program.add("--seed", seed, "Of what the behaviours draw").shows_default();
  if (const auto status = line.parse(argc, argv)) return *status;
  if (list) {
    for (const std::string& name : all_names())
      std::cout << name << '\n';
    return 0;
  }
  byzantine::Misbehaviour plan{.turns = {}, .seed = seed};
  for (const std::string& name : names)
    plan.turns.push_back(behaviour_of(name));
  const auto identity = pbft::load_replica_identity(config);
  if (plan.turns.empty() || !identity) {
    std::cerr << "byzantine-replica: "
              << (identity ? "--behaviour is missing" : identity.error().message) << '\n';
    return 2;
  }
  return run(*identity, std::move(plan));
}
