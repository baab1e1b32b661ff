#include <catch2/catch.hpp>

#include "measurement/analysis/known_payloads.hpp"
#include "measurement/analysis/payload_digest.hpp"
#include "measurement/analysis/url_table.hpp"
#include "measurement/input/timestamp.hpp"
#include "measurement/input/url.hpp"

namespace prophecy::measurement {

TEST_CASE("times of captures") {
  CHECK(parse_iso_time("1970-01-01T00:00:01Z") == 1'000'000);
  CHECK(parse_iso_time("2025-06-01T12:30:01Z") == 1'748'781'001'000'000);
  CHECK(parse_iso_time("2025-06-01T12:30:01.25Z") == 1'748'781'001'250'000);
  CHECK(parse_iso_time("2025-06-01T12:30:01.123456789Z") == 1'748'781'001'123'456);
  CHECK(parse_iso_time("2025-06-01T14:30:01+02:00") == 1'748'781'001'000'000);
  CHECK(parse_iso_time("2025-06-01T10:00:01-0230") == 1'748'781'001'000'000);
  CHECK(parse_digits_time("20250601123001") == 1'748'781'001'000'000);
  for (const char* bad : {"", "2025-06-01", "2025-02-30T00:00:00Z", "2025-06-01T24:00:00Z",
                          "2025-06-01T12:30:01", "2025-06-01T12:30:01.Z", "2025-06-01T12:30:01Zx",
                          "2025-06-01 12:30:01Z", "2025-13-01T00:00:00Z"}) {
    CHECK_FALSE(parse_iso_time(bad));
  }
  CHECK_FALSE(parse_digits_time("2025060112300"));
  CHECK_FALSE(parse_digits_time("202506011230011"));
}

TEST_CASE("URLs are named as s(q) names them") {
  const auto text = [](std::string_view url) {
    const auto parts = split_url(url);
    return parts ? parts->scheme + " " + parts->authority + " " + parts->target : "none";
  };
  CHECK(text("HTTP://Example.ORG:80/A?b=C#d") == "http example.org /A?b=C");
  CHECK(text("https://example.org") == "https example.org /");
  CHECK(text("https://example.org:8443?q") == "https example.org:8443 /?q");
  CHECK(text("dns:example.org") == "none");
  CHECK(text("ftp://example.org/") == "none");
  CHECK(text("http://user@example.org/") == "none");
  CHECK(text("") == "none");
}

TEST_CASE("payload digests in both spellings") {
  const auto base32 = parse_digest("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
  const auto hex = parse_digest("SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709");
  REQUIRE(base32);
  REQUIRE(hex);
  CHECK(base32->value == hex->value);
  const auto sha256 =
      parse_digest("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  REQUIRE(sha256);
  CHECK(sha256->algorithm == DigestAlgorithm::sha256);
  for (const char* bad :
       {"", "md5:00", "sha1:", "sha1:3I42", "sha1:1I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"})
    CHECK_FALSE(parse_digest(bad));
}

TEST_CASE("URLs keep their numbers while the table grows") {
  UrlTable table;
  for (UrlNumber i = 0; i < 10'000; ++i)
    REQUIRE(table.number_of("GET http://a/" + std::to_string(i)) == i);
  for (UrlNumber i = 0; i < 10'000; ++i) {
    REQUIRE(table.number_of("GET http://a/" + std::to_string(i)) == i);
    REQUIRE(table.text_of(i) == "GET http://a/" + std::to_string(i));
  }
  CHECK(table.size() == 10'000);
}

TEST_CASE("known payloads are bounded, and keep what is asked for") {
  KnownPayloads payloads(10);
  payloads.add("kept", {});
  for (int i = 0; i < 100; ++i) {
    payloads.add(std::to_string(i), {});
    CHECK(payloads.find("kept"));
  }
  CHECK(payloads.find("99"));
  CHECK_FALSE(payloads.find("5"));
}

}  // namespace prophecy::measurement
