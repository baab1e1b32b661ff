#include "sketcher/master/member_reports.hpp"

#include <map>
#include <set>

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

using dht::ReportAsk;
using dht::ReportKind;
using dht::ReportPart;

// Members whose messages reach each other at once, but those of members that are out.
struct Members {
  explicit Members(const std::vector<std::string>& names, std::size_t report_bytes = 10) {
    std::uint64_t token = 100;
    for (const std::string& name : names) {
      reports.emplace(name,
                      MemberReports(token += 1000, [this, name, report_bytes](ReportKind kind) {
                        ++made[name];
                        return (kind == ReportKind::status ? "status of " : "metrics of ") + name +
                               std::string(report_bytes, '.');
                      }));
    }
  }

  void carry() {
    for (bool is_busy = true; is_busy;) {
      is_busy = false;
      for (auto& [name, member] : reports) {
        while (auto message = member.take_message()) {
          is_busy = true;
          if (silent.contains(message->member)) continue;
          if (!reports.contains(message->member)) {
            member.on_message({message->member, ReportLost{}}, now);
          } else {
            reports.at(message->member).on_message({name, message->content}, now);
          }
        }
      }
    }
  }
  std::uint64_t begin(const std::vector<std::string>& others,
                      ReportKind kind = ReportKind::status) {
    const auto round = reports.at("a").begin(kind, "a", others, now);
    REQUIRE(round.has_value());
    return *round;
  }
  void pass(Duration time) {
    now += time;
    for (auto& [name, member] : reports)
      member.on_tick(now);
    carry();
  }

  TimePoint now{seconds(1000)};
  std::map<std::string, int> made;
  std::map<std::string, MemberReports> reports;
  std::set<std::string> silent;
};

}  // namespace

TEST_CASE("members' reports: one of each member, in parts") {
  Members members({"a", "b", "c"}, 3 * dht::kReportPartMax);
  const auto kind = GENERATE(ReportKind::status, ReportKind::metrics);
  const std::uint64_t round = members.begin({"a", "b", "c"}, kind);
  MemberReports& asks = members.reports.at("a");
  CHECK_FALSE(asks.is_over(round));
  members.carry();
  REQUIRE(asks.is_over(round));
  const auto reports = asks.take(round);
  REQUIRE(reports.size() == 3);
  const std::string begin = kind == ReportKind::status ? "status of " : "metrics of ";
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    CHECK(reports[i].member == name);
    CHECK(reports[i].problem.empty());
    CHECK(reports[i].text == begin + name + std::string(3 * dht::kReportPartMax, '.'));
    CHECK(members.made[name] == 1);
  }
  CHECK_FALSE(asks.has_round(round));
}

TEST_CASE("members' reports: a member that says nothing is named, and holds nobody up for long") {
  Members members({"a", "b", "c"});
  members.silent = {"b"};
  const std::uint64_t round = members.begin({"b", "c"});
  MemberReports& asks = members.reports.at("a");
  members.carry();
  int ticks = 0;
  while (!asks.is_over(round)) {
    REQUIRE(++ticks < 20);
    members.pass(asks.deadline() - members.now);
  }
  CHECK(members.now == TimePoint(seconds(1003)));
  const auto reports = asks.take(round);
  CHECK(reports[1].problem == "no answer within 3 s");
  CHECK(reports[1].text.empty());
  CHECK(reports[2].text == "status of c..........");
}

TEST_CASE(
    "members' reports: a message that was lost is sent again, and a part that came twice is one") {
  Members members({"a", "b"}, 2 * dht::kReportPartMax);
  members.silent = {"b"};
  const std::uint64_t round = members.begin({"b"});
  MemberReports& asks = members.reports.at("a");
  MemberReports& gives = members.reports.at("b");
  members.carry();
  members.silent.clear();
  members.now += MemberReports::kAskAgain;
  asks.on_tick(members.now);
  const auto ask = asks.take_message();
  REQUIRE(ask.has_value());
  for (int i = 0; i < 2; ++i)
    gives.on_message({"a", ask->content}, members.now);
  members.carry();
  REQUIRE(asks.is_over(round));
  CHECK(asks.take(round)[1].text == "status of b" + std::string(2 * dht::kReportPartMax, '.'));
  CHECK(members.made["b"] == 1);
}

TEST_CASE("members' reports: a member that cannot be reached is named at once") {
  Members members({"a", "b"});
  const std::uint64_t round = members.begin({"b", "gone"});
  MemberReports& asks = members.reports.at("a");
  members.carry();
  REQUIRE(asks.is_over(round));
  CHECK(asks.take(round)[2].problem == "it cannot be reached");
}

TEST_CASE("members' reports: one that is too large is not sent") {
  Members members({"a", "b"}, dht::kReportBytesMax);
  const std::uint64_t round = members.begin({"b"});
  MemberReports& asks = members.reports.at("a");
  members.carry();
  REQUIRE(asks.is_over(round));
  const auto reports = asks.take(round);
  CHECK(reports[0].problem.empty());  // our own needs no message
  CHECK(reports[1].problem == "its report is larger than 1 MiB");
}

