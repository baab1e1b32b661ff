// `MemberReports` collects one report of each member of a ring (its status, or its page of metrics)
// for an operator, and gives this member's own to the others.
//
//   operator ──► begin() ──► asks ──► the other member: its own MemberReports
//            ◄── take()  ◄── parts ◄──┘
//
// A round ends once each member has answered, or cannot be reached, and after kRoundTime at the
// latest. A member that has not answered has a problem in place of a report. Memory is bounded: a
// report by dht::kReportBytesMax, a round by kRoundBytesMax. The own report is kept kGivenPerMember
// times for each member that fetches it, so that no member takes another one's place. How often
// members may ask is bounded by the ring's process (sketcher/ring/message_rates.hpp).
//
// A pure object for one thread: messages in, messages out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "dht/core/view.hpp"
#include "sketcher/ring/report_messages.hpp"

namespace prophecy::sketcher {

// Of one member: a report, or why there is none.
struct MemberReport {
  std::string member;
  std::string text;
  std::string problem;
};

class MemberReports {
 public:
  static constexpr Duration kRoundTime = seconds(3);
  static constexpr std::size_t kRoundBytesMax = 32 << 20;
  static constexpr std::size_t kRoundsMax = 4;
  // A message to a member may be lost on its way.
  static constexpr Duration kAskAgain = milliseconds(500);
  // Own reports that are kept for one member, the newest ones, each for so long; and once it has
  // been given whole: its last part may be lost, and asked for again.
  static constexpr std::size_t kGivenPerMember = 2;
  static constexpr Duration kGivenTime = seconds(3);
  static constexpr Duration kGivenWholeTime = 2 * kAskAgain;
  // For the members of the newest view, and of the one before.
  static constexpr std::size_t kGivenMax = kGivenPerMember * 2 * dht::kMembersMax;

  // `make` makes the own report. `first_token` differs from life to life of this process.
  using Make = std::function<std::string(dht::ReportKind kind)>;
  MemberReports(std::uint64_t first_token, Make make);

  // Asks all of `others` at once. Returns the round's number; an error, if there are too many.
  [[nodiscard]] Result<std::uint64_t> begin(dht::ReportKind kind, const std::string& own,
                                            const std::vector<std::string>& others, TimePoint now);
  [[nodiscard]] bool has_round(std::uint64_t round) const { return rounds_.contains(round); }
  // Whether the round has ended, and take() may be called. Requires that there is one.
  [[nodiscard]] bool is_over(std::uint64_t round) const;
  // By name; forgets the round.
  [[nodiscard]] std::vector<MemberReport> take(std::uint64_t round);

  void on_message(const ReportMessage& message, TimePoint now);
  // All that members were asked for is lost.
  void on_ring_ended();
  void on_tick(TimePoint now);
  // For the ring's process.
  [[nodiscard]] std::optional<ReportMessage> take_message();
  // When on_tick() is due at the latest.
  [[nodiscard]] TimePoint deadline() const;

 private:
  struct Fetch {
    std::uint64_t token = 0;
    std::string text;
    std::optional<std::uint32_t> total;
    std::string problem;
    bool was_lost = false;  // once
    bool is_over = false;
    TimePoint asked{};
  };
  struct Round {
    dht::ReportKind kind = dht::ReportKind::status;
    TimePoint end{};
    std::map<std::string, Fetch> fetches;  // by the member's name
  };
  struct Given {
    std::string member;
    std::uint64_t token = 0;
    std::string text;
    TimePoint end{};
  };

  void ask(const std::string& member, dht::ReportKind kind, Fetch& fetch, TimePoint now);
  static void give_up(Fetch& fetch, std::string problem);
  void on_part(const std::string& member, const dht::ReportPart& part, TimePoint now);
  void on_lost(const std::string& member, TimePoint now);
  void on_ask(const std::string& member, const dht::ReportAsk& ask, TimePoint now);
  // The report that the member fetches; null: there is no room for another, or it is gone.
  [[nodiscard]] Given* given(const std::string& member, const dht::ReportAsk& ask, TimePoint now);
  void forget_given(TimePoint now);
  [[nodiscard]] static std::size_t held_bytes(const Round& round);

  std::uint64_t last_number_;  // of rounds, and of tokens
  Make make_;
  std::map<std::uint64_t, Round> rounds_;
  std::deque<Given> given_;  // in the order in which they were made
  std::deque<ReportMessage> messages_;
};

}  // namespace prophecy::sketcher
