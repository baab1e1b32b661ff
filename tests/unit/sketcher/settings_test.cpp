#include "sketcher/config/settings.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace prophecy::sketcher {
namespace {

constexpr const char* kMinimal = R"(
[sketcher]
admin = "a.sock"
[sketch]
key_file = "sketch.key"
[[listener]]
address = "127.0.0.1:0"
[[group]]
file = "group.toml"
key_file = "client.key"
[[group.origin]]
replica = 0
address = "127.0.0.1:8100"
)";

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("prophecy-settings-" + std::to_string(::getpid()) + ".toml")) {
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string mistakes_of(const std::string& content) {
  const TemporaryFile file(content);
  const auto settings = load_settings(file.path());
  return settings ? "" : settings.error().message;
}

}  // namespace

TEST_CASE("The smallest configuration takes the defaults") {
  const TemporaryFile file(kMinimal);
  const auto settings = load_settings(file.path());
  REQUIRE(settings.has_value());
  REQUIRE(settings->groups.size() == 1);
  CHECK(settings->groups[0].name == "default");
  CHECK(settings->groups[0].file == file.path().parent_path() / "group.toml");
  CHECK(settings->groups[0].sessions == 64);
  REQUIRE(settings->routes.size() == 1);
  CHECK(settings->routes[0].name == "default");
  CHECK(settings->routes[0].mode == RouteMode::enforce);
  CHECK(settings->routes[0].reads == Reads::delay_once);
  CHECK(settings->limits.request.body_bytes_max == 16 << 20);
  CHECK(settings->spool.from_bytes == 256 << 10);
  CHECK(settings->spool.bytes_max == std::uint64_t{4} << 30);
  CHECK(settings->timeouts.idle == seconds(60));
  CHECK(settings->fail_fast_reads == 0);
  CHECK_FALSE(settings->metrics.has_value());
}

TEST_CASE("The digest of sketches is chosen by name") {
  const std::string minimal = kMinimal;
  const std::size_t at = minimal.find("[[listener]]");
  const auto digest_of = [&](const std::string& line) {
    const TemporaryFile file(minimal.substr(0, at) + line + minimal.substr(at));
    const auto settings = load_settings(file.path());
    REQUIRE(settings.has_value());
    return settings->digest;
  };
  CHECK(digest_of("") == sketch::DigestKind::sha1);
  CHECK(digest_of("digest = \"gmac\"\n") == sketch::DigestKind::gmac);
  CHECK(digest_of("digest = \"sha1\"\n") == sketch::DigestKind::sha1);
  CHECK(digest_of("digest = \"sha256\"\n") == sketch::DigestKind::sha256);
}

TEST_CASE("An origin's header has the limit of a request's, unless it has one of its own") {
  const auto limits = [](const std::string& lines) {
    const TemporaryFile file(std::string(kMinimal) + "[limits]\n" + lines);
    const auto settings = load_settings(file.path());
    REQUIRE(settings.has_value());
    return settings->limits;
  };
  CHECK(limits("").answer.header_bytes_max == 32 << 10);
  CHECK(limits("header = \"8KiB\"\n").answer.header_bytes_max == 8 << 10);
  const auto apart = limits("header = \"8KiB\"\nanswer_header = \"64KiB\"\n");
  CHECK(apart.request.header_bytes_max == 8 << 10);
  CHECK(apart.answer.header_bytes_max == 64 << 10);
}