TEST_CASE("members' reports: parts that do not fit together end the report") {
  Members members({"a"});
  MemberReports& asks = members.reports.at("a");
  const auto ask_b = [&] {
    const std::uint64_t round = members.begin({"b"});
    const auto message = asks.take_message();
    REQUIRE(message.has_value());
    return std::pair(round, std::get<ReportAsk>(message->content).token);
  };
  {
    const auto [round, token] = ask_b();
    asks.on_message({"b", ReportPart{.token = token, .offset = 1, .total = 9, .bytes = "x"}},
                    members.now);
    REQUIRE(asks.is_over(round));
    CHECK(asks.take(round)[1].problem == "the parts of its report do not fit together");
  }
  {
    const auto [round, token] = ask_b();
    asks.on_message({"b", ReportPart{.token = token, .total = 9, .bytes = "x"}}, members.now);
    asks.on_message({"b", ReportPart{.token = token, .offset = 1, .total = 8, .bytes = "x"}},
                    members.now);
    REQUIRE(asks.is_over(round));
    CHECK(asks.take(round)[1].problem == "the parts of its report do not fit together");
    static_cast<void>(asks.take_message());
  }
  // What nobody asked for, or another member was asked for, changes nothing.
  const auto [round, token] = ask_b();
  asks.on_message({"b", ReportPart{.token = token + 1, .total = 1, .bytes = "x"}}, members.now);
  asks.on_message({"c", ReportPart{.token = token, .total = 1, .bytes = "x"}}, members.now);
  CHECK_FALSE(asks.is_over(round));
  CHECK_FALSE(asks.take_message().has_value());
}

namespace {

// What "a" answers.
struct Giver {
  ReportPart::Status ask(const std::string& member, std::uint64_t token, std::uint32_t offset = 0) {
    gives.on_message({member, ReportAsk{.token = token, .offset = offset}}, members.now);
    const auto answer = gives.take_message();
    REQUIRE(answer.has_value());
    CHECK(answer->member == member);
    return std::get<ReportPart>(answer->content).status;
  }
  int made() { return members.made["a"]; }

  Members members{{"a"}, 2 * dht::kReportPartMax};
  MemberReports& gives = members.reports.at("a");
};

}  // namespace

TEST_CASE("members' reports: all members may ask at once, and none takes another one's place") {
  Giver giver;
  for (std::uint64_t token = 0; token < 100; ++token)
    CHECK(giver.ask("greedy", token) == ReportPart::Status::part);
  for (std::size_t i = 0; i < dht::kMembersMax; ++i)
    CHECK(giver.ask("member " + std::to_string(i), 1) == ReportPart::Status::part);
  for (std::size_t i = 0; i < dht::kMembersMax; ++i)
    CHECK(giver.ask("member " + std::to_string(i), 1, dht::kReportPartMax) ==
          ReportPart::Status::part);
  CHECK(giver.made() == 100 + static_cast<int>(dht::kMembersMax));
}

TEST_CASE("members' reports: a member's newest ones are kept for it") {
  Giver giver;
  for (std::uint64_t token = 0; token < 3; ++token)
    CHECK(giver.ask("b", token) == ReportPart::Status::part);
  CHECK(giver.ask("b", 0, dht::kReportPartMax) == ReportPart::Status::busy);
  CHECK(giver.ask("b", 1, dht::kReportPartMax) == ReportPart::Status::part);
  CHECK(giver.ask("b", 2, dht::kReportPartMax) == ReportPart::Status::part);
  CHECK(giver.made() == 3);
}

TEST_CASE("members' reports: one that has been given is not kept for long") {
  Giver giver;
  CHECK(giver.ask("b", 1) == ReportPart::Status::part);
  CHECK(giver.gives.deadline() == giver.members.now + MemberReports::kGivenTime);
  // Beyond its end.
  CHECK(giver.ask("b", 1, 3 * dht::kReportPartMax) == ReportPart::Status::busy);
  CHECK(giver.gives.deadline() == giver.members.now + MemberReports::kGivenTime);
  CHECK(giver.ask("b", 1, dht::kReportPartMax) == ReportPart::Status::part);
  CHECK(giver.ask("b", 1, 2 * dht::kReportPartMax) == ReportPart::Status::part);
  CHECK(giver.gives.deadline() == giver.members.now + MemberReports::kGivenWholeTime);
  // The last part may be lost, and is asked for again.
  giver.members.pass(MemberReports::kAskAgain);
  CHECK(giver.ask("b", 1, 2 * dht::kReportPartMax) == ReportPart::Status::part);
  giver.members.pass(MemberReports::kAskAgain);
  CHECK(giver.gives.deadline() == TimePoint::max());
  CHECK(giver.ask("b", 1, dht::kReportPartMax) == ReportPart::Status::busy);
  CHECK(giver.made() == 1);
}

TEST_CASE("members' reports: one that is never fetched to its end is forgotten") {
  Giver giver;
  CHECK(giver.ask("b", 1) == ReportPart::Status::part);
  giver.members.pass(MemberReports::kGivenTime);
  CHECK(giver.gives.deadline() == TimePoint::max());
  CHECK(giver.ask("b", 1, dht::kReportPartMax) == ReportPart::Status::busy);
  CHECK(giver.ask("b", 2) == ReportPart::Status::part);
}

TEST_CASE("members' reports: rounds are bounded, and forgotten") {
  Members members({"a"});
  MemberReports& asks = members.reports.at("a");
  for (std::size_t i = 0; i < MemberReports::kRoundsMax; ++i)
    static_cast<void>(members.begin({"b"}));
  CHECK_FALSE(asks.begin(ReportKind::status, "a", {"b"}, members.now).has_value());
  members.carry();  // nobody can reach b
  const std::uint64_t last = members.begin({"b"});
  members.carry();
  members.pass(2 * MemberReports::kRoundTime);
  CHECK_FALSE(asks.has_round(last));
  CHECK(asks.deadline() == TimePoint::max());
}

TEST_CASE("members' reports: with the ring's process, all that it was told is lost") {
  Members members({"a", "b"});
  const std::uint64_t round = members.begin({"b"});
  MemberReports& asks = members.reports.at("a");
  asks.on_ring_ended();
  REQUIRE(asks.is_over(round));
  CHECK(asks.take(round)[1].problem == "this member's own ring process has ended; try again");
  CHECK_FALSE(asks.take_message().has_value());
}

}  // namespace prophecy::sketcher
