#include "sketcher/settings.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace prophecy::sketcher {
namespace {

constexpr const char* kMinimal = R"(
[sketcher]
listen = ["127.0.0.1:0"]
admin = "a.sock"
[group]
file = "group.toml"
key_file = "client.key"
[sketch]
key_file = "sketch.key"
[[origin]]
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
  CHECK(settings->mode == Mode::prophecy);
  CHECK(settings->group.file == file.path().parent_path() / "group.toml");
  CHECK(settings->group.sessions == 64);
  CHECK(settings->limits.request.body_bytes_max == 16 << 20);
  CHECK(settings->timeouts.idle == seconds(60));
  CHECK(settings->fail_fast_reads == 0);
  CHECK_FALSE(settings->metrics.has_value());
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
          .find(":15: limits.connections_per_address_max: expected a whole number from 1 to 50") !=
      std::string::npos);
}

TEST_CASE("Every mistake is told with its line, and what was expected") {
  const std::string text = std::string(kMinimal) +
                           "[limits]\ntarget = \"8 potatoes\"\nheaders = \"1KiB\"\n"
                           "[timeouts]\nidle = 5\n[test]\nfail_fast_reads = 1.5\n";
  const std::string mistakes = mistakes_of(text);
  CHECK(mistakes.find(":14: limits.target: expected a size with its unit") != std::string::npos);
  CHECK(mistakes.find(":15: limits.headers: unknown key") != std::string::npos);
  CHECK(mistakes.find(":17: timeouts.idle: expected a time with its unit") != std::string::npos);
  CHECK(mistakes.find(":19: test.fail_fast_reads: expected a number from 0 to 1") !=
        std::string::npos);
}

TEST_CASE("What is missing is told as well") {
  const std::string mistakes = mistakes_of("[sketcher]\nmode = \"fast\"\n");
  CHECK(mistakes.find(":2: sketcher.mode: expected one of \"prophecy\", \"pbft\", \"pbft-ro\"") !=
        std::string::npos);
  CHECK(mistakes.find("sketcher.listen: expected a list of strings") != std::string::npos);
  CHECK(mistakes.find("group.file: missing; expected a string") != std::string::npos);
  CHECK(mistakes.find("origin: missing") != std::string::npos);
}

TEST_CASE("Origins are one for each replica") {
  CHECK(mistakes_of(std::string(kMinimal) + "[[origin]]\nreplica = 0\naddress = \"127.0.0.1:1\"\n")
            .find("no two for one") != std::string::npos);
  CHECK(mistakes_of(std::string(kMinimal) + "[[origin]]\nreplica = 1\naddress = \"127.0.0.1\"\n")
            .find("origin.address: expected ADDRESS:PORT") != std::string::npos);
}

TEST_CASE("No two origins have one address") {
  const auto with_second = [](const std::string& address) {
    return mistakes_of(std::string(kMinimal) + "[[origin]]\nreplica = 1\naddress = \"" + address +
                       "\"\n");
  };
  CHECK(with_second("127.0.0.1:8101").empty());
  CHECK(with_second("127.0.0.2:8100").empty());
  CHECK(with_second("127.0.0.1:8100")
            .find(":15: origin.address: expected an address of its own, got that of replica 0") !=
        std::string::npos);
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
    CHECK(mistakes.find(":13: origin.address: expected an origin's address") != std::string::npos);
  }
}

TEST_CASE("The example is a valid configuration") {
  // Tests run from the project's root, see meson.build.
  const auto settings = load_settings(std::filesystem::path("examples/sketcher.toml"));
  REQUIRE(settings.has_value());
  CHECK(settings->group.kind == GroupKind::pbft);
  CHECK(settings->origins.size() == 4);
}

TEST_CASE("The example of a group without agents is a valid configuration") {
  const auto settings = load_settings(std::filesystem::path("examples/sketcher-vote.toml"));
  REQUIRE(settings.has_value());
  CHECK(settings->group.kind == GroupKind::vote);
  CHECK(settings->group.faults == 1);
  CHECK_FALSE(settings->group.takes_writes);
  CHECK(settings->origins.size() == 4);
}

}  // namespace prophecy::sketcher
