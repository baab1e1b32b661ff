#include "base/encrypted_gmac.hpp"

#include <algorithm>

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

TEST_CASE("the digest is GMAC's tag under AES, as the Python library cryptography makes it") {
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

TEST_CASE("the tag is the one that OpenSSL's own GCM makes") {
  Bytes keys;
  for (std::uint8_t i = 0; i < 2 * EncryptedGmac::kKeySize; ++i)
    keys.push_back(i);
  const std::uint8_t nonce[12] = {};
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  EncryptedGmac gmac = make();
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string text(size, static_cast<char>(size));
    std::array<std::uint8_t, 32> blocks{};
    int taken = 0;
    REQUIRE(EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nullptr, keys.data(), nonce) == 1);
    REQUIRE(EVP_EncryptUpdate(context, nullptr, &taken, as_bytes(text).data(),
                              static_cast<int>(size)) == 1);
    REQUIRE(EVP_EncryptFinal_ex(context, blocks.data(), &taken) == 1);
    REQUIRE(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, blocks.data()) == 1);
    std::copy_n(blocks.begin(), 16, blocks.begin() + 16);
    blocks.back() ^= 1;
    REQUIRE(EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nullptr, keys.data() + 32, nullptr) ==
            1);
    REQUIRE(EVP_CIPHER_CTX_set_padding(context, 0) == 1);
    REQUIRE(EVP_EncryptUpdate(context, blocks.data(), &taken, blocks.data(), 32) == 1);
    CHECK(digest(gmac, text) == to_hex(ByteView(blocks).first(20)));
  }
  EVP_CIPHER_CTX_free(context);
}

TEST_CASE("one that has been moved goes on, in the midst of a message too") {
  EncryptedGmac first = make();
  first.start();
  first.update(as_bytes("ab"));
  first.update({});
  EncryptedGmac second = std::move(first);
  second.update(as_bytes("c"));
  EncryptedGmac third = make();
  CHECK(to_hex(second.finish()) == digest(third, "abc"));
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
