#include "sketch/sketch.hpp"

#include "base/config/config.hpp"
#include "forms.hpp"

namespace prophecy::sketch {
namespace {

const Bytes kSecret(kSecretSize, 7);

DigestKind each_kind() {
  return GENERATE(DigestKind::sha1, DigestKind::sha256, DigestKind::gmac);
}

}  // namespace

TEST_CASE("a sketch depends on secret, digest, profile, group and every part of the form") {
  const DigestKind kind = each_kind();
  const Profile profile;
  MadeAnswer answer(profile, answer_text("A: 1\r\n", "body"));
  const SketchFunction function(kind, kSecret, profile, "default");
  const Sketch base = function.of(answer.form);
  CHECK(function.of(answer.form) == base);

  for (const DigestKind other : {DigestKind::sha1, DigestKind::sha256, DigestKind::gmac}) {
    const SketchFunction another(other, kSecret, profile, "default");
    CHECK((another.of(answer.form) == base) == (other == kind));
  }
  Bytes other_secret = kSecret;
  other_secret.back() ^= 1;
  CHECK(SketchFunction(kind, other_secret, profile, "default").of(answer.form) != base);

  auto file = ConfigFile::parse("keyed_headers = [\"x\"]", "f.toml");
  REQUIRE(file.has_value());
  const Profile other_profile = Profile::from_config(file->root());
  CHECK(SketchFunction(kind, kSecret, other_profile, "default").of(answer.form) != base);
  CHECK(SketchFunction(kind, kSecret, profile, "other").of(answer.form) != base);

  for (const std::string& text : {answer_text("A: 1\r\n", "bodY"), answer_text("A: 1\r\n", "bod"),
                                  answer_text("A: 2\r\n", "body"), answer_text("B: 1\r\n", "body"),
                                  answer_text("A: 1\r\n", "body", 404), answer_text("", "body"),
                                  answer_text("A: 1\r\nA2: 1\r\n", "body")}) {
    INFO(text);
    CHECK(function.of(MadeAnswer(profile, text).form) != base);
  }
}

TEST_CASE("bytes that move from the head to the body make another sketch") {
  const SketchFunction function(each_kind(), kSecret, Profile(), "default");
  const Bytes bytes(40, 'x');
  const ByteView view(bytes);
  const AnswerForm one{200, view.first(10), as_text(view.subspan(10))};
  const AnswerForm other{200, view.first(11), as_text(view.subspan(11))};
  CHECK(function.of(one) != function.of(other));
}

TEST_CASE("a request's sketch is none of an answer's") {
  const Profile profile;
  const SketchFunction function(each_kind(), kSecret, profile, "default");
  MadeRequest request(profile, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const AnswerForm answer{200, request.form.key, {}};
  CHECK(function.of(request.form) != function.of(answer));
  const Sketch key = function.of(request.form);
  (void)function.of(answer);
  CHECK(function.of(request.form) == key);
}

}  // namespace prophecy::sketch
