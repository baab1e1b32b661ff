// prophecy-replica: one member of a replica group, beside its origin.
#include <csignal>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/command_line/command_line.hpp"
#include "base/io/core_dumps.hpp"
#include "base/io/descriptor_limit.hpp"
#include "pbft/replica/replica_metrics.hpp"
#include "pbft/replica/replica_node.hpp"

namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

int complain(const prophecy::Error& error, int status) {
  std::istringstream lines(error.message);  // of a configuration, one a mistake
  for (std::string line; std::getline(lines, line);)
    std::cerr << "prophecy-replica: " << line << '\n';
  return status;
}

int run(const prophecy::pbft::ReplicaIdentity& identity) {
  using namespace prophecy;
  const pbft::ReplicaConfig& config = identity.config;
  std::signal(SIGPIPE, SIG_IGN);  // of who reads the log, and may leave
  if (config.core_dumps) allow_core_dumps();
  Logger log("replica-" + std::to_string(config.id), config.log);
  const DescriptorNeed need = pbft::ReplicaNode::descriptors_needed(identity);
  if (auto allowed = allow_descriptors(need, log); !allowed) {
    return complain(allowed.error(), kExitFailure);
  }
  boost::asio::io_context io(1);  // this thread only
  auto node = pbft::ReplicaNode::create(io, identity, log);
  if (!node) return complain(node.error(), kExitFailure);

  boost::asio::signal_set signals(io, SIGTERM, SIGINT, SIGHUP);
  std::function<void()> wait_for_signal = [&] {
    signals.async_wait([&](const boost::system::error_code& error, int signal) {
      if (error) return;
      if (signal != SIGHUP) return (*node)->stop();
      (*node)->reload_certificates();
      wait_for_signal();
    });
  };
  wait_for_signal();
  (*node)->start();
  io.run();
  log.info("stopped");
  return (*node)->failed() ? kExitFailure : 0;
}

int init(const prophecy::pbft::ReplicaIdentity& identity) {
  if (auto made = prophecy::pbft::ReplicaStorage::init(identity); !made) {
    return complain(made.error(), kExitFailure);
  }
  std::cout << identity.config.storage->folder.string() << ": made\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  prophecy::CommandLine line(
      "prophecy-replica",
      "A replica agent of Prophecy: agrees with its peers on the order of requests and "
      "carries them out on its origin.",
      PROPHECY_VERSION);
  const prophecy::Command program = line.program();
  std::string config;
  bool check_only = false;
  bool init_only = false;
  bool dump = false;
  bool describe = false;
  bool describe_group = false;
  bool metrics = false;
  const auto config_option = program.add("--config", config, "The configuration file (TOML)");
  program.flag("--check", check_only, "Check the configuration and the keys, and stop");
  program.flag(
      "--init", init_only,
      "Make the empty store of a replica that is new, and stop; refuses when there is one");
  program.flag("--dump", dump, "Print the configuration in effect, with all defaults, and stop");
  program.flag("--describe", describe, "Print all settings of the configuration (TOML), and stop");
  program.flag("--describe-group", describe_group,
               "Print all settings of the group file (TOML), and stop");
  program.flag("--describe-metrics", metrics, "Print all metrics (TOML), and stop");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (!describe && !describe_group && !metrics && !config_option.is_given()) {
    return line.complain_without("--config");
  }

  if (describe || describe_group || metrics) {
    std::cout << (metrics          ? prophecy::pbft::describe_metrics()
                  : describe_group ? prophecy::pbft::describe_group_file()
                                   : prophecy::pbft::describe_replica_config());
    return 0;
  }
  if (dump) {
    auto text = prophecy::pbft::dump_replica_config(config);
    if (!text) return complain(text.error(), kExitUsage);
    std::cout << *text;
    return 0;
  }
  // Before the first key is read.
  if (auto forbidden = prophecy::forbid_core_dumps(); !forbidden) {
    return complain(forbidden.error(), kExitFailure);
  }
  const auto identity = prophecy::pbft::load_replica_identity(config);
  if (!identity) return complain(identity.error(), kExitUsage);
  if (init_only) return init(*identity);
  if (!check_only) return run(*identity);
  std::cout << config << ": in order\n";
  return 0;
}