TEST_CASE("One address may have at most all connections, and does unless told otherwise") {
  const auto limit = [](const std::string& lines) {
    const TemporaryFile file(std::string(kMinimal) + "[limits]\n" + lines);
    const auto settings = load_settings(file.path());
    REQUIRE(settings.has_value());
    return settings->limits.connections_per_address_max;
  };
  CHECK(limit("") == 10'000);
  CHECK(limit("connections_max = 50\n") == 50);
  CHECK(limit("connections_max = 50\nconnections_per_address_max = 7\n") == 7);
  CHECK(
      mistakes_of(std::string(kMinimal) +
                  "[limits]\nconnections_max = 50\nconnections_per_address_max = 51\n")
          .find(
              ":16:31: limits.connections_per_address_max: expected a whole number from 1 to 50") !=
      std::string::npos);
}

TEST_CASE("Every mistake is told with its line, and what was expected") {
  const std::string text = std::string(kMinimal) +
                           "[limits]\ntarget = \"8 potatoes\"\nheaders = \"1KiB\"\n"
                           "[timeouts]\nidle = 5\n[test]\nfail_fast_reads = 1.5\n";
  const std::string mistakes = mistakes_of(text);
  CHECK(mistakes.find(":15:10: limits.target: expected a size with its unit") != std::string::npos);
  CHECK(mistakes.find(":16:1: limits.headers: unknown key; did you mean \"header\"?") !=
        std::string::npos);
  CHECK(mistakes.find(":18:8: timeouts.idle: expected a time with its unit") != std::string::npos);
  CHECK(mistakes.find(":20:19: test.fail_fast_reads: expected a number from 0 to 1") !=
        std::string::npos);
}

TEST_CASE("No two listeners have one address") {
  const auto with_listener = [](const std::string& first, const std::string& second) {
    std::string text = kMinimal;
    const std::string listener = "[[listener]]\naddress = \"";
    const std::size_t at = text.find(listener) + listener.size();
    text.replace(at, text.find('"', at) - at, first);
    return mistakes_of(text + listener + second + "\"\n");
  };
  CHECK(with_listener("[::1]:8080", "[0:0::1]:8080")
            .find(":15:11: listener.address: expected an address that no other") !=
        std::string::npos);
  CHECK(with_listener("127.0.0.1:8080", "127.0.0.1:8081").empty());
  CHECK(with_listener("127.0.0.1:0", "127.0.0.1:0").empty());  // two free ports
}

TEST_CASE("What is missing is told as well") {
  const std::string mistakes = mistakes_of("[[group]]\n[[route]]\nmode = \"fast\"\n");
  CHECK(mistakes.find(":3:8: route.mode: expected one of \"enforce\", \"observe\", \"off\"") !=
        std::string::npos);
  CHECK(mistakes.find("listener: expected at least one") != std::string::npos);
  CHECK(mistakes.find("group.file: expected a path, found nothing") != std::string::npos);
  CHECK(mistakes.find(
            "group.origin: expected one [[group.origin]] for each replica, found nothing") !=
        std::string::npos);
  CHECK(mistakes_of("").find("group: expected at least one") != std::string::npos);
}

TEST_CASE("Origins are one for each replica") {
  CHECK(mistakes_of(std::string(kMinimal) +
                    "[[group.origin]]\nreplica = 0\naddress = \"127.0.0.1:1\"\n")
            .find("replica: expected a number that no other [[group.origin]] has, found 0") !=
        std::string::npos);
  CHECK(mistakes_of(std::string(kMinimal) +
                    "[[group.origin]]\nreplica = 1\naddress = \"127.0.0.1\"\n")
            .find("group.origin.address: expected ADDRESS:PORT") != std::string::npos);
}

TEST_CASE("No two origins have one address") {
  const auto with_second = [](const std::string& address) {
    return mistakes_of(std::string(kMinimal) + "[[group.origin]]\nreplica = 1\naddress = \"" +
                       address + "\"\n");
  };
  CHECK(with_second("127.0.0.1:8101").empty());
  CHECK(with_second("127.0.0.2:8100").empty());
  CHECK(with_second("127.0.0.1:8100")
            .find(":16:11: group.origin.address: expected an address of its own, found that of "
                  "replica 0") != std::string::npos);
}

TEST_CASE("An origin is not where the sketcher itself listens") {
  struct Case {
    const char* listen;
    const char* origin;
    bool accepted;
  };
  for (const Case& c :
       {Case{"127.0.0.1:8000", "127.0.0.1:8000", false},
        Case{"127.0.0.1:8000", "127.0.0.1:8001", true},
        Case{"127.0.0.1:8000", "127.0.0.2:8000", true},
        Case{"127.0.0.1:8000", "0.0.0.0:8000", false},
        Case{"0.0.0.0:8000", "127.0.0.1:8000", false}, Case{"0.0.0.0:8000", "192.0.2.1:8000", true},
        Case{"[::]:8000", "[0::1]:8000", false}, Case{"[::]:8000", "127.0.0.1:8000", true},
        Case{"127.0.0.1:0", "127.0.0.1:8000", true},
        Case{"127.0.0.1:9000", "127.0.0.1:9100", false}}) {
    INFO(c.listen << " and " << c.origin);
    std::string text = kMinimal;
    text.replace(text.find("127.0.0.1:0"), 11, c.listen);
    text.replace(text.find("127.0.0.1:8100"), 14, c.origin);
    text.replace(text.find("admin"), 0, "metrics = \"127.0.0.1:9100\"\n");
    const std::string mistakes = mistakes_of(text);
    CHECK(mistakes.empty() == c.accepted);
    if (c.accepted) continue;
    CHECK(mistakes.find(":14:11: group.origin.address: expected an origin's address") !=
          std::string::npos);
  }
}

TEST_CASE("The example is a valid configuration") {
  // Tests run from the project's root, see meson.build.
  const auto settings = load_settings(std::filesystem::path("examples/sketcher.toml"));
  REQUIRE(settings.has_value());
  REQUIRE(settings->groups.size() == 1);
  CHECK(settings->groups[0].kind == GroupKind::pbft);
  CHECK(settings->groups[0].origins.size() == 4);
}

TEST_CASE("The example of a group without agents is a valid configuration") {
  const auto settings = load_settings(std::filesystem::path("examples/sketcher-vote.toml"));
  REQUIRE(settings.has_value());
  REQUIRE(settings->groups.size() == 1);
  CHECK(settings->groups[0].kind == GroupKind::vote);
  CHECK(settings->groups[0].faults == 1);
  CHECK_FALSE(settings->groups[0].takes_writes);
  CHECK(settings->groups[0].origins.size() == 4);
}

namespace {

constexpr const char* kTwoGroups = R"(
[sketcher]
admin = "a.sock"
[sketch]
key_file = "sketch.key"
[[listener]]
address = "127.0.0.1:0"
[[group]]
name = "ordered"
file = "group.toml"
key_file = "client.key"
[[group.origin]]
replica = 0
address = "127.0.0.1:8100"
[[group]]
name = "static"
kind = "vote"
[[group.origin]]
replica = 0
address = "127.0.0.1:8200"
[[group.origin]]
replica = 1
address = "127.0.0.1:8201"
[[group.origin]]
replica = 2
address = "127.0.0.1:8100"
)";

}  // namespace

