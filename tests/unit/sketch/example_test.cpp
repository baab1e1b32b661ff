// The worked example of docs/canonical-form.md. Whoever changes these bytes changes the format:
// the version in sketch/profile.cpp and the page change with them.
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
  CHECK(to_hex(profile.id()) == "82a729962fa193a7549a6614d6a3639f274dd697561c46676d0cb05d340f2aa3");

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
  CHECK(hex(sha1.of(request.form)) == "a84e0394b93f1c5811ce4d9800c8915e295bb787");
  CHECK(hex(sha1.of(answer.form)) == "76317746d07915c76b7b072fd0c1a75f0bdbda1a");
  CHECK(hex(sha256.of(request.form)) == "02f895b9a6dd8ff59af6b12c20d6e8f8631158ca");
  CHECK(hex(sha256.of(answer.form)) == "375ad6f2bdc98a3af5fa205e4731693fb6c0f55a");
}

}  // namespace prophecy::sketch
