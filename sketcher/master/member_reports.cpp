#include "sketcher/master/member_reports.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::sketcher {

using dht::ReportAsk;
using dht::ReportPart;

MemberReports::MemberReports(std::uint64_t first_token, Make make)
    : last_number_(first_token), make_(std::move(make)) {}

// ---- For an operator.

// A round whose operator has gone away gives way to a new one.
Result<std::uint64_t> MemberReports::begin(dht::ReportKind kind, const std::string& own,
                                           const std::vector<std::string>& others, TimePoint now) {
  if (rounds_.size() >= kRoundsMax) {
    const auto over = std::find_if(rounds_.begin(), rounds_.end(),
                                   [this](const auto& each) { return is_over(each.first); });
    if (over == rounds_.end())
      return Error{ErrorKind::unavailable, "members are being asked already; try again"};
    rounds_.erase(over);
  }
  const std::uint64_t number = ++last_number_;
  Round& round = rounds_[number];
  round.kind = kind;
  round.end = now + kRoundTime;
  Fetch& mine = round.fetches[own];
  mine.is_over = true;
  mine.text = make_(kind);
  for (const std::string& member : others) {
    if (member == own) continue;
    Fetch& fetch = round.fetches[member];
    fetch.token = ++last_number_;
    ask(member, kind, fetch, now);
  }
  return number;
}

bool MemberReports::is_over(std::uint64_t round) const {
  const auto& fetches = rounds_.at(round).fetches;
  return std::all_of(fetches.begin(), fetches.end(),
                     [](const auto& each) { return each.second.is_over; });
}

std::vector<MemberReport> MemberReports::take(std::uint64_t round) {
  auto taken = rounds_.extract(round);
  ASSERT(!taken.empty());
  std::vector<MemberReport> reports;
  for (auto& [member, fetch] : taken.mapped().fetches)
    reports.push_back({member, std::move(fetch.text), std::move(fetch.problem)});
  return reports;
}

void MemberReports::ask(const std::string& member, dht::ReportKind kind, Fetch& fetch,
                        TimePoint now) {
  fetch.asked = now;
  messages_.push_back(
      {member, ReportAsk{fetch.token, kind, static_cast<std::uint32_t>(fetch.text.size())}});
}

void MemberReports::give_up(Fetch& fetch, std::string problem) {
  fetch.is_over = true;
  fetch.text.clear();
  fetch.problem = std::move(problem);
}

std::size_t MemberReports::held_bytes(const Round& round) {
  std::size_t bytes = 0;
  for (const auto& [member, fetch] : round.fetches)
    bytes += fetch.text.size();
  return bytes;
}

// ---- Messages.

void MemberReports::on_message(const ReportMessage& message, TimePoint now) {
  if (const auto* const part = std::get_if<ReportPart>(&message.content)) {
    on_part(message.member, *part, now);
  } else if (const auto* const asked = std::get_if<ReportAsk>(&message.content)) {
    on_ask(message.member, *asked, now);
  } else {
    on_lost(message.member, now);
  }
}

// A part that was asked for twice comes twice: the second one is of no use.
void MemberReports::on_part(const std::string& member, const ReportPart& part, TimePoint now) {
  for (auto& [number, round] : rounds_) {
    const auto found = round.fetches.find(member);
    if (found == round.fetches.end()) continue;
    Fetch& fetch = found->second;
    if (fetch.is_over || fetch.token != part.token) continue;
    if (part.status == ReportPart::Status::too_large)
      return give_up(fetch, "its report is larger than 1 MiB");
    if (part.status == ReportPart::Status::busy)
      return give_up(fetch, "it is busy with other reports; try again");
    if (part.offset < fetch.text.size()) return;
    if (part.offset > fetch.text.size() || fetch.total.value_or(part.total) != part.total)
      return give_up(fetch, "the parts of its report do not fit together");
    if (held_bytes(round) + part.bytes.size() > kRoundBytesMax)
      return give_up(fetch, "the members' reports are larger than 32 MiB in all");
    fetch.total = part.total;
    fetch.text += part.bytes;
    fetch.is_over = fetch.text.size() == part.total;
    if (!fetch.is_over) ask(member, round.kind, fetch, now);
    return;
  }
}

