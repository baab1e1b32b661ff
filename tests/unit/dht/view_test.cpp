#include "dht/core/view.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "dht/core/next_view.hpp"

using namespace prophecy;
using namespace prophecy::dht;

namespace {

View example() {
  View view;
  view.number = 17;
  view.parameters = {.cluster = "9f2c", .digest = "hmac-sha1", .secret = "51b0", .profile = "07aa"};
  view.members = {{{"a", 1, 100}, {{"10.0.0.1", 7001}, {"10.0.0.1", 7002}}}, {{"b", 2, 50}, {}}};
  view.former = {{16, {{"a", 1, 100}}}};
  return view;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("a view is read as it was written") {
  const View view = example();
  const std::string text = encode(view);
  CHECK(text ==
        "prophecy-view 1\nnumber 17\ncluster 9f2c\ndigest hmac-sha1\nsecret 51b0\nprofile 07aa\n"
        "lease-ms 4000\ngroup-only-ms 0\nmembers 2\n"
        "member a 0000000000000001 100 10.0.0.1:7001 10.0.0.1:7002\n"
        "member b 0000000000000002 50\nformer 1 complete\nformer-view 16 1\n"
        "holder a 0000000000000001 100\n");
  const auto read = decode_view(text);
  REQUIRE(read.has_value());
  CHECK(*read == view);
}

TEST_CASE("a view cut short, or with a byte changed, is refused or another view") {
  const std::string text = encode(example());
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK_FALSE(decode_view(text.substr(0, size)).has_value());
  CHECK_FALSE(decode_view(text + "\n").has_value());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char letter : {' ', '\n', '0', 'z', '\0', '\xff'}) {
      std::string changed = text;
      changed[i] = letter;
      const auto read = decode_view(changed);
      // There is one spelling of each view.
      if (read.has_value()) CHECK(encode(*read) == changed);
    }
  }
}

TEST_CASE("views that break a rule are refused with the line") {
  const std::string text = encode(example());
  const auto message = [&](const std::string& what, const std::string& by) {
    const auto read = decode_view(replaced(text, what, by));
    return read.has_value() ? std::string() : read.error().message;
  };
  CHECK(message("number 17", "number 017") == "the text is not spelt as it is written here");
  CHECK(message("members 2", "members 65").starts_with("line 9: "));
  CHECK(message("member b", "member a") == "line 11: members are not in the order of their names");
  CHECK(message("member a", "member ../a").starts_with("line 10: a name has wrong letters"));
  CHECK(message("00000002 50", "00000002 1001").starts_with("line 11: \"1001\" is no such number"));
  CHECK(message("0000000000000002", "0000000000000000").starts_with("line 11: "));
  CHECK(message("former-view 16", "former-view 15") ==
        "line 13: former views do not follow one another");
  CHECK(message("lease-ms 4000", "lease-ms 1").starts_with("line 7: "));
  CHECK(message("10.0.0.1:7002", "10.0.0.1:0") == "line 10: an address is wrong");
  CHECK(message("complete", "finished") == "line 12: neither complete nor incomplete");
}

TEST_CASE("a text beyond all bounds is refused") {
  CHECK_FALSE(decode_view(std::string(kViewBytesMax + 1, 'x')).has_value());
  std::string text = encode(example());
  for (std::size_t i = 0; i < kAddressesMax; ++i)
    text = replaced(text, "10.0.0.1:7001", "10.0.0.1:7001 10.0.0.1:7003");
  CHECK_FALSE(decode_view(text).has_value());
}

