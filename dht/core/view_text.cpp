// The texts of view.hpp: a word that names the form, then lines of a name and its values, in a
// fixed order.
//
//   prophecy-view 2                     prophecy-member 2         prophecy-lease 1
//   number 17                           (parameters)              instance 0000000000000001
//   step 1                              (member)                  view 17
//   cluster 9f2c                                                  settled 16
//   digest hmac-sha1
//   secret 51b0
//   profile 07aa
//   lease-ms 4000
//   group-only-ms 0
//   members 1
//   member a 0000000000000001 100 1-1 10.0.0.1:7001 10.0.0.1:7002
//   former 1 complete
//   former-view 16 1
//   holder a 0000000000000001 100
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "dht/core/lines.hpp"
#include "dht/core/view.hpp"

namespace prophecy::dht {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

bool is_word(std::string_view text) {
  return text.size() <= kWordBytesMax && !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char letter) {
           return is_name({&letter, 1});
         });
}

std::string to_hex(std::uint64_t value) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4)
    *digit = "0123456789abcdef"[value & 15];
  return text;
}

std::string read_name(Lines& lines) {
  const std::string_view text = lines.word();
  if (!lines.failed() && !is_name(text)) lines.fail("a name has wrong letters, or too many");
  return lines.failed() ? std::string() : std::string(text);
}

// As "1-2".
Steps read_steps(Lines& lines) {
  const std::string_view text = lines.word();
  const std::size_t dash = text.find('-');
  Steps steps{.oldest = 0, .newest = 0};
  const auto read = [&](std::string_view part, Step& step) {
    const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), step);
    return status == std::errc() && end == part.data() + part.size();
  };
  const bool is_read = dash != std::string_view::npos && read(text.substr(0, dash), steps.oldest) &&
                       read(text.substr(dash + 1), steps.newest);
  const bool is_range =
      is_read && 1 <= steps.oldest && steps.oldest <= steps.newest && steps.newest <= kStepMax;
  if (!lines.failed() && !is_range) lines.fail("no range of steps, such as 1-1");
  return lines.failed() ? Steps{} : steps;
}

std::string read_parameter(Lines& lines) {
  const std::string_view text = lines.word();
  if (!lines.failed() && !is_word(text)) lines.fail("a value has wrong letters, or too many");
  return lines.failed() ? std::string() : std::string(text);
}

Endpoint read_endpoint(Lines& lines) {
  const std::string_view text = lines.word();
  if (lines.failed()) return {};
  auto endpoint = parse_endpoint(text.substr(0, kWordBytesMax));
  if (endpoint && endpoint->port != 0) return std::move(*endpoint);
  lines.fail("an address is wrong");
  return {};
}

// One spelling of each value: leading zeros, blanks at the end and the like are found here.
template <class Value>
Result<Value> checked(Value value, Lines& lines, std::string_view text) {
  if (auto error = lines.error()) return std::move(*error);
  if (encode(value) != text)
    return Error{ErrorKind::invalid, "the text is not spelt as it is written here"};
  return value;
}

void write(std::string& text, const Parameters& parameters) {
  const auto count = [](Span span) {
    return std::to_string(duration_cast<milliseconds>(span).count());
  };
  text += "cluster " + parameters.cluster + "\ndigest " + parameters.digest + "\nsecret " +
          parameters.secret + "\nprofile " + parameters.profile + "\nlease-ms " +
          count(parameters.lease) + "\ngroup-only-ms " + count(parameters.group_only) + "\n";
}

Parameters read_parameters(Lines& lines) {
  Parameters parameters;
  const std::array<std::pair<std::string_view, std::string*>, 4> words{{
      {"cluster", &parameters.cluster},
      {"digest", &parameters.digest},
      {"secret", &parameters.secret},
      {"profile", &parameters.profile},
  }};
  for (const auto& [name, value] : words) {
    lines.line(name);
    *value = read_parameter(lines);
  }
  const auto span = [&](std::string_view name, Span least) {
    lines.line(name);
    return milliseconds(lines.number(duration_cast<milliseconds>(least).count(),
                                     duration_cast<milliseconds>(kLeaseMax).count()));
  };
  parameters.lease = span("lease-ms", kLeaseMin);
  parameters.group_only = span("group-only-ms", Span{});
  return parameters;
}

void write(std::string& text, const Holder& holder) {
  text += holder.name + " " + to_hex(holder.instance) + " " + std::to_string(holder.weight);
}

Holder read_holder(Lines& lines) {
  Holder holder;
  holder.name = read_name(lines);
  holder.instance = lines.number(1, UINT64_MAX, 16);
  holder.weight = static_cast<std::uint32_t>(lines.number(0, Placement::kWeightMax));
  return holder;
}

void write(std::string& text, const Member& member) {
  text += "member ";
  write(text, member.holder);
  text += " " + std::to_string(member.steps.oldest) + "-" + std::to_string(member.steps.newest);
  for (const Endpoint& address : member.addresses)
    text += " " + to_string(address);
  text += "\n";
}

