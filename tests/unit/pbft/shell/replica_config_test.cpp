#include "pbft/replica/replica_config.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "support.hpp"
#include "tools/keys/keygen.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::test;

namespace {

const std::string kReplica =
    "[replica]\nid = 1\ngroup = \"group.toml\"\nkey_file = \"replica-1.key\"\n";

std::string config_mistakes(const std::string& text) {
  const auto config = parse_replica_config(text, "r");
  return config.has_value() ? "" : config.error().message;
}

}  // namespace

TEST_CASE("A short configuration has defaults for the rest") {
  const auto config = parse_replica_config(
      kReplica + "[service]\nkind = \"http\"\norigin = \"127.0.0.1:80\"\n", "r");
  REQUIRE(config.has_value());
  CHECK(config->id == 1);
  CHECK(config->group_file == "group.toml");
  CHECK_FALSE(config->listen);
  CHECK_FALSE(config->admin);
  CHECK_FALSE(config->metrics);
  CHECK(config->core.agreed_time_tolerance == seconds(5));
  CHECK(config->service.kind == ServiceKind::http);
  CHECK(config->service.origin.connections_max == 64);
  CHECK(config->service.origin.answer_limits.body_bytes_max == 16 << 20);
}

TEST_CASE("An origin may be inside TLS") {
  const std::string origin = kReplica + "[service]\nkind = \"http\"\norigin = \"127.0.0.1:443\"\n";
  CHECK_FALSE(parse_replica_config(origin, "r")->service.origin_tls);
  const std::string tls = origin + "[service.tls]\nserver_name = \"o.example\"\n";
  const auto config = parse_replica_config(tls + "ca = \"ca.pem\"\n", "r");
  REQUIRE(config.has_value());
  REQUIRE(config->service.origin_tls);
  CHECK(config->service.origin_tls->server_name == "o.example");
  CHECK(config->service.origin_tls->ca.filename() == "ca.pem");
  CHECK_FALSE(config->service.origin_tls->certificate);
  CHECK(config_mistakes(tls).find("service.tls.ca: expected a path, found nothing") !=
        std::string::npos);
  // One of the two alone is of no use.
  CHECK(config_mistakes(tls + "ca = \"ca.pem\"\nkey = \"k\"\n")
            .find("service.tls.certificate: expected a path, found nothing") != std::string::npos);
}

TEST_CASE("Simulated work says how long and how much") {
  const auto config = parse_replica_config(
      kReplica + "[service]\nkind = \"simulated\"\nbusy = \"94us\"\nanswer_bytes = \"1KiB\"\n",
      "r");
  REQUIRE(config.has_value());
  CHECK(config->service.busy == microseconds(94));
  CHECK(config->service.answer_bytes == 1024);
}

TEST_CASE("The largest body lies on a disk, or in little memory") {
  const std::string service = "[service]\nkind = \"null\"\n";
  const std::string disk = service + "[storage]\nfolder = \"here\"\n";
  const std::uint64_t head = 1 << 20;
  CHECK(parse_replica_config(kReplica + service, "r")->core.body_bytes_max == head + (128 << 20));
  CHECK(parse_replica_config(kReplica + disk, "r")->core.body_bytes_max == head + (1 << 30));
  const std::string large = "body_bytes_max = \"16GiB\"\n";
  CHECK_FALSE(parse_replica_config(kReplica + large + service, "r").has_value());
  CHECK(parse_replica_config(kReplica + large + disk, "r")->core.body_bytes_max ==
        kOperationBytesMax);
}

TEST_CASE("A service that does nothing answers nothing, unless told how much") {
  const auto empty = parse_replica_config(kReplica + "[service]\nkind = \"null\"\n", "r");
  REQUIRE(empty.has_value());
  CHECK(empty->service.answer_bytes == 0);
  const auto large =
      parse_replica_config(kReplica + "[service]\nkind = \"null\"\nanswer_bytes = \"1KiB\"\n", "r");
  REQUIRE(large.has_value());
  CHECK(large->service.answer_bytes == 1024);
}

