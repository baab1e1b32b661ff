#include "base/digest.hpp"

#include <catch2/catch.hpp>

namespace prophecy {
namespace {

template <class Hash>
std::string hash(std::string_view text) {
  Hash state;
  state.update(as_bytes(text));
  return to_hex(state.finish());
}

template <class Hash>
std::string hmac(const Bytes& key, std::string_view text) {
  Hmac<Hash> state(key);
  // In two parts, since programs do so.
  state.update(as_bytes(text.substr(0, text.size() / 2)));
  state.update(as_bytes(text.substr(text.size() / 2)));
  return to_hex(state.finish());
}

}  // namespace

TEST_CASE("SHA-1 and SHA-256 (FIPS 180-4)") {
  CHECK(hash<Sha1>("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(hash<Sha1>("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(hash<Sha256>("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(to_hex(sha256({})) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string million(1'000'000, 'a');
  CHECK(hash<Sha1>(million) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST_CASE("HMAC-SHA-1 (RFC 2202)") {
  CHECK(hmac<Sha1>(Bytes(20, 0x0b), "Hi There") == "b617318655057264e28bc0b6fb378c8ef146be00");
  CHECK(hmac<Sha1>(to_bytes("Jefe"), "what do ya want for nothing?") ==
        "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  CHECK(hmac<Sha1>(Bytes(20, 0xaa), std::string(50, '\xdd')) ==
        "125d7342b9ac11cd91a39af48aa17b4f63f175d3");
  CHECK(hmac<Sha1>(Bytes(80, 0xaa), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

TEST_CASE("HMAC-SHA-256 (RFC 4231)") {
  CHECK(hmac<Sha256>(Bytes(20, 0x0b), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hmac<Sha256>(to_bytes("Jefe"), "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hmac<Sha256>(Bytes(20, 0xaa), std::string(50, '\xdd')) ==
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  CHECK(hmac<Sha256>(Bytes(131, 0xaa), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("a keyed state may be copied for each message") {
  const Hmac<Sha1> keyed(Bytes(20, 0x0b));
  for (int i = 0; i < 2; ++i) {
    Hmac<Sha1> message = keyed;
    message.update(as_bytes("Hi There"));
    CHECK(to_hex(message.finish()) == "b617318655057264e28bc0b6fb378c8ef146be00");
  }
}

TEST_CASE("comparison in constant time") {
  const Bytes one{1, 2, 3};
  CHECK(equal_in_constant_time(one, Bytes{1, 2, 3}));
  CHECK_FALSE(equal_in_constant_time(one, Bytes{1, 2, 4}));
  CHECK_FALSE(equal_in_constant_time(one, Bytes{1, 2}));
  CHECK(equal_in_constant_time({}, {}));
}

}  // namespace prophecy
