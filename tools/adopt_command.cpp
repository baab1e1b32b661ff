#include "tools/adopt_command.hpp"

#include <charconv>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"
#include "tools/table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kAskEvery = milliseconds(250);
// So long what the others tell is waited for, which they repeat four times a second.
constexpr Duration kOthersAwaitedFor = seconds(1);
// This replica's look at its own state.
constexpr Duration kLookAwaitedFor = minutes(2);

struct AdoptOptions {
  std::string socket;
  std::string state;
  std::optional<std::uint64_t> at;
  std::vector<std::string> except;
  std::uint32_t wait_s = 60;
  bool json = false;
};

Result<> check_adoption(const Json& answer) {
  if (auto checked = expect_members(answer, "",
                                    {{"adoption", Shape::text},
                                     {"problem", Shape::text},
                                     {"needed", Shape::number},
                                     {"at", Shape::number},
                                     {"members", Shape::objects}});
      !checked) {
    return checked;
  }
  for (const Json& member : answer["members"]) {
    auto checked =
        expect_members(member, "members", {{"replica", Shape::number}, {"says", Shape::text}});
    if (!checked) return checked;
  }
  return {};
}

bool ask_replica(const AdoptOptions& options, const Json& request, Json& answer) {
  return ask_with(options.socket, request, "an adoption's status of a replica", check_adoption,
                  answer);
}

bool is_at(const Json& answer, std::string_view state) {
  return answer["adoption"].get<std::string>() == state;
}

// Asks until `is_over`, or the time is over; false when there was no answer.
template <typename IsOver>
bool wait_until(const AdoptOptions& options, TimePoint deadline, const IsOver& is_over,
                Json& answer) {
  while (!is_over(answer)) {
    if (std::chrono::steady_clock::now() >= deadline) return true;
    std::this_thread::sleep_for(kAskEvery);
    if (!ask_replica(options, {{"command", "adoption"}}, answer)) return false;
  }
  return true;
}

int fail(const std::string& problem) {
  std::cerr << "prophecyctl: " << problem << '\n';
  return 1;
}

void show_answer(const AdoptOptions& options, const Json& answer) {
  if (options.json) {
    std::cout << answer.dump(2) << '\n';
  } else {
    print_table("present states", answer["members"]);
  }
}

std::string member_name(const Json& member) {
  return "replica " + scalar_text(member["replica"]);
}

bool has_root(const Json& member) {
  return member.contains("root") && member["root"].is_string();
}

// The state that this replica tells: the one that others are compared with.
std::optional<std::string> own_root(const Json& answer, const Json& told) {
  for (const Json& member : answer["members"]) {
    if (has_root(member) && member["replica"] == told) return member["root"].get<std::string>();
  }
  return std::nullopt;
}

// Whether the group could adopt what this replica tells, and what an operator does next.
int judge(const AdoptOptions& options, const Json& answer, const std::string& root) {
  std::uint64_t equal = 0;
  std::string missing;
  std::string problem;
  for (const Json& member : answer["members"]) {
    if (has_root(member) && member["root"] == root) {
      ++equal;
    } else if (has_root(member)) {
      problem += member_name(member) +
                 " is in another state: " + member["root"].get<std::string>() +
                 "; make its origin equal to the others, or leave it out (--except)\n";
    } else if (member["says"] == "has-state") {
      problem +=
          member_name(member) + " has a state of its own, which may hold more than this one\n";
    } else {
      missing += (missing.empty() ? "" : ", ") + member_name(member);
    }
  }
  if (!problem.empty()) {
    problem.pop_back();
    return fail(problem);
  }
  const auto needed = answer["needed"].get<std::uint64_t>();
  if (equal < needed) {
    std::cout << equal << " of the " << needed
              << " replicas that are needed tell this state. Use this command at " << missing
              << " as well.\n";
    return 0;
  }
  std::cout << equal << " replicas tell this state. To have it adopted, use at each of them:\n"
            << "prophecyctl adopt --admin " << options.socket << " --state " << root << " --at "
            << scalar_text(answer["at"]) << '\n';
  return 0;
}

