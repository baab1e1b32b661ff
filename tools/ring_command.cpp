#include "tools/ring_command.hpp"

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"
#include "tools/table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// How often a drain that is waited for is looked at.
constexpr std::chrono::milliseconds kLook{200};

struct RingOptions {
  std::string socket;
  std::string action = "show";
  bool json = false;
  bool accepts = false;
  bool restores = false;
  std::uint64_t wait_seconds = 60;
};

Result<> check_ring(const Json& ring) {
  if (ring.contains("state") && ring.contains("members") && ring["members"].is_array()) return {};
  return Error{ErrorKind::invalid, "no state, or no members"};
}

// The first line tells whether all is well, the others of what is under way.
void print_ring(const Json& ring) {
  std::cout << ring["name"].get<std::string>() << ": " << ring["state"].get<std::string>()
            << ", view " << ring["view"] << ", lease for " << ring["lease_ms_left"] << " of "
            << ring["lease_ms"] << " ms"
            << (ring["connected"] == true ? "" : ", no connection to ZooKeeper") << '\n';
  const Json& moving = ring["moving"];
  const auto line = [&](const char* key, const std::string& what) {
    if (moving[key] != 0) std::cout << "  " << moving[key] << " partitions " << what << '\n';
  };
  std::string owners;
  for (const Json& owner : moving["former_owners"])
    owners += (owners.empty() ? " (" : ", ") + owner.get<std::string>();
  if (!owners.empty()) owners += ")";
  line("waiting_for_clearing", "wait until what was left of them here is erased");
  line("waiting_for_former_owners", "wait until their former owners have stopped" + owners);
  line("waiting_for_group", "wait for the group's order");
  line("being_received", "are being received");
  line("to_be_given", "may be asked for by their new owners");
  for (const Json& problem : ring["problems"])
    std::cout << "  problem: " << problem.get<std::string>() << '\n';
  if (!ring["members"].empty()) print_table("members", ring["members"]);
}

int show_ring(const RingOptions& options) {
  Json ring;
  if (!ask_for(options.socket, "ring", "the ring of a sketcher", check_ring, ring)) return 1;
  if (options.json) {
    std::cout << ring.dump(2) << '\n';
  } else {
    print_ring(ring);
  }
  return 0;
}

Result<> check_settings(const Json& settings) {
  return expect_members(
      settings, "",
      {{"number", Shape::number}, {"problem", Shape::text}, {"settings", Shape::objects}});
}

int show_settings(const RingOptions& options) {
  Json settings;
  if (!ask_for(options.socket, "ring-settings", "the settings of a ring", check_settings, settings))
    return 1;
  if (options.json) {
    std::cout << settings.dump(2) << '\n';
    return 0;
  }
  const std::string problem = settings["problem"].get<std::string>();
  std::cout << "settings after " << settings["number"] << " changes"
            << (settings["connected"] == true ? "" : ", no connection to ZooKeeper") << '\n';
  if (!problem.empty()) std::cout << "  problem: " << problem << '\n';
  if (settings["settings"].empty()) {
    std::cout << "  all is as configured\n";
  } else {
    print_table("settings", settings["settings"]);
  }
  return 0;
}

int run_settings(const RingOptions& options) {
  if (options.accepts && options.restores) {
    std::cerr << "prophecyctl: --accept and --restore exclude each other\n";
    return 2;
  }
  if (!options.accepts && !options.restores) return show_settings(options);
  Json answer;
  const char* const command = options.accepts ? "ring-settings-accept" : "ring-settings-restore";
  if (auto asked = ask(options.socket, {{"command", command}}, answer); !asked) {
    std::cerr << "prophecyctl: " << asked.error().message << '\n';
    return 1;
  }
  return report_sharing(options.socket, answer);
}

// Until the member's state is `wanted`.
int wait_for(const RingOptions& options, const std::string& wanted) {
  const auto deadline = Clock::now() + std::chrono::seconds(options.wait_seconds);
  for (;;) {
    Json ring;
    if (!ask_for(options.socket, "ring", "the ring of a sketcher", check_ring, ring)) return 1;
    const Json& moving = ring["moving"];
    const bool is_settled = moving["waiting_for_clearing"] == 0 &&
                            moving["waiting_for_former_owners"] == 0 &&
                            moving["waiting_for_group"] == 0 && moving["being_received"] == 0;
    const bool is_done = ring["state"] == wanted &&
                         (wanted == "member" ? is_settled : ring["is_handed_over"] == true);
    if (is_done) return 0;
    if (Clock::now() >= deadline) {
      std::cerr << "prophecyctl: it is not " << wanted << " after " << options.wait_seconds
                << " s; see prophecyctl ring\n";
      return 1;
    }
    std::this_thread::sleep_for(kLook);
  }
}

int run_ring(const RingOptions& options) {
  if (options.action == "show") return show_ring(options);
  if (options.action == "settings") return run_settings(options);
  if (const int status = tell(options.socket, {{"command", "ring-" + options.action}}); status != 0)
    return status;
  return options.wait_seconds == 0
             ? 0
             : wait_for(options, options.action == "drain" ? "drained" : "member");
}

}  // namespace

void add_ring_command(Command program) {
  auto options = std::make_shared<RingOptions>();
  const Command command = program.add_command(
      "ring", "Shows the ring of sketchers, has others take this one's partitions, or has it back");
  command
      .add("action", options->action,
           "show; settings: what operators have set for all members; drain: others take its "
           "partitions, and it forwards all requests; join: the end of that")
      .one_of({"show", "settings", "drain", "join"})
      .shows_default();
  command.add("--admin", options->socket, "Admin socket of the sketcher").required();
  command.flag("--json", options->json, "Print JSON");
  command.flag("--accept", options->accepts,
               "With settings: those in ZooKeeper count, though others were agreed on");
  command.flag("--restore", options->restores,
               "With settings: those that this member knows count, whatever ZooKeeper has");
  command
      .add("--wait", options->wait_seconds,
           "For how many seconds to wait until drain or join is done; 0: not at all")
      .shows_default();
  command.on_run([options] { return run_ring(*options); });
}

}  // namespace prophecy::tools