TEST_CASE("Routes lead to groups by their names") {
  const TemporaryFile file(
      std::string(kTwoGroups) +
      "[[route]]\nname = \"a\"\ngroup = \"ordered\"\nreads = \"read-only\"\n"
      "[[route]]\nname = \"b\"\ngroup = \"static\"\nmode = \"observe\"\n"
      "hosts = [\"WWW.example.org\", \"*.example.net\"]\npath_prefix = \"/b\"\n");
  const auto settings = load_settings(file.path());
  REQUIRE(settings.has_value());
  REQUIRE(settings->routes.size() == 2);
  CHECK(settings->routes[0].group == 0);
  CHECK(settings->routes[1].group == 1);
  CHECK(settings->routes[1].mode == RouteMode::observe);
  CHECK(settings->routes[1].pattern.hosts ==
        std::vector<std::string>{"www.example.org", "*.example.net"});
  CHECK(settings->groups[0].linearizable_reads);
  CHECK_FALSE(settings->groups[1].linearizable_reads);
  CHECK(settings->groups[1].first_origin == 1);  // and an origin may serve in two groups
}

TEST_CASE("Routes list paths, and blacklist automatically unless told otherwise") {
  const TemporaryFile file(std::string(kTwoGroups) +
                           "[[route]]\nname = \"a\"\ngroup = \"static\"\n"
                           "whitelist = [\"/css\"]\nblacklist = [\"/live\", \"/css/live\"]\n"
                           "[[route]]\nname = \"b\"\ngroup = \"static\"\npath_prefix = \"/b\"\n"
                           "automatic_blacklist_from = 0.9\n"
                           "[[route]]\nname = \"c\"\ngroup = \"static\"\npath_prefix = \"/c\"\n"
                           "automatic_blacklist = false\n");
  const auto settings = load_settings(file.path());
  REQUIRE(settings.has_value());
  CHECK(settings->routes[0].pattern.whitelist == std::vector<std::string>{"/css"});
  CHECK(settings->routes[0].pattern.blacklist == std::vector<std::string>{"/live", "/css/live"});
  CHECK(settings->routes[0].volatility.from == Approx(2.0 / 3));  // three origins
  CHECK(settings->routes[1].volatility.from == Approx(0.9));
  CHECK(settings->routes[2].volatility.from > 1);
  const auto warnings = warnings_about(settings->routes, settings->groups);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].event == "unverified-by-configuration");
  CHECK(warnings[0].text == "route \"a\": one origin's answers are not verified under /css");
  CHECK(warnings[1].event == "unordered-by-configuration");
  CHECK(warnings[1].text ==
        "route \"a\": votes have no order: reads are not linearizable while content changes at one "
        "origin after the other, under /live /css/live");
}

