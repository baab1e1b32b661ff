#include "tools/keys/ring_keygen.hpp"

#include <catch2/catch.hpp>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "support/temporary_folder.hpp"
#include "transport/certificate.hpp"

using namespace prophecy;
using namespace prophecy::test;
using prophecy::tools::generate_ring_keys;

namespace {

transport::Certificate load(const std::filesystem::path& folder, const std::string& name) {
  auto loaded = transport::load_certificate(
      {.chain = folder / (name + ".pem"), .key = folder / (name + ".key"), .ocsp = {}});
  REQUIRE(loaded.has_value());
  return std::move(*loaded);
}

bool is_valid(const transport::Certificate& authority, const transport::Certificate& member,
              int purpose) {
  X509_STORE* const store = X509_STORE_new();
  X509_STORE_add_cert(store, &authority.leaf());
  X509_STORE_CTX* const context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, &member.leaf(), nullptr);
  X509_STORE_CTX_set_purpose(context, purpose);
  const bool valid = X509_verify_cert(context) == 1;
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return valid;
}

}  // namespace

TEST_CASE("Each member of a ring gets a certificate with its name, for both sides of TLS") {
  const TemporaryFolder folder;
  const auto directory = folder.path() / "keys";
  const auto files = generate_ring_keys({directory, {"a", "b.example_1"}});
  REQUIRE(files.has_value());
  CHECK(files->size() == 6);
  const auto authority = load(directory, "ring-ca");
  const auto a = load(directory, "ring-a");
  const auto b = load(directory, "ring-b.example_1");
  CHECK(a.names == std::vector<std::string>{"a"});
  CHECK(b.names == std::vector<std::string>{"b.example_1"});
  for (const auto* member : {&a, &b}) {
    CHECK(is_valid(authority, *member, X509_PURPOSE_SSL_CLIENT));
    CHECK(is_valid(authority, *member, X509_PURPOSE_SSL_SERVER));
    CHECK(X509_check_ca(&member->leaf()) == 0);
  }
  for (const char* name : {"ring-ca.key", "ring-a.key"}) {
    struct stat status {};
    REQUIRE(::stat((directory / name).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
}

TEST_CASE("A ring's authority signs for members that come later, and overwrites nothing") {
  const TemporaryFolder folder;
  REQUIRE(generate_ring_keys({folder.path(), {"a"}}).has_value());
  const auto later = generate_ring_keys({folder.path(), {"c"}});
  REQUIRE(later.has_value());
  CHECK(later->size() == 2);
  CHECK(is_valid(load(folder.path(), "ring-ca"), load(folder.path(), "ring-c"),
                 X509_PURPOSE_SSL_CLIENT));
  const auto again = generate_ring_keys({folder.path(), {"b", "a"}});
  REQUIRE_FALSE(again.has_value());
  CHECK_THAT(again.error().message, Catch::Contains("ring-a.pem: exists already"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "ring-b.pem"));
}

TEST_CASE("Names that are none, or not unlike each other, make no certificate") {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{""}, {"a/b"}, {"a", "A"}, {"ca"}, {"a,DNS:b"}}) {
    const auto made = generate_ring_keys({folder.path(), names});
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().kind == ErrorKind::invalid);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}
