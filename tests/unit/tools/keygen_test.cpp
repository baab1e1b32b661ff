#include "tools/keys/keygen.hpp"

#include <fstream>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "pbft/group/group_file.hpp"
#include "sketch/secret_file.hpp"
#include "support/temporary_folder.hpp"

using namespace prophecy;
using namespace prophecy::test;
using prophecy::tools::generate_group;
using prophecy::tools::KeygenRequest;

namespace {

KeygenRequest request_for(const std::filesystem::path& folder) {
  KeygenRequest request{folder, 1, {}, 2};
  for (std::uint16_t port = 7100; port < 7104; ++port) {
    request.replica_addresses.push_back({"127.0.0.1", port});
  }
  return request;
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("A new group's files fit together, and secrets are secret") {
  TemporaryFolder folder;
  const auto directory = folder.path() / "new";
  const auto files = generate_group(request_for(directory));
  REQUIRE(files.has_value());
  CHECK(files->size() == 4 + 2 + 2);
  CHECK(files_in(directory) == files->size());
  const auto group = pbft::load_group_file(directory / "group.toml");
  REQUIRE(group.has_value());
  CHECK(group->addresses()[3] == Endpoint{"127.0.0.1", 7103});
  for (const NodeId member : {0u, 1u, 2u, 3u, 1024u, 1025u}) {
    const auto file =
        directory / ((member < 4 ? "replica-" : "client-") + std::to_string(member) + ".key");
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    const auto keys = pbft::load_key_ring(*group, member, file);
    REQUIRE(keys.has_value());
    // The signing keys too are those that the group lists.
    const auto digest = sha256(as_bytes("x"));
    CHECK(keys->verify_signature(member, digest, keys->sign(digest)));
  }
  const auto wrong = pbft::load_key_ring(*group, 1, directory / "replica-0.key");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().kind == ErrorKind::unauthenticated);
  CHECK_THAT(wrong.error().message, Catch::Contains("replica-0.key"));

  // What was written before there were signing keys.
  const auto old = directory / "client-1024.key";
  std::filesystem::resize_file(old, std::string_view("x25519-private:\n").size() + 64);
  const auto incomplete = pbft::load_key_ring(*group, 1024, old);
  REQUIRE_FALSE(incomplete.has_value());
  CHECK_THAT(incomplete.error().message, Catch::Contains("client-1024.key: no signing key") &&
                                             Catch::Contains("make the group's keys anew"));

  const auto secret = sketch::load_sketch_secret(directory / "sketch.key");
  REQUIRE(secret.has_value());
  CHECK(*secret != sketch::Secret{});
  std::filesystem::permissions(directory / "sketch.key", std::filesystem::perms{0644});
  CHECK_FALSE(sketch::load_sketch_secret(directory / "sketch.key").has_value());
}

TEST_CASE("A group's links are encrypted where that was asked for") {
  TemporaryFolder folder;
  KeygenRequest request = request_for(folder.path() / "new");
  request.encrypted_links = GENERATE(true, false);
  REQUIRE(generate_group(request).has_value());
  const auto group = pbft::load_group_file(folder.path() / "new" / "group.toml");
  REQUIRE(group.has_value());
  CHECK(group->encrypted_links == request.encrypted_links);
  const auto file = folder.path() / "new" / "client-1024.key";
  const auto links = pbft::load_link_tls(*group, 1024, file);
  REQUIRE(links.has_value());
  CHECK((*links != nullptr) == request.encrypted_links);
  CHECK(pbft::load_link_tls(*group, 1024, folder.path() / "none").has_value() !=
        request.encrypted_links);
}

TEST_CASE("Nothing is overwritten, and after a failure nothing half-made is left") {
  TemporaryFolder folder;
  const std::string name = GENERATE(as<std::string>(), "group.toml", "replica-2.key", "sketch.key");
  std::ofstream(folder.path() / name) << "mine";
  const auto files = generate_group(request_for(folder.path()));
  REQUIRE_FALSE(files.has_value());
  CHECK_THAT(files.error().message, Catch::Contains(name + ": exists already"));
  CHECK(files_in(folder.path()) == 1);
  CHECK(std::filesystem::file_size(folder.path() / name) == 4);
}

TEST_CASE("A request that makes no group makes no file") {
  TemporaryFolder folder;
  KeygenRequest too_few = request_for(folder.path() / "new");
  too_few.replica_addresses.pop_back();
  CHECK_THAT(generate_group(too_few).error().message, Catch::Contains("expected 4"));
  KeygenRequest twice = request_for(folder.path() / "new");
  twice.replica_addresses[1] = twice.replica_addresses[0];
  CHECK_FALSE(generate_group(twice).has_value());
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("A secret file that is none is refused by name") {
  TemporaryFolder folder;
  const auto path = folder.path() / "sketch.key";
  const std::string text =
      GENERATE(as<std::string>(), "", "sketch-secret:", "sketch-secret:00", "x25519-private:00");
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms{0600});
  const auto secret = sketch::load_sketch_secret(path);
  REQUIRE_FALSE(secret.has_value());
  CHECK_THAT(secret.error().message, Catch::Contains(path.string()));
}
