#include "base/encrypted_gmac.hpp"

#include <catch2/catch.hpp>

namespace prophecy {
namespace {

EncryptedGmac make() {
  Bytes keys;
  for (std::uint8_t i = 0; i < 2 * EncryptedGmac::kKeySize; ++i)
    keys.push_back(i);
  const ByteView view(keys);
  return EncryptedGmac(view.first(EncryptedGmac::kKeySize), view.last(EncryptedGmac::kKeySize));
}

std::string digest(EncryptedGmac& gmac, std::string_view text) {
  gmac.start();
  gmac.update(as_bytes(text));
  return to_hex(gmac.finish());
}

}  // namespace

TEST_CASE("the digest is GMAC's tag under AES, as another library makes it") {
  EncryptedGmac gmac = make();
  CHECK(digest(gmac, "") == "89295279c44c3f79cae872a714e0f82666b9a724");
  CHECK(digest(gmac, "abc") == "3f5851dad687e1cca8e4bcc659fe9f76e3e3725f");
  CHECK(digest(gmac, std::string(1'000'000, 'a')) == "bf35c5057efbba3e4301e0ed40552654c1d1df28");
}

TEST_CASE(
    "pieces of any size make the digest of the whole, and nothing stays of a message before") {
  EncryptedGmac gmac = make();
  const std::string text(1000, 'x');
  const std::string whole = digest(gmac, text);
  for (std::size_t size = 1; size < 100; ++size) {
    gmac.start();
    gmac.update(as_bytes(std::string_view("left")));
    gmac.start();
    for (std::size_t from = 0; from < text.size(); from += size)
      gmac.update(as_bytes(std::string_view(text).substr(from, size)));
    CHECK(to_hex(gmac.finish()) == whole);
  }
}

TEST_CASE("each key, each byte and the length make a difference") {
  EncryptedGmac gmac = make();
  const std::string base = digest(gmac, std::string(100, '\0'));
  for (std::size_t at = 0; at < 100; ++at) {
    std::string other(100, '\0');
    other[at] = 1;
    CHECK(digest(gmac, other) != base);
  }
  // Zeros behind the end are what GMAC pads with.
  for (std::size_t size = 0; size < 130; ++size)
    CHECK((digest(gmac, std::string(size, '\0')) == base) == (size == 100));
  const Bytes zero(EncryptedGmac::kKeySize);
  const Bytes one(EncryptedGmac::kKeySize, 1);
  EncryptedGmac both(zero, zero);
  EncryptedGmac hash(one, zero);
  EncryptedGmac cipher(zero, one);
  CHECK(digest(both, "abc") != digest(hash, "abc"));
  CHECK(digest(both, "abc") != digest(cipher, "abc"));
}

}  // namespace prophecy