TEST_CASE("What is asked of a group without an order is not linearizable, and a warning says so") {
  const auto warnings_with = [](const std::string& route) {
    const TemporaryFile file(std::string(kTwoGroups) + route);
    const auto settings = load_settings(file.path());
    REQUIRE(settings.has_value());
    std::vector<std::string> texts;
    for (const RouteWarning& warning : warnings_about(settings->routes, settings->groups))
      texts.push_back(warning.text);
    return texts;
  };
  const auto replicated = warnings_with(
      "[[route]]\nname = \"a\"\ngroup = \"static\"\npath_prefix = \"/a\"\n"
      "reads = \"replicated\"\nblacklist = [\"/a/live\"]\n");
  REQUIRE(replicated.size() == 1);
  CHECK(replicated[0].ends_with(" under /a"));
  CHECK(warnings_with("[[route]]\nname = \"a\"\ngroup = \"static\"\n").empty());
  CHECK(warnings_with("[[route]]\nname = \"a\"\ngroup = \"ordered\"\nreads = \"replicated\"\n"
                      "blacklist = [\"/live\"]\n")
            .empty());
}

TEST_CASE("Mistakes in routes and groups") {
  struct Case {
    const char* lines;
    const char* mistake;
  };
  const std::string route = "[[route]]\nname = \"a\"\ngroup = \"static\"\n";
  for (const Case& c : {
           Case{"", "route: expected one [[route]] for each group, found nothing"},
           Case{"[[route]]\nname = \"a\"\n",
                "route.group: expected a string in quotes, found nothing"},
           Case{"[[route]]\ngroup = \"static\"\n[[route]]\ngroup = \"static\"\n",
                "route.name: expected a string in quotes, found nothing"},
           Case{"[[route]]\nname = \"A b\"\ngroup = \"static\"\n", "route.name: expected 1 to 64"},
           Case{"[[route]]\ngroup = \"absent\"\n", "route.group: expected the name of a [[group]]"},
           Case{"[[route]]\ngroup = \"static\"\nhosts = [\"\"]\n", "route.hosts: expected names"},
           Case{"[[route]]\ngroup = \"static\"\npath_prefix = \"a\"\n",
                "route.path_prefix: expected a path"},
           Case{"[[route]]\ngroup = \"static\"\nreads = \"read-only\"\n",
                "route.reads: expected \"delay-once\" or \"replicated\" with a group of kind vote"},
           Case{"[[route]]\ngroup = \"static\"\nwhitelist = [\"/a?b\"]\n",
                "route.whitelist: expected paths in the route's path_prefix"},
           Case{"[[route]]\ngroup = \"static\"\npath_prefix = \"/a\"\nblacklist = [\"/ab\"]\n",
                "route.blacklist: expected paths in the route's path_prefix"},
           Case{"[[route]]\ngroup = \"static\"\nblacklist = [\"/a\", \"/b\", \"/a\"]\n",
                "route.blacklist: expected each path once"},
           Case{"[[route]]\ngroup = \"static\"\nblacklist = [\"/a\"]\nwhitelist = [\"/a\"]\n",
                "route.blacklist: expected no path of the whitelist"},
           Case{"[[route]]\nname = \"a\"\ngroup = \"static\"\nwhitelist = [\"/b/c\"]\n"
                "[[route]]\nname = \"b\"\ngroup = \"static\"\npath_prefix = \"/b\"\n",
                "route.whitelist: expected no path that route \"b\" takes, found \"/b/c\""},
           Case{"[[route]]\ngroup = \"static\"\ndropped_request_headers = [\"cookie\", \"host\"]\n",
                "route.dropped_request_headers: expected fields that a request can do without, "
                "found \"host\", which is handled by the sketcher"},
           Case{"[[route]]\ngroup = \"static\"\ndropped_request_headers = [\"a b\"]\n",
                "route.dropped_request_headers: expected names of header fields"},
           Case{"[[route]]\ngroup = \"static\"\nset_answer_headers = [\"a\"]\n",
                "route.set_answer_headers: expected fields such as"},
           Case{"[[route]]\ngroup = \"static\"\nset_answer_headers = [\"ETag: x\"]\n",
                "found \"etag\", which the sketcher writes itself"},
           Case{"[[route]]\ngroup = \"static\"\nadded_answer_headers = [\"Set-Cookie: a=b\"]\n",
                "route.added_answer_headers: expected fields that rules may change, found "
                "\"set-cookie\", which is for one client"},
           Case{"[[route]]\ngroup = \"static\"\n[route.compression]\ncodings = []\n",
                "route.compression.codings: expected one coding at least"},
           Case{"[[route]]\ngroup = \"static\"\n[route.compression]\ntypes = []\n",
                "route.compression.types: expected one media type at least"},
           Case{"[[route]]\ngroup = \"static\"\n[route.compression]\nto = \"2MiB\"\n",
                "route.compression.to: expected"},
           Case{"[[route]]\ngroup = \"static\"\n[route.clients]\n",
                "route.clients.requests_per_second: expected a bound"},
           Case{"[[route]]\ngroup = \"static\"\n[route.clients]\nunlimited = [\"::1\"]\n",
                "route.clients.requests_per_second: expected a bound"},
           Case{"[[route]]\ngroup = \"static\"\n[route.clients]\nburst = 5\n"
                "requests_in_flight = 1\n",
                "route.clients.burst: expected requests_per_second beside it"},
           Case{"[[route]]\ngroup = \"static\"\nset_answer_headers = [\"Last-Modified: x\"]\n",
                "found \"last-modified\", which conditions of requests are compared with"},
           Case{"[[route]]\ngroup = \"static\"\nadded_answer_headers = [\"Accept-Ranges: none\"]\n",
                "found \"accept-ranges\", which the sketcher writes itself"},
           Case{"[[route]]\ngroup = \"static\"\nadded_answer_headers = [\"Content-Type: a/b\"]\n",
                "found \"content-type\", which has one value"},
           Case{"[[route]]\ngroup = \"static\"\ndropped_answer_headers = [\"content-encoding\"]\n",
                "which says how the body is coded"},
           Case{"[[route]]\ngroup = \"static\"\nset_request_headers = [\"x: 1\", \"X: 2\"]\n",
                "route.set_request_headers: expected each field once"},
           Case{"[[route]]\ngroup = \"static\"\npath_prefix = \"/a\"\n"
                "rewritten_prefix = \"/a/../b\"\n",
                "route.rewritten_prefix: expected a path from / on"},
           Case{"[[route]]\ngroup = \"static\"\nrewritten_prefix = \"/\"\n",
                "route.rewritten_prefix: expected another path than path_prefix"},
           Case{"[[route]]\ngroup = \"static\"\n[route.redirect]\nstatus = 304\n",
                "route.redirect.status: expected 301, 302, 303, 307 or 308"},
           Case{"[[route]]\ngroup = \"static\"\n[route.redirect]\n",
                "route.redirect.scheme: expected scheme, host or path_prefix"},
           Case{"[[route]]\ngroup = \"static\"\n[route.redirect]\nhost = \"a b\"\n",
                "route.redirect.host: expected a name"},
           Case{"[[route]]\ngroup = \"static\"\npath_prefix = \"/a\"\n[route.redirect]\n"
                "path_prefix = \"/a/b\"\n",
                "route.redirect: expected redirects that end, not http://"},
           Case{"[[route]]\ngroup = \"static\"\n[[route.error_page]]\nstatus = 503\n"
                "file = \"absent.html\"\n",
                "route.error_page.file: "},
           Case{"[[route]]\ngroup = \"static\"\nautomatic_blacklist_from = 0.05\n",
                "route.automatic_blacklist_from: expected a share from 0.1 to 1.0"},
       }) {
    INFO(c.lines);
    CHECK(mistakes_of(std::string(kTwoGroups) + c.lines).find(c.mistake) != std::string::npos);
  }
  CHECK(mistakes_of(std::string(kTwoGroups) + route + route).find("a name of its own") !=
        std::string::npos);
  CHECK(
      mistakes_of(std::string(kTwoGroups) + route + "[[route]]\nname = \"b\"\ngroup = \"static\"\n")
          .find("expected a host or a path that route \"a\" does not have as well") !=
      std::string::npos);
  // Without the hosts of the one, nobody knows whether the other has them as well.
  for (const char* hosts : {"hosts = \"a.example\"\n", "hosts = [1]\n"}) {
    INFO(hosts);
    const std::string mistakes = mistakes_of(std::string(kTwoGroups) + route + hosts +
                                             "[[route]]\nname = \"b\"\ngroup = \"static\"\n");
    CHECK_THAT(mistakes, Catch::Contains("route.hosts: expected"));
    CHECK(mistakes.find('\n') == std::string::npos);
  }
}

