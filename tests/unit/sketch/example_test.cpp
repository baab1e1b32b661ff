// The worked example of docs/canonical-form.md. Whoever changes these bytes changes the format:
// the version in canonical/profile.cpp and the page change with them.
#include "forms.hpp"
#include "sketch/sketch.hpp"

namespace prophecy::sketch {
namespace {

Bytes example_secret() {
  Bytes secret;
  for (std::uint8_t i = 0; i < kSecretSize; ++i)
    secret.push_back(i);
  return secret;
}

std::string hex(const Sketch& sketch) {
  return to_hex(sketch);
}

}  // namespace

TEST_CASE("the worked example") {
  const Profile profile;
  CHECK(to_hex(profile.id()) == "02dbd083b220d37b48273751d64fea1d4c4e3b69269c685f90a185f7ff7e5d1b");

  MadeRequest request(profile,
                      "GET http://Example.org:80/a?b HTTP/1.1\r\nHost: example.org\r\n"
                      "User-Agent: x\r\nAccept: */*\r\n\r\n");
  REQUIRE_FALSE(request.refusal.has_value());
  CHECK(to_hex(request.form.key) ==
        "0103000000474554020400000068747470030b0000006578616d706c652e6f726704040000002f61"
        "3f620506000000616363657074030000002a2f2a");

  MadeAnswer answer(profile,
                    "HTTP/1.1 200 OK\r\nDate: now\r\nVary: Accept\r\nContent-Type: text/plain\r\n"
                    "Vary: Cookie\r\nContent-Length: 3\r\n\r\nhi\n");
  REQUIRE(answer.fault == AnswerFault::none);
  CHECK(to_hex(answer.form.head) ==
        "c8000c000000636f6e74656e742d747970650a000000746578742f706c61696e0400000076617279"
        "0e0000004163636570742c20436f6f6b6965");
  CHECK(to_hex(encode(answer.form)) ==
        "3a000000c8000c000000636f6e74656e742d747970650a000000746578742f706c61696e04000000"
        "766172790e0000004163636570742c20436f6f6b69650300000068690a");

  const Bytes secret = example_secret();
  const SketchFunction sha1(DigestKind::sha1, secret, profile, "default");
  const SketchFunction sha256(DigestKind::sha256, secret, profile, "default");
  const SketchFunction gmac(DigestKind::gmac, secret, profile, "default");
  CHECK(hex(gmac.of(request.form)) == "b5f225b9f98f82cf31424c36c64033a3ad3656f5");
  CHECK(hex(gmac.of(answer.form)) == "64a87a0899e104111badbef2ae376bf0f8992e74");
  CHECK(hex(sha1.of(request.form)) == "d7829602614c89d1225acc448273094dae9fda38");
  CHECK(hex(sha1.of(answer.form)) == "007378f53dee83f16aad08b0dec4b86e8f3ac71a");
  CHECK(hex(sha256.of(request.form)) == "890c48f855268d55b1abff352e07014610b995a3");
  CHECK(hex(sha256.of(answer.form)) == "4e86428c27a5d370c02613fd2b98ce96f0786d65");

  // The same answer, had it been too large to be held whole.
  const auto digest = prophecy::sha256(as_bytes("hi\n"));
  const AnswerForm blocks{answer.form.status, answer.form.head, {}, {3, 4096, digest}};
  REQUIRE(blocks.in_blocks());
  CHECK(hex(gmac.of(blocks)) == "1e2b6238ac992a54ee852960edcf4017458f92a4");
  CHECK(hex(sha1.of(blocks)) == "1220c43fb2b2fa428173899237eef4af4488e339");
}

}  // namespace prophecy::sketch