TEST_CASE("a process with other parameters is told why it may not join") {
  const Parameters ring = example().parameters;
  CHECK_FALSE(why_foreign(ring, ring).has_value());
  const auto reason = [&](auto change) {
    Parameters own = ring;
    change(own);
    return why_foreign(own, ring).value_or("");
  };
  CHECK(reason([](Parameters& own) { own.cluster = "other"; }) ==
        "cluster is other here and 9f2c in the ring; this is another installation's ring");
  CHECK(reason([](Parameters& own) { own.digest = "gmac"; }).starts_with("digest is gmac here"));
  CHECK(reason([](Parameters& own) { own.secret = "0"; }).starts_with("secret is 0 here"));
  CHECK(reason([](Parameters& own) { own.profile = "0"; }).starts_with("profile is 0 here"));
  CHECK(reason([](Parameters& own) {
          own.lease *= 2;
        }).starts_with("lease is 8000 ms here and 4000 ms in the ring"));
  CHECK(reason([](Parameters& own) {
          own.group_only = own.lease;
        }).starts_with("without_zookeeper is 4000 ms here"));
}

TEST_CASE("announcements and leases are read as they were written") {
  const Announcement announcement{example().parameters, example().members[0]};
  const auto read = decode_announcement(encode(announcement));
  REQUIRE(read.has_value());
  CHECK(*read == announcement);
  const LeaseRecord record{.instance = 0xabc, .view = 17, .settled = 16};
  const auto lease = decode_lease(encode(record));
  REQUIRE(lease.has_value());
  CHECK(*lease == record);
  CHECK_FALSE(decode_lease(replaced(encode(record), "settled 16", "settled 18")).has_value());
}

TEST_CASE("a ring's first view may have any number, and has no view before it") {
  const Announced one{{"a", {{"a", 1, 100}, {}}}};
  const View first = *next_view(nullptr, example().parameters, one, {}, 1'000'000);
  CHECK(first.number == 1'000'000);
  const auto read = decode_view(encode(first));
  REQUIRE(read.has_value());
  CHECK(*read == first);
  CHECK_FALSE(decode_view(replaced(encode(first), "0 complete", "0 incomplete")).has_value());
  // It counts where there is no view alone.
  const Announced both{{"a", {{"a", 1, 100}, {}}}, {"b", {{"b", 2, 100}, {}}}};
  CHECK(next_view(&first, first.parameters, both, {}, 5)->number == 1'000'001);
}

TEST_CASE("the next view keeps the views under which something may still be held") {
  const View first = *next_view(nullptr, example().parameters, {{"a", {{"a", 1, 100}, {}}}}, {});
  CHECK(first.number == 1);
  CHECK(first.former.empty());
  const Announced both{{"a", {{"a", 1, 100}, {}}}, {"b", {{"b", 2, 100}, {}}}};
  CHECK_FALSE(next_view(&first, first.parameters, {{"a", {{"a", 1, 100}, {}}}}, {}).has_value());
  CHECK_FALSE(next_view(&first, first.parameters, {}, {}).has_value());

  View view = *next_view(&first, first.parameters, both, {});
  CHECK(view.number == 2);
  REQUIRE(view.former.size() == 1);
  // Not settled: the chain grows, up to its bound.
  for (Instance instance = 3; instance < 10; ++instance) {
    const Announced next{{"a", {{"a", 1, 100}, {}}}, {"b", {{"b", instance, 100}, {}}}};
    view = *next_view(&view, view.parameters, next, {});
    CHECK(decode_view(encode(view)).has_value());
  }
  CHECK(view.former.size() == kFormerViewsMax);
  CHECK_FALSE(view.is_former_complete);
  // Settled by all its members, in these lives: what was before is over.
  Sightings sightings;
  sightings["a"].record = {.instance = 1, .view = view.number, .settled = view.number};
  sightings["b"].record = {.instance = 8, .view = view.number, .settled = view.number};
  CHECK_FALSE(is_settled(view, sightings));
  sightings["b"].record.instance = 9;
  CHECK(is_settled(view, sightings));
  view = *next_view(&view, view.parameters, {{"a", {{"a", 1, 100}, {}}}}, sightings);
  CHECK(view.former.size() == 1);
  CHECK(view.is_former_complete);
}