TEST_CASE("One table in place of a list is read, and is one mistake beside those in it") {
  std::string text = kMinimal;
  for (const char* name : {"listener", "group"}) {
    const std::string list = "[[" + std::string(name) + "]]";
    text.replace(text.find(list), list.size(), "[" + std::string(name) + "]");
  }
  CHECK_THAT(mistakes_of(text + "[group.health]\nris = 1\n"),
             Catch::Contains(":6:1: listener: expected tables, [[listener]], found a table\n") &&
                 Catch::Contains(":8:1: group: expected tables, [[group]], found a table\n") &&
                 Catch::EndsWith(":15:1: group.health.ris: unknown key; did you mean \"rise\"?"));
}

TEST_CASE("Shadows of groups") {
  const TemporaryFile file(std::string(kMinimal) + R"(
[[group.shadow]]
address = "127.0.0.1:8110"
[[group.shadow]]
address = "127.0.0.1:8111"
share = 1.0
connections_max = 1
queue_max = 0
body = "2KiB"
timeout = "100ms"
tls = { ca = "ca.pem", server_name = "new.example" }
)");
  const auto settings = load_settings(file.path());
  REQUIRE(settings.has_value());
  const GroupSettings& group = settings->groups[0];
  CHECK(group.origins.size() == 1);
  REQUIRE(group.shadows.size() == 2);
  const ShadowSettings& usual = group.shadows[0];
  CHECK(usual.origin.replica == 0);
  CHECK(usual.origin.address == Endpoint{"127.0.0.1", 8110});
  CHECK_FALSE(usual.origin.tls);
  CHECK(usual.share == 0.1);
  CHECK(usual.connections_max == 4);
  CHECK(usual.queue_max == 16);
  CHECK(usual.body_bytes_max == 1 << 20);
  CHECK(usual.timeout == seconds(5));
  const ShadowSettings& other = group.shadows[1];
  CHECK(other.origin.replica == 1);
  REQUIRE(other.origin.tls);
  CHECK(other.origin.tls->server_name == "new.example");
  CHECK(other.share == 1);
  CHECK(other.connections_max == 1);
  CHECK(other.queue_max == 0);
  CHECK(other.body_bytes_max == 2048);
  CHECK(other.timeout == milliseconds(100));
}

