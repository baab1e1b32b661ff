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
  view.step = 2;
  view.parameters = {.cluster = "9f2c", .digest = "hmac-sha1", .secret = "51b0", .profile = "07aa"};
  view.members = {{{"a", 1, 100}, {{"10.0.0.1", 7001}, {"10.0.0.1", 7002}}, {1, 2}},
                  {{"b", 2, 50}, {}, {2, 3}}};
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
        "prophecy-view 2\nnumber 17\nstep 2\ncluster 9f2c\ndigest hmac-sha1\nsecret 51b0\nprofile "
        "07aa\n"
        "lease-ms 4000\ngroup-only-ms 0\nmembers 2\n"
        "member a 0000000000000001 100 1-2 10.0.0.1:7001 10.0.0.1:7002\n"
        "member b 0000000000000002 50 2-3\nformer 1 complete\nformer-view 16 1\n"
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
  CHECK(message("members 2", "members 65").starts_with("line 10: "));
  CHECK(message("member b", "member a") == "line 12: members are not in the order of their names");
  CHECK(message("member a", "member ../a").starts_with("line 11: a name has wrong letters"));
  CHECK(message("00000002 50", "00000002 1001").starts_with("line 12: \"1001\" is no such number"));
  CHECK(message("0000000000000002", "0000000000000000").starts_with("line 12: "));
  CHECK(message("former-view 16", "former-view 15") ==
        "line 14: former views do not follow one another");
  CHECK(message("lease-ms 4000", "lease-ms 1").starts_with("line 8: "));
  CHECK(message("10.0.0.1:7002", "10.0.0.1:0") == "line 11: an address is wrong");
  CHECK(message("step 2", "step 0").starts_with("line 3: "));
  CHECK(message("step 2", "step 1") == "line 12: a member does not speak the view's step");
  CHECK(message("1-2", "3-2") == "line 11: no range of steps, such as 1-1");
  CHECK(message("1-2", "0-2").starts_with("line 11: no range of steps"));
  CHECK(message("1-2", "12").starts_with("line 11: no range of steps"));
  CHECK(message("1-2", "1-1000001").starts_with("line 11: no range of steps"));
  CHECK(message("1-2", "01-2") == "the text is not spelt as it is written here");
  CHECK(message("complete", "finished") == "line 13: neither complete nor incomplete");
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

TEST_CASE("a view names the newest step that all its members speak") {
  const auto member = [](const std::string& name, Instance instance, Steps steps) {
    return std::pair(name, Member{{name, instance, 100}, {}, steps});
  };
  const Announced mixed{member("a", 1, {1, 1}), member("b", 2, {1, 2}), member("c", 3, {1, 3})};
  const View first = *next_view(nullptr, example().parameters, mixed, {});
  CHECK(first.members.size() == 3);
  CHECK(first.step == 1);
  CHECK(decode_view(encode(first)).has_value());
  // a is exchanged for the next build: the step rises, with the view.
  const Announced newer{member("a", 4, {1, 2}), member("b", 2, {1, 2}), member("c", 3, {1, 3})};
  const View second = *next_view(&first, first.parameters, newer, {});
  CHECK(second.step == 2);
  // And back.
  const View third = *next_view(&second, second.parameters, mixed, {});
  CHECK(third.step == 1);
  CHECK(third.members.size() == 3);
}

TEST_CASE("a process that shares no step with the members stays out, and both are told why") {
  const Announced two{{"b", {{"b", 1, 100}, {}, {1, 2}}}, {"c", {{"c", 2, 100}, {}, {2, 3}}}};
  const View view = *next_view(nullptr, example().parameters, two, {});
  CHECK(view.step == 2);
  for (const Steps steps : {Steps{1, 1}, Steps{3, 4}}) {
    Announced with = two;
    with["a"] = {{"a", 3, 100}, {}, steps};
    CHECK_FALSE(next_view(&view, view.parameters, with, {}).has_value());
    const auto reason = why_out_of_step(steps, view);
    REQUIRE(reason.has_value());
    CHECK(reason->starts_with("steps of the members' protocol are " + std::to_string(steps.oldest) +
                              " to " + std::to_string(steps.newest) +
                              " here and 2 to 2 in the ring"));
    // A member that restarts so has no place of its own: who is there stays.
    with.erase("a");
    with["b"] = {{"b", 3, 100}, {}, steps};
    const auto next = next_view(&view, view.parameters, with, {});
    REQUIRE(next.has_value());
    CHECK(next->members.size() == (steps.newest == 1 ? 1 : 2));
    CHECK(find_member(*next, "c") != nullptr);
  }
  CHECK_FALSE(why_out_of_step({1, 2}, view).has_value());
  CHECK_FALSE(why_out_of_step({2, 9}, view).has_value());
  // Alone, an older one forms a view of its own step.
  const Announced old{{"a", {{"a", 3, 100}, {}, {1, 1}}}};
  const View alone = *next_view(&view, view.parameters, old, {});
  CHECK(alone.number == view.number + 1);
  CHECK(alone.step == 1);
  CHECK(alone.former.back().number == view.number);
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
