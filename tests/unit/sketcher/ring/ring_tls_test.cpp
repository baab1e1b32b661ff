#include "sketcher/installation/ring_tls.hpp"

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"
#include "tools/keys/ring_keygen.hpp"

namespace prophecy::sketcher {
namespace {

RingSettings settings_in(const std::filesystem::path& folder) {
  RingSettings settings;
  settings.name = "a";
  settings.ca = folder / "ring-ca.pem";
  settings.certificate = {.chain = folder / "ring-a.pem", .key = folder / "ring-a.key", .ocsp = {}};
  return settings;
}

}  // namespace

TEST_CASE("A reload shows whether the files of the ring's certificates have changed") {
  const test::TemporaryFolder folder;
  const auto directory = folder.path() / "keys";
  REQUIRE(tools::generate_ring_keys({directory, {"a"}}).has_value());
  const RingSettings settings = settings_in(directory);
  const auto tls = load_ring_tls(settings);
  REQUIRE(tls.has_value());
  const std::string first = *tls->files;
  CHECK_FALSE(first.empty());

  REQUIRE(tls->reload(settings).has_value());
  CHECK(*tls->files == first);

  // The key of another certificate: what was read before stays in use.
  for (const char* file : {"ring-a.pem", "ring-a.key"})
    std::filesystem::rename(directory / file, folder.path() / file);
  REQUIRE(tools::generate_ring_keys({directory, {"a"}}).has_value());
  std::filesystem::rename(directory / "ring-a.key", folder.path() / "new.key");
  std::filesystem::rename(folder.path() / "ring-a.key", directory / "ring-a.key");
  CHECK_FALSE(tls->reload(settings).has_value());
  CHECK(*tls->files == first);

  std::filesystem::rename(folder.path() / "new.key", directory / "ring-a.key");
  REQUIRE(tls->reload(settings).has_value());
  CHECK(*tls->files != first);
}

}  // namespace prophecy::sketcher
