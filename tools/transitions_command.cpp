#include "tools/transitions_command.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kProgram = "prophecy-measure";

struct TransitionsOptions {
  std::string socket;
  std::uint64_t top = 20;
  bool json = false;
  bool follow = false;
};

Result<> check_transitions(const Json& answer) {
  return expect_members(answer, "", {{"access_log", Shape::text}});
}

// The program that was installed or built together with this one, else the first in the path.
std::string find_program() {
  std::error_code problem;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", problem).parent_path();
  for (const auto& path : {own / kProgram, own.parent_path() / "measurement" / kProgram}) {
    if (!problem && ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path)) {
      return path.string();
    }
  }
  return kProgram;
}

int run_transitions(const TransitionsOptions& options) {
  Json answer;
  if (!ask_for(options.socket, "access-log", "the access log of a sketcher", check_transitions,
               answer))
    return 1;
  std::vector<std::string> words = {find_program(), "follow",
                                    answer["access_log"].get<std::string>(), "--top",
                                    std::to_string(options.top)};
  if (!options.follow) words.emplace_back("--once");
  if (options.json) words.insert(words.end(), {"--json", "-"});
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  std::cerr << "prophecyctl: " << io_error(words.front()).message
            << "; it is built with -Dmeasure=true\n";
  return 1;
}

}  // namespace

void add_transitions_command(Command program) {
  auto options = std::make_shared<TransitionsOptions>();
  const Command command = program.add_command(
      "transitions", "Shows how often answers change, from the sketcher's access log");
  command.add("--admin", options->socket, "Admin socket of the sketcher").required();
  command.add("--top", options->top, "URLs to list, by transitions (20)");
  command.flag("--json", options->json, "Print the figures as JSON");
  command.flag("--follow", options->follow, "Go on while the log is written, until stopped");
  command.on_run([options] { return run_transitions(*options); });
}

}  // namespace prophecy::tools
