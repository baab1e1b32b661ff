#include "measurement/analysis/distribution.hpp"

#include <catch2/catch.hpp>

#include "measurement/analysis/site.hpp"

namespace prophecy::measurement {
namespace {

const std::vector<RatioPoint> kPoints = {
    {0, 100, 10}, {0.15, 50, 30}, {1.0 / 3, 10, 60}, {1, 2, 100}};

}  // namespace

TEST_CASE("a curve's shares are of the weight at or below each ratio") {
  const Curve curve = curve_of(kPoints, 2, Weight::url);
  CHECK(curve.urls == 4);
  CHECK(curve.shares[0] == Approx(0.25));
  CHECK(curve.shares[14] == Approx(0.25));
  CHECK(curve.shares[15] == Approx(0.5));
  CHECK(curve.shares[33] == Approx(0.5));
  CHECK(curve.shares[34] == Approx(0.75));
  CHECK(curve.shares[100] == Approx(1));
  CHECK(curve_of(kPoints, 2, Weight::request).shares[0] == Approx(100.0 / 162));
  CHECK(curve_of(kPoints, 2, Weight::bytes).shares[15] == Approx(40.0 / 200));
}

TEST_CASE("URLs with few requests are left out") {
  CHECK(curve_of(kPoints, 25, Weight::url).urls == 2);
  CHECK(curve_of(kPoints, 25, Weight::url).shares[0] == Approx(0.5));
  CHECK(curve_of(kPoints, 1000, Weight::url).shares[100] == 0);
  CHECK(share_below(kPoints, 25, Weight::request, 0.15) == Approx(100.0 / 150));
  CHECK(share_static(kPoints, 25, Weight::bytes) == Approx(0.25));
  CHECK(share_static({}, 0, Weight::url) == 0);
}

TEST_CASE("a URL without a pair has no ratio") {
  UrlFigures without;
  UrlFigures with;
  with.sketched = {4, 1};
  CHECK(points_of({&without, &with}).size() == 1);
}

TEST_CASE("sites are registrable domains") {
  CHECK(host_of("GET https://a.example.co.uk:8443/x:y") == "a.example.co.uk");
  CHECK(host_of("GET http://[::1]:80/") == "[::1]");
  CHECK(site_of("a.b.example.co.uk") == "example.co.uk");
  CHECK(site_of("example.com") == "example.com");
  CHECK(site_of("com") == "com");
  CHECK(site_of("192.0.2.1") == "192.0.2.1");
  CHECK(site_of("localhost") == "localhost");
}

TEST_CASE("first party is what is listed, or of the same site") {
  const Parties list(PartyMode::list, {"WWW.example.org", "other.net"});
  CHECK(list.is_first("www.example.org"));
  CHECK(list.is_first("a.www.example.org"));
  CHECK_FALSE(list.is_first("static.example.org"));
  CHECK_FALSE(list.is_first("another.net"));
  const Parties same(PartyMode::same_site, {"www.example.org"});
  CHECK(same.is_first("static.example.org"));
  CHECK_FALSE(same.is_first("example.com"));
}

}  // namespace prophecy::measurement