TEST_CASE("How far clocks may differ is bounded") {
  const auto tolerance = [](const std::string& value) {
    return parse_replica_config(
        kReplica + "agreed_time_tolerance = \"" + value + "\"\n[service]\nkind = \"null\"\n", "r");
  };
  const auto config = tolerance("2s");
  REQUIRE(config.has_value());
  CHECK(config->core.agreed_time_tolerance == seconds(2));
  CHECK_FALSE(tolerance("0s").has_value());
  CHECK_FALSE(tolerance("25h").has_value());
}

TEST_CASE("How long a primary may take is bounded by what the time may grow to") {
  const auto timeout = [](const std::string& value) {
    return parse_replica_config(
        kReplica + "view_change_timeout = \"" + value + "\"\n[service]\nkind = \"null\"\n", "r");
  };
  const auto config = timeout("30s");
  REQUIRE(config.has_value());
  CHECK(config->core.view_change_timeout == seconds(30));
  CHECK(check(config->core).has_value());
  CHECK(check(timeout("100ms")->core).has_value());
  CHECK_FALSE(timeout("99ms").has_value());
  CHECK_FALSE(timeout("31s").has_value());
}

TEST_CASE("Only what can be restored is executed before it is agreed on") {
  const auto ahead = [](const std::string& service) {
    return parse_replica_config(
        kReplica + "execute_when = \"prepared\"\n[service]\n" + service + "\n", "r");
  };
  const std::string http = "kind = \"http\"\norigin = \"127.0.0.1:80\"\n";
  CHECK_FALSE(ahead(http).has_value());
  const std::string path = std::filesystem::temp_directory_path().string();
  const auto folder = ahead(http + "state = \"directory\"\nstate_folder = \"" + path + "\"");
  REQUIRE(folder.has_value());
  CHECK(folder->core.tentative_execution);
  CHECK(ahead("kind = \"null\"").has_value());
}

TEST_CASE("Mistakes in a replica's configuration") {
  using Catch::Contains;
  // With the table, its keys are missing, too: that is one mistake.
  CHECK(config_mistakes(kReplica + "execute_when = \"prepared\"\n") ==
        "r:1:1: service: expected a table, [service], found nothing");
  CHECK_THAT(config_mistakes("[service]\nkind = \"null\"\n"),
             Contains("replica.id") && Contains("replica.group") && Contains("replica.key_file"));
  CHECK_THAT(config_mistakes(kReplica + "[service]\nkind = \"http\"\n"),
             Contains("service.origin"));
  CHECK_THAT(config_mistakes(kReplica + "metrics = 9090\n[service]\nkind = \"null\"\n"),
             Contains("r:5:11: replica.metrics: expected ADDRESS:PORT"));
  CHECK_THAT(config_mistakes(kReplica + "[service]\nkind = \"magic\"\n"),
             Contains("r:6:8: service.kind"));
  CHECK_THAT(config_mistakes(kReplica + "[service]\nkind = \"null\"\norigin = \"127.0.0.1:80\"\n"),
             Contains("r:7:1: service.origin: expected only where kind is \"http\""));
}

TEST_CASE("What the state of an origin is") {
  TemporaryFolder folder;
  const std::string http = kReplica + "[service]\nkind = \"http\"\norigin = \"127.0.0.1:80\"\n";
  const auto state_of = [&](const std::string& keys) {
    const auto config = parse_replica_config(http + keys, "r");
    REQUIRE(config.has_value());
    return config->service.state;
  };
  CHECK(state_of("").kind == StateKind::stateless);
  const std::string in_folder =
      "state = \"directory\"\nstate_folder = \"" + folder.path().string() + "\"\n";
  StateSettings state = state_of(in_folder);
  CHECK(state.kind == StateKind::directory);
  CHECK(state.folder.folder == folder.path());
  CHECK(state.folder.exclude.empty());
  CHECK(state.folder.bytes_max == std::uint64_t{4} << 30);
  state = state_of(in_folder +
                   "state_exclude = [\"*.lock\"]\nstate_times = [\"static/*\"]\n"
                   "state_bytes_max = \"1KiB\"\nstate_files_max = 7\n");
  CHECK(state.folder.exclude == std::vector<std::string>{"*.lock"});
  CHECK(state.folder.covered_times == std::vector<std::string>{"static/*"});
  CHECK(state.folder.bytes_max == 1024);
  CHECK(state.folder.files_max == 7);
  state = state_of(
      "state = \"command\"\nstate_dump = [\"/bin/sh\", \"-c\", \"x\"]\n"
      "state_load = [\"/bin/cat\"]\nstate_timeout = \"5s\"\n");
  CHECK(state.kind == StateKind::command);
  CHECK(state.command.dump == std::vector<std::string>{"/bin/sh", "-c", "x"});
  CHECK(state.command.load == std::vector<std::string>{"/bin/cat"});
  CHECK(state.command.timeout == seconds(5));
}