int look(const AdoptOptions& options) {
  const TimePoint deadline = std::chrono::steady_clock::now() + kLookAwaitedFor;
  Json status;
  if (!ask_with(
          options.socket, {{"command", "status"}}, "a replica's status",
          [](const Json& answer) {
            return expect_members(answer, "", {{"replica", Shape::number}});
          },
          status)) {
    return 1;
  }
  Json answer;
  if (!ask_replica(options, {{"command", "look"}}, answer)) return 1;
  const auto is_over = [](const Json& one) {
    return !is_at(one, "waiting") && !is_at(one, "looking");
  };
  if (!wait_until(options, deadline, is_over, answer)) return 1;
  const auto root = own_root(answer, status["replica"]);
  if (!root) {
    const std::string problem = answer["problem"].get<std::string>();
    return fail(problem.empty() ? "the present state was not told in time" : problem);
  }
  const TimePoint others = std::chrono::steady_clock::now() + kOthersAwaitedFor;
  const auto never = [](const Json&) { return false; };
  if (!wait_until(options, others, never, answer)) return 1;
  show_answer(options, answer);
  return judge(options, answer, *root);
}

std::optional<Json> numbers_of(const std::vector<std::string>& texts) {
  Json numbers = Json::array();
  for (const std::string& text : texts) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

int adopt(const AdoptOptions& options) {
  const auto except = numbers_of(options.except);
  if (!except) {
    std::cerr << "prophecyctl: --except: expected the number of a replica\n";
    return 2;
  }
  const TimePoint begin = std::chrono::steady_clock::now();
  Json answer;
  if (!ask_replica(options,
                   {{"command", "adopt"},
                    {"state", options.state},
                    {"at", *options.at},
                    {"except", *except}},
                   answer)) {
    return 1;
  }
  const auto is_over = [](const Json& one) { return is_at(one, "adopted") || is_at(one, "none"); };
  const auto is_agreed = [&](const Json& one) {
    return is_at(one, "agreed") || is_at(one, "told") || is_over(one);
  };
  if (!wait_until(options, begin + kLookAwaitedFor, is_agreed, answer)) return 1;
  if (is_at(answer, "agreed") && options.wait_s > 0) {
    std::cerr << "prophecyctl: agreed; waiting for the other replicas\n";
    if (!wait_until(options, begin + seconds(options.wait_s), is_over, answer)) return 1;
  }
  show_answer(options, answer);
  const std::string problem = answer["problem"].get<std::string>();
  if (!problem.empty()) return fail(problem);
  if (is_over(answer)) {
    std::cout << "Adopted.\n";
    return 0;
  }
  if (!is_at(answer, "agreed")) return fail("the state was not looked at once more in time");
  std::cout << "Agreed. It is adopted as soon as " << scalar_text(answer["needed"])
            << " replicas have.\n";
  return 0;
}

}  // namespace

void add_adopt_command(Command program) {
  auto options = std::make_shared<AdoptOptions>();
  const Command command = program.add_command(
      "adopt", "Has a group that has no state any more adopt the present one of its origins");
  command.add("--admin", options->socket, "Admin socket of the replica's agent").required();
  command.add("--state", options->state,
              "The state to adopt, as this command has printed it; without: show what all tell");
  command.add("--at", options->at, "The number to adopt it at, likewise");
  command.add("--except", options->except,
              "A replica that may tell another state, or have one; may be repeated");
  command.add("--wait", options->wait_s, "Seconds to wait for the other replicas to agree");
  command.flag("--json", options->json, "Print JSON");
  command.on_run([options] {
    if (options->state.empty() != !options->at) {
      std::cerr << "prophecyctl: --state and --at belong together\n";
      return 2;
    }
    return options->at ? adopt(*options) : look(*options);
  });
}

}  // namespace prophecy::tools
