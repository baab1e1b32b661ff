#include "tools/answers/ask.hpp"

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/io/admin_socket.hpp"

namespace prophecy::tools {
namespace {

constexpr int kDepthMax = 32;

// While a change is being shared.
constexpr std::chrono::milliseconds kLookPause{20};
constexpr std::chrono::seconds kPatience{5};

// The library has no other word for it than an exception.
Result<std::string> as_line(const nlohmann::ordered_json& request) {
  try {
    return request.dump();
  } catch (const nlohmann::ordered_json::type_error&) {
    return Error{ErrorKind::invalid, "expected arguments in UTF-8"};
  }
}

}  // namespace

Result<> ask(const std::filesystem::path& socket, const nlohmann::ordered_json& request,
             nlohmann::ordered_json& answer, std::span<const int> files) {
  const auto request_line = as_line(request);
  if (!request_line) return request_line.error();
  const auto line = admin_request(socket, *request_line, seconds(5), files);
  if (!line) return line.error();
  parse_answer(*line, answer);
  if (!answer.is_object()) {
    return Error{ErrorKind::protocol, socket.string() + ": the answer is no JSON object"};
  }
  if (answer.contains("error") && answer["error"].is_string()) {
    return Error{ErrorKind::invalid, socket.string() + ": " + answer["error"].get<std::string>()};
  }
  return {};
}

// The library walks what it has parsed by recursion.
void parse_answer(std::string_view text, nlohmann::ordered_json& answer) {
  bool too_deep = false;
  const auto bounded = [&](int depth, nlohmann::ordered_json::parse_event_t, auto&) {
    too_deep |= depth > kDepthMax;
    return !too_deep;
  };
  answer = nlohmann::ordered_json::parse(text, bounded, false);
  if (too_deep || answer.is_discarded()) answer = nullptr;
}

bool ask_for(const std::filesystem::path& socket, std::string_view command, std::string_view what,
             Result<> (*check)(const nlohmann::ordered_json& answer),
             nlohmann::ordered_json& answer) {
  return ask_with(socket, {{"command", command}}, what, check, answer);
}

bool ask_with(const std::filesystem::path& socket, const nlohmann::ordered_json& request,
              std::string_view what, Result<> (*check)(const nlohmann::ordered_json& answer),
              nlohmann::ordered_json& answer) {
  if (auto asked = ask(socket, request, answer); !asked) {
    std::cerr << "prophecyctl: " << asked.error().message << '\n';
    return false;
  }
  if (auto checked = check(answer); !checked) {
    std::cerr << "prophecyctl: " << socket.string() << ": not " << what << ": "
              << checked.error().message << '\n';
    return false;
  }
  return true;
}

int tell(const std::filesystem::path& socket, const nlohmann::ordered_json& request) {
  nlohmann::ordered_json answer;
  const auto asked = ask(socket, request, answer);
  if (!asked) std::cerr << "prophecyctl: " << asked.error().message << '\n';
  return asked ? 0 : 1;
}

int report_sharing(const std::filesystem::path& socket, const nlohmann::ordered_json& answer) {
  if (!answer.contains("change")) return 0;
  const nlohmann::ordered_json request{{"command", "ring-change"}, {"change", answer["change"]}};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    nlohmann::ordered_json state;
    if (auto asked = ask(socket, request, state); !asked) {
      std::cerr << "prophecyctl: " << asked.error().message << '\n';
      return 1;
    }
    const std::string outcome = state.value("outcome", "");
    const std::string problem = state.value("problem", "");
    if (outcome == "agreed") {
      std::cout << "It is agreed on in the ring. Each member carries it out once it learns of it; "
                   "prophecyctl ring settings there shows whether it has.\n";
      return 0;
    }
    if (outcome == "refused") {
      std::cerr << "prophecyctl: the ring refuses it, and what was agreed on holds again: "
                << problem << '\n';
      return 1;
    }
    if (outcome == "lost" || outcome == "replaced") {
      std::cerr << "prophecyctl: another change came first, and holds: " << problem << '\n';
      return 1;
    }
    if (outcome == "waiting" || std::chrono::steady_clock::now() >= deadline) {
      std::cerr << "prophecyctl: it holds at this member alone, and is shared once the ring can"
                << (problem.empty() ? "" : ": " + problem) << "; see prophecyctl ring settings\n";
      return 0;
    }
    std::this_thread::sleep_for(kLookPause);
  }
}

}  // namespace prophecy::tools
