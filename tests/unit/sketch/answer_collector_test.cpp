#include "canonical/answer_collector.hpp"

#include <catch2/catch.hpp>

#include "base/config/config.hpp"
#include "sketch/sketch.hpp"

namespace prophecy::sketch {
namespace {

constexpr std::size_t kWhole = 20 << 10;
constexpr std::size_t kBlockBytes = 4096;

Profile small_profile() {
  auto file =
      ConfigFile::parse("[canonical]\nwhole_answer = \"20KiB\"\nanswer_block = \"4KiB\"\n", "t");
  REQUIRE(file.has_value());
  Profile profile = Profile::from_config(file->root().section("canonical"));
  REQUIRE(file->finish().has_value());
  return profile;
}

struct Collected {
  bool possible = true;
  AnswerFault fault = AnswerFault::none;
  Bytes encoded;
  std::size_t held_max = 0;

  [[nodiscard]] AnswerForm form() const {
    const auto decoded = decode(encoded);
    REQUIRE(decoded.has_value());
    return *decoded;
  }
};

// As from an origin: the head, pieces of the body, its end.
Collected collect(const Profile& profile, std::string_view body, std::size_t piece, bool declared,
                  std::size_t held_bytes_max = kWhole, std::uint16_t status = 200) {
  AnswerCollector collector(profile, held_bytes_max);
  AnswerCanonicalizer canonicalizer(profile);
  http::Response response;
  response.status = status;
  response.fields.add("content-type", "text/plain");
  if (declared) response.fields.add("content-length", std::to_string(body.size()));
  Collected result;
  result.possible = collector.on_progress(response);
  while (result.possible && body.size() > piece) {
    response.body.append(body.substr(0, piece));
    body.remove_prefix(piece);
    result.possible = collector.on_progress(response);
    result.held_max = std::max(result.held_max, response.body.size());
  }
  if (!result.possible) return result;
  response.body.append(body);
  AnswerForm form;
  result.fault = collector.finish(canonicalizer, response, false, form);
  if (result.fault == AnswerFault::none) result.encoded = encode(form);
  return result;
}

}  // namespace

TEST_CASE("an answer up to the profile's size is whole, a larger one in blocks") {
  const Profile profile = small_profile();
  const std::string body(kWhole + 1, 'x');
  for (const bool declared : {true, false}) {
    for (const std::size_t piece : {std::size_t{1000}, kBlockBytes, body.size()}) {
      const Collected whole = collect(profile, body.substr(1), piece, declared);
      REQUIRE(whole.fault == AnswerFault::none);
      CHECK_FALSE(whole.form().in_blocks());
      CHECK(whole.form().body == body.substr(1));

      const Collected large = collect(profile, body, piece, declared);
      REQUIRE(large.fault == AnswerFault::none);
      REQUIRE(large.form().in_blocks());
      CHECK(large.form().blocks.length == body.size());
      CHECK(large.form().blocks.block_bytes == kBlockBytes);
      CHECK(large.form().blocks.count() == 6);
      CHECK(large.form().blocks.matches(0, body.substr(0, kBlockBytes)));
      CHECK(large.held_max <= (declared ? 0 : kWhole));
    }
  }
}

TEST_CASE("what may not be held and is not large enough for blocks has no form") {
  const Profile profile = small_profile();
  const std::string body(kWhole, 'x');
  CHECK_FALSE(collect(profile, body, kBlockBytes, true, kWhole - 1).possible);
  CHECK(collect(profile, body, kBlockBytes, false, kWhole - 1).fault == AnswerFault::too_large);
  CHECK(collect(profile, body + "x", kBlockBytes, false, kWhole - 1).fault == AnswerFault::none);
}

TEST_CASE("nothing but a 200 is in blocks") {
  const Profile profile = small_profile();
  const std::string body(10 * kWhole, 'x');
  CHECK_FALSE(collect(profile, body, kBlockBytes, true, kWhole, 404).possible);
  CHECK_FALSE(collect(profile, body, kBlockBytes, false, kWhole, 404).possible);
}

TEST_CASE("forms in blocks are sketched, encoded and compared by all they say") {
  const Profile profile = small_profile();
  const Bytes secret(kSecretSize, 7);
  const DigestKind kind = GENERATE(DigestKind::sha1, DigestKind::sha256, DigestKind::gmac);
  const SketchFunction sketch(kind, secret, profile, "g");
  std::string body(kWhole + 1, 'x');
  const Collected one = collect(profile, body, kBlockBytes, true);
  body[2 * kBlockBytes + 5] = 'y';
  const Collected other = collect(profile, body, kBlockBytes, true);
  const Collected longer = collect(profile, body + "z", kBlockBytes, true);
  CHECK(sketch.of(one.form()) ==
        sketch.of(collect(profile, std::string(kWhole + 1, 'x'), 1000, false).form()));
  CHECK(sketch.of(one.form()) != sketch.of(other.form()));
  CHECK(sketch.of(other.form()) != sketch.of(longer.form()));
  CHECK(compare(one.form(), one.form()).empty());
  const auto differences = compare(one.form(), other.form());
  REQUIRE(differences.size() == 1);
  CHECK(differences[0].part == "body");
  CHECK(differences[0].body_offset == 2 * kBlockBytes);
  CHECK(compare(other.form(), longer.form()).front().body_offset == 5 * kBlockBytes);
}

TEST_CASE("a list that does not fit its length, or another status, does not decode") {
  const Profile profile = small_profile();
  const Bytes good = collect(profile, std::string(kWhole + 1, 'x'), kBlockBytes, true).encoded;
  REQUIRE(decode(good).has_value());
  Bytes bad = good;
  bad.pop_back();
  CHECK_FALSE(decode(bad).has_value());
  bad = good;
  bad.insert(bad.end(), sizeof(Sha256::Digest), 0);
  CHECK_FALSE(decode(bad).has_value());
  bad = good;
  bad[8] = 201;  // behind the marker and the head's length
  CHECK_FALSE(decode(bad).has_value());
}

TEST_CASE("the profile's sizes are part of its id") {
  CHECK(small_profile().id() != Profile().id());
}

TEST_CASE("an answer without a form does not name the leak of an earlier one") {
  const Profile profile = small_profile();
  AnswerCanonicalizer canonicalizer(profile);
  const auto leak = [&] {
    http::Response response;
    response.status = 200;
    response.fields.add("x-accel-redirect", "/x");
    AnswerCollector collector(profile, kWhole);
    AnswerForm form;
    REQUIRE(collector.finish(canonicalizer, response, false, form) == AnswerFault::none);
    REQUIRE(canonicalizer.leaked() == "x-accel-redirect");
  };
  AnswerForm form;
  http::Response large;

  leak();
  large.status = 404;
  large.body.assign(kWhole + 1, 'x');
  AnswerCollector whole(profile, kWhole);
  CHECK(whole.finish(canonicalizer, large, false, form) == AnswerFault::too_large);
  CHECK(canonicalizer.leaked().empty());

  // Let go of because no more may be held, and yet no longer than a whole answer.
  leak();
  large.status = 200;
  large.body.assign(kBlockBytes + 1, 'x');
  AnswerCollector little(profile, kBlockBytes);
  CHECK(little.finish(canonicalizer, large, false, form) == AnswerFault::too_large);
  CHECK(canonicalizer.leaked().empty());
}

}  // namespace prophecy::sketch