TEST_CASE("Mistakes about shadows") {
  const auto mistakes = [](const std::string& lines) {
    return mistakes_of(std::string(kMinimal) + "\n[[group.shadow]]\n" + lines);
  };
  CHECK(mistakes("").find("group.shadow.address: expected") != std::string::npos);
  // It would be compared with itself.
  CHECK(mistakes("address = \"127.0.0.1:8100\"\n").find("that of replica 0") != std::string::npos);
  const std::string address = "address = \"127.0.0.1:8110\"\n";
  CHECK(mistakes(address).empty());
  CHECK(mistakes(address + "share = 1.5\n").find("group.shadow.share") != std::string::npos);
  CHECK(mistakes(address + "replica = 4\n").find("group.shadow.replica") != std::string::npos);
  std::string many = address;
  for (std::size_t i = 0; i < kShadowsMax; ++i)
    many += "[[group.shadow]]\n" + address;
  CHECK(mistakes(many).find("group.shadow: expected at most 8") != std::string::npos);
}

TEST_CASE(
    "a client of IPv6 is a /64, and asks the group 50 times a second, unless told otherwise") {
  const auto settings_of = [](const std::string& more) {
    const TemporaryFile file(std::string(kMinimal) + more);
    auto settings = load_settings(file.path());
    REQUIRE(settings.has_value());
    return std::move(*settings);
  };
  CHECK(settings_of("").limits.ipv6_prefix_bits == 64);
  CHECK(settings_of("[limits]\nipv6_prefix = 56\n").limits.ipv6_prefix_bits == 56);
  for (const std::string wrong : {"47", "129"}) {
    CHECK_THAT(mistakes_of(std::string(kMinimal) + "[limits]\nipv6_prefix = " + wrong + "\n"),
               Catch::Contains("limits.ipv6_prefix: expected a whole number from 48 to 128"));
  }
  CHECK(settings_of("").routes[0].slow_path.per_client_second == 50);
  CHECK(settings_of("[[route]]\n").routes[0].slow_path.per_client_second == 50);
  const Settings off = settings_of("[[route]]\nslow_path_per_client_second = 0\n");
  CHECK_FALSE(off.routes[0].slow_path.any());
}

