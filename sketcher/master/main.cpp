// prophecy-sketcher: the trusted reverse proxy.
#include <csignal>
#include <iostream>
#include <sstream>
#include <string>

#include "base/command_line/command_line.hpp"
#include "base/io/core_dumps.hpp"
#include "sketcher/installation/staleness_bound.hpp"
#include "sketcher/master/master.hpp"
#include "sketcher/report/status.hpp"

namespace {

constexpr int kRunTimeFailure = 1;
constexpr int kUsageFailure = 2;

int fail(const prophecy::Error& error, int status) {
  std::istringstream lines(error.message);  // of a configuration, one a mistake
  for (std::string line; std::getline(lines, line);)
    std::cerr << "prophecy-sketcher: " << line << '\n';
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  prophecy::CommandLine line("prophecy-sketcher",
                             "Trusted reverse proxy in front of a group of replicated origins.",
                             PROPHECY_VERSION);
  const prophecy::Command program = line.program();
  std::string config;
  bool check = false;
  bool dump = false;
  bool describe = false;
  bool metrics = false;
  const auto config_option = program.add("--config", config, "Configuration file (TOML)");
  program.flag("--check", check, "Check the configuration and the keys, and stop");
  program.flag("--dump", dump, "Print the configuration in effect, with all defaults, and stop");
  program.flag("--describe", describe, "Print all settings of the configuration (TOML), and stop");
  program.flag("--describe-metrics", metrics, "Print all metrics (TOML), and stop");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (!describe && !metrics && !config_option.is_given()) return line.complain_without("--config");

  if (describe || metrics) {
    std::cout << (describe ? prophecy::sketcher::describe_settings()
                           : prophecy::sketcher::describe_metrics());
    return 0;
  }
  if (dump) {
    auto text = prophecy::sketcher::dump_settings(config);
    if (!text) return fail(text.error(), kUsageFailure);
    std::cout << *text;
    return 0;
  }
  // Before the first key is read.
  if (auto forbidden = prophecy::forbid_core_dumps(); !forbidden) {
    return fail(forbidden.error(), kRunTimeFailure);
  }
  auto installation = prophecy::sketcher::load_installation(config);
  if (!installation) return fail(installation.error(), kUsageFailure);
  if (check) {
    const auto& settings = installation->settings;
    for (const auto& warning : prophecy::sketcher::warnings_about(settings.routes, settings.groups))
      std::cout << config << ": warning: " << warning.text << '\n';
    for (const auto& bound : prophecy::sketcher::staleness_bounds(*installation))
      std::cout << config << ": note: " << bound << '\n';
    std::cout << config << ": in order\n";
    return 0;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of its write
  if (installation->settings.core_dumps) prophecy::allow_core_dumps();
  prophecy::Logger log("master", installation->settings.log);
  const auto status = prophecy::sketcher::run_master(*installation, log);
  return status ? *status : fail(status.error(), kRunTimeFailure);
}