TEST_CASE("The state of an origin lies apart from the replica's own files") {
  using Catch::Contains;
  TemporaryFolder folder;
  const std::string place = folder.path().string();
  std::filesystem::create_directories(folder.path() / "site");
  std::filesystem::create_directory_symlink(folder.path() / "site", folder.path() / "link");
  const auto said = [&](const std::string& state, const std::string& replica,
                        const std::string& storage) {
    const std::string text = "[replica]\nid = 0\n" + replica +
                             "[service]\nkind = \"http\"\norigin = \"127.0.0.1:80\"\n"
                             "state = \"directory\"\nstate_folder = \"" +
                             state + "\"\n" + storage;
    const auto config = parse_replica_config(text, "r");
    return config ? std::string() : config.error().message;
  };
  const auto files = [&](const std::string& group, const std::string& key) {
    return "group = \"" + group + "\"\nkey_file = \"" + key + "\"\n";
  };
  const std::string apart = files(place + "/group.toml", place + "/key");
  CHECK(said(place + "/site", apart, "[storage]\nfolder = \"" + place + "/store\"\n").empty());
  CHECK_THAT(said("/", apart, ""), Contains("not /"));
  CHECK_THAT(said(place, files("/g", place + "/key"), ""), Contains("key file, " + place + "/key"));
  CHECK_THAT(said(place, files(place + "/below/g", "/k"), ""), Contains("group file"));
  CHECK_THAT(said(place + "/site", apart, "[storage]\nfolder = \"" + place + "/link/store\"\n"),
             Contains("this replica's storage"));
  CHECK_THAT(said(place + "/site", apart, "[storage]\nfolder = \"" + place + "\"\n"),
             Contains("outside of this replica's storage"));
  CHECK_THAT(said(place, files("/g", "/k") + "admin = \"" + place + "/admin\"\n", ""),
             Contains("admin socket"));
  for (const std::string inside : {"ca", "certificate", "key"}) {
    std::string tls = "[service.tls]\nserver_name = \"o\"\n";
    for (const std::string file : {"ca", "certificate", "key"})
      tls.append(file)
          .append(" = \"")
          .append(file == inside ? place : "")
          .append("/")
          .append(file)
          .append("\"\n");
    CHECK_THAT(said(place, files("/g", "/k"), tls),
               Contains(std::string(place).append("/").append(inside)));
  }
  // A client that may write there could give the agent another configuration.
  const std::filesystem::path own = folder.path() / "replica.toml";
  std::ofstream(own) << "[replica]\nid = 0\n"
                     << files("/g", "/k")
                     << "[service]\nkind = \"http\"\norigin = \"127.0.0.1:80\"\n"
                     << "state = \"directory\"\nstate_folder = \"" << place << "\"\n";
  const auto config = load_replica_config(own);
  REQUIRE_FALSE(config.has_value());
  CHECK_THAT(config.error().message, Contains("configuration, " + own.string()));
}