// The first time, the connection may have been one to an earlier life of the member.
void MemberReports::on_lost(const std::string& member, TimePoint now) {
  for (auto& [number, round] : rounds_) {
    const auto found = round.fetches.find(member);
    if (found == round.fetches.end() || found->second.is_over) continue;
    Fetch& fetch = found->second;
    if (std::exchange(fetch.was_lost, true)) {
      give_up(fetch, "it cannot be reached");
    } else {
      ask(member, round.kind, fetch, now);
    }
  }
}

void MemberReports::on_ring_ended() {
  for (auto& [number, round] : rounds_) {
    for (auto& [member, fetch] : round.fetches) {
      if (!fetch.is_over) give_up(fetch, "this member's own ring process has ended; try again");
    }
  }
  messages_.clear();
}

// ---- For the other members.

void MemberReports::forget_given(TimePoint now) {
  std::erase_if(given_, [now](const Given& each) { return each.end <= now; });
}

MemberReports::Given* MemberReports::given(const std::string& member, const ReportAsk& ask,
                                           TimePoint now) {
  forget_given(now);
  const auto found = std::find_if(given_.begin(), given_.end(), [&](const Given& each) {
    return each.member == member && each.token == ask.token;
  });
  if (found != given_.end()) return &*found;
  if (ask.offset != 0) return nullptr;
  const auto is_its = [&](const Given& each) { return each.member == member; };
  if (std::count_if(given_.begin(), given_.end(), is_its) >= std::ptrdiff_t{kGivenPerMember})
    given_.erase(std::find_if(given_.begin(), given_.end(), is_its));
  if (given_.size() >= kGivenMax) return nullptr;
  given_.push_back({member, ask.token, make_(ask.kind), now + kGivenTime});
  // A report that is too large takes no room. Its place shows as much to asks that follow.
  if (given_.back().text.size() > dht::kReportBytesMax) given_.back().text.clear();
  return &given_.back();
}

void MemberReports::on_ask(const std::string& member, const ReportAsk& ask, TimePoint now) {
  ReportPart part{.status = ReportPart::Status::busy, .token = ask.token};
  Given* const report = given(member, ask, now);
  if (report != nullptr && report->text.empty()) {
    part.status = ReportPart::Status::too_large;
  } else if (report != nullptr && ask.offset < report->text.size()) {
    part.status = ReportPart::Status::part;
    part.offset = ask.offset;
    part.total = static_cast<std::uint32_t>(report->text.size());
    part.bytes = report->text.substr(ask.offset, dht::kReportPartMax);
  }
  if (report != nullptr && part.offset + part.bytes.size() == report->text.size())
    report->end = std::min(report->end, now + kGivenWholeTime);
  messages_.push_back({member, std::move(part)});
}

// ---- Time.

void MemberReports::on_tick(TimePoint now) {
  forget_given(now);
  for (auto& [number, round] : rounds_) {
    for (auto& [member, fetch] : round.fetches) {
      if (fetch.is_over) continue;
      if (now >= round.end) {
        give_up(fetch, "no answer within 3 s");
      } else if (now >= fetch.asked + kAskAgain) {
        ask(member, round.kind, fetch, now);
      }
    }
  }
  // Nobody has asked how it ended.
  std::erase_if(rounds_, [now](const auto& each) { return now >= each.second.end + kRoundTime; });
}

std::optional<ReportMessage> MemberReports::take_message() {
  if (messages_.empty()) return std::nullopt;
  ReportMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

TimePoint MemberReports::deadline() const {
  TimePoint next = TimePoint::max();
  for (const Given& each : given_)
    next = std::min(next, each.end);
  for (const auto& [number, round] : rounds_) {
    next = std::min(next, is_over(number) ? round.end + kRoundTime : round.end);
    for (const auto& [member, fetch] : round.fetches) {
      if (!fetch.is_over) next = std::min(next, fetch.asked + kAskAgain);
    }
  }
  return next;
}

}  // namespace prophecy::sketcher