TEST_CASE("a route names the protocols of its tunnels, and none that carries requests") {
  const std::string route = std::string(kMinimal) + "[[route]]\n";
  const auto upgrades_of = [](const std::string& content) {
    const TemporaryFile file(content);
    const auto settings = load_settings(file.path());
    REQUIRE(settings.has_value());
    return settings->routes[0].upgrades;
  };
  CHECK(upgrades_of(kMinimal) == std::vector<std::string>{"websocket"});
  CHECK(upgrades_of(route) == std::vector<std::string>{"websocket"});
  CHECK(upgrades_of(route + "upgrades = []\n").empty());
  CHECK(upgrades_of(route + "upgrades = [\"chat/2\", \"echo\"]\n") ==
        std::vector<std::string>{"chat/2", "echo"});
  const auto mistakes_in = [&](const std::string& protocol) {
    std::string content = route;
    content.append("upgrades = [\"echo\", \"").append(protocol).append("\"]\n");
    return mistakes_of(content);
  };
  for (const std::string protocol : {"h2c", "HTTP/2.0", "TLS/1.0", "HTTP2-Settings"}) {
    std::string expected = "route.upgrades: expected no \"";
    expected.append(protocol).append("\": requests inside it would reach any path of an origin");
    CHECK_THAT(mistakes_in(protocol), Catch::Contains(expected));
  }
  for (const std::string protocol : {"", "a b", "echo/", "a,b"})
    CHECK_THAT(mistakes_in(protocol),
               Catch::Contains("route.upgrades: expected names of protocols"));
  std::string many = "upgrades = [";
  for (int i = 0; i < 17; ++i)
    many += "\"p" + std::to_string(i) + "\", ";
  CHECK_THAT(mistakes_of(route + many + "]\n"), Catch::Contains("expected at most 16 protocols"));
}

}  // namespace prophecy::sketcher