TEST_CASE("Mistakes about the state of an origin") {
  using Catch::Contains;
  const auto mistakes = [](const std::string& keys) {
    return config_mistakes(kReplica + "[service]\nkind = \"http\"\norigin = \"127.0.0.1:80\"\n" +
                           keys);
  };
  CHECK_THAT(mistakes("state = \"magic\"\n"), Contains("r:8:9: service.state: expected one of"));
  CHECK_THAT(mistakes("state = \"directory\"\n"),
             Contains("service.state_folder: expected a path, found nothing"));
  CHECK_THAT(
      mistakes("state = \"directory\"\nstate_folder = \"/nowhere/at/all\"\n"),
      Contains("r:9:16: service.state_folder: expected a folder, found \"/nowhere/at/all\""));
  CHECK_THAT(mistakes("state = \"directory\"\nstate_folder = \"/\"\nstate_exclude = [\"/a\"]\n"),
             Contains("service.state_exclude"));
  CHECK_THAT(mistakes("state_folder = \"/\"\n"),
             Contains("state_folder: expected only where kind is \"http\""));
  CHECK_THAT(mistakes("state = \"command\"\n"),
             Contains("service.state_dump") && Contains("service.state_load"));
  CHECK_THAT(mistakes("state = \"command\"\nstate_dump = [\"cat\"]\nstate_load = []\n"),
             Contains("r:9:14: service.state_dump: expected a list") &&
                 Contains("r:10:14: service.state_load: expected a list"));
  CHECK_THAT(mistakes("state = \"command\"\nstate_dump = [\"/etc/passwd\"]\n"),
             Contains("expected a program that this user may run, found \"/etc/passwd\""));
}

TEST_CASE("An identity needs a place in the group, and the key that belongs to it") {
  TemporaryFolder folder;
  tools::KeygenRequest request{folder.path() / "g", 1, {}, 1};
  for (std::uint16_t port = 1; port <= 4; ++port) {
    request.replica_addresses.push_back({"127.0.0.1", port});
  }
  REQUIRE(tools::generate_group(request).has_value());
  const auto identity_with = [&](unsigned id, const std::string& key) {
    const auto path = folder.path() / "g" / "replica.toml";
    std::ofstream(path) << "[replica]\nid = " << id << "\ngroup = \"group.toml\"\nkey_file = \""
                        << key << "\"\n[service]\nkind = \"null\"\n";
    return load_replica_identity(path);
  };
  CHECK(identity_with(2, "replica-2.key").has_value());
  CHECK_THAT(identity_with(4, "replica-2.key").error().message,
             Catch::Contains("expected one of the 4 replicas"));
  CHECK_THAT(identity_with(1, "replica-2.key").error().message, Catch::Contains("replica-2.key"));
  CHECK_THAT(identity_with(1, "nothing.key").error().message,
             Catch::Contains("nothing.key: No such file"));
  std::filesystem::permissions(folder.path() / "g" / "replica-2.key", std::filesystem::perms{0640});
  CHECK_THAT(identity_with(2, "replica-2.key").error().message,
             Catch::Contains("a secret that others may read"));
}

TEST_CASE("A group of any size has a window for which its view-change messages are small enough") {
  TemporaryFolder folder;
  const auto settings_for = [&](std::uint32_t faults) {
    const auto place = folder.path() / std::to_string(faults);
    tools::KeygenRequest request{place, faults, {}, 1};
    for (std::uint16_t port = 1; port <= 3 * faults + 1; ++port)
      request.replica_addresses.push_back({"127.0.0.1", port});
    REQUIRE(tools::generate_group(request).has_value());
    std::ofstream(place / "replica.toml") << kReplica << "[service]\nkind = \"null\"\n";
    const auto identity = load_replica_identity(place / "replica.toml");
    REQUIRE(identity.has_value());
    return identity->config.core;
  };
  for (const std::uint32_t faults : {1U, 2U, 3U, 4U, 21U}) {
    CAPTURE(faults);
    const ReplicaSettings settings = settings_for(faults);
    CHECK(check(settings).has_value());
    CHECK(settings.window == (faults < 4 ? 8192 : faults == 4 ? 4096 : 1024));
    CHECK(settings.window + settings.retained_batches + 1 == 16384);
  }
}