Member read_member(Lines& lines) {
  Member member;
  lines.line("member");
  member.holder = read_holder(lines);
  member.steps = read_steps(lines);
  while (lines.has_word() && member.addresses.size() < kAddressesMax)
    member.addresses.push_back(read_endpoint(lines));
  if (lines.has_word()) lines.fail("there are too many addresses");
  return member;
}

// They are in the order of their names, so that no name comes twice.
bool are_in_order(const std::vector<Holder>& holders) {
  return std::adjacent_find(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
           return a.name >= b.name;
         }) == holders.end();
}

std::vector<Holder> read_holders(Lines& lines, std::uint64_t count) {
  std::vector<Holder> holders;
  while (holders.size() < count && !lines.failed()) {
    lines.line("holder");
    holders.push_back(read_holder(lines));
  }
  if (!are_in_order(holders)) lines.fail("holders are not in the order of their names");
  if (!lines.failed() && !has_weight(holders)) lines.fail("no holder has a weight");
  return holders;
}

void read_former(Lines& lines, View& view) {
  lines.line("former");
  const std::uint64_t count = lines.number(0, kFormerViewsMax);
  const std::string_view extent = lines.word();
  view.is_former_complete = extent == "complete";
  if (extent != "complete" && extent != "incomplete") lines.fail("neither complete nor incomplete");
  for (std::uint64_t left = count; left > 0 && !lines.failed(); --left) {
    FormerView& former = view.former.emplace_back();
    lines.line("former-view");
    former.number = lines.number(1, kViewNumberMax);
    if (former.number + left != view.number) lines.fail("former views do not follow one another");
    former.holders = read_holders(lines, lines.number(1, kMembersMax));
  }
  // Before the first view there is none, whatever its number; each other one has the one before it,
  // at least.
  const bool lacks_former = view.former.empty() && !view.is_former_complete;
  const bool precedes_all = view.number == 1 && !view.former.empty();
  if (!lines.failed() && (lacks_former || precedes_all)) lines.fail("a former view is missing");
}

}  // namespace

std::string encode(const View& view) {
  std::string text = "prophecy-view 2\nnumber " + std::to_string(view.number) + "\nstep " +
                     std::to_string(view.step) + "\n";
  write(text, view.parameters);
  text += "members " + std::to_string(view.members.size()) + "\n";
  for (const Member& member : view.members)
    write(text, member);
  text += "former " + std::to_string(view.former.size()) +
          (view.is_former_complete ? " complete\n" : " incomplete\n");
  for (const FormerView& former : view.former) {
    text += "former-view " + std::to_string(former.number) + " " +
            std::to_string(former.holders.size()) + "\n";
    for (const Holder& holder : former.holders) {
      text += "holder ";
      write(text, holder);
      text += "\n";
    }
  }
  return text;
}

Result<View> decode_view(std::string_view text) {
  Lines lines(text, kViewBytesMax);
  View view;
  lines.line("prophecy-view");
  (void)lines.number(2, 2);
  lines.line("number");
  view.number = lines.number(1, kViewNumberMax);
  lines.line("step");
  view.step = static_cast<Step>(lines.number(1, kStepMax));
  view.parameters = read_parameters(lines);
  lines.line("members");
  for (std::uint64_t left = lines.number(1, kMembersMax); left > 0 && !lines.failed(); --left)
    view.members.push_back(read_member(lines));
  if (!are_in_order(holders_of(view))) lines.fail("members are not in the order of their names");
  if (!lines.failed() && !has_weight(holders_of(view))) lines.fail("no member has a weight");
  const bool all_speak =
      std::all_of(view.members.begin(), view.members.end(),
                  [&](const Member& member) { return member.steps.speaks(view.step); });
  if (!lines.failed() && !all_speak) lines.fail("a member does not speak the view's step");
  read_former(lines, view);
  return checked(std::move(view), lines, text);
}

std::string encode(const Announcement& announcement) {
  std::string text = "prophecy-member 2\n";
  write(text, announcement.parameters);
  write(text, announcement.member);
  return text;
}

Result<Announcement> decode_announcement(std::string_view text) {
  Lines lines(text, kViewBytesMax);
  Announcement announcement;
  lines.line("prophecy-member");
  (void)lines.number(2, 2);
  announcement.parameters = read_parameters(lines);
  announcement.member = read_member(lines);
  return checked(std::move(announcement), lines, text);
}

std::string encode(const LeaseRecord& record) {
  return "prophecy-lease 1\ninstance " + to_hex(record.instance) + "\nview " +
         std::to_string(record.view) + "\nsettled " + std::to_string(record.settled) + "\n";
}

Result<LeaseRecord> decode_lease(std::string_view text) {
  Lines lines(text, kViewBytesMax);
  LeaseRecord record;
  lines.line("prophecy-lease");
  (void)lines.number(1, 1);
  lines.line("instance");
  record.instance = lines.number(1, UINT64_MAX, 16);
  lines.line("view");
  record.view = lines.number(1, kViewNumberMax);
  lines.line("settled");
  record.settled = lines.number(0, record.view);
  return checked(record, lines, text);
}

}  // namespace prophecy::dht
