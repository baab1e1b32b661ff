#include "tools/status_command.hpp"

#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/answer_shape.hpp"
#include "tools/ask.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string socket;
  bool json = false;
};

// What makes it a status of ours. The rest is shown as it comes, and may differ between versions.
Result<> check(const Json& status) {
  if (status.contains("replica")) {
    return expect_members(status, "",
                          {{"replica", Shape::number},
                           {"version", Shape::text},
                           {"state", Shape::text},
                           {"peers", Shape::objects},
                           {"progress", Shape::object}});
  }
  return expect_members(status, "",
                        {{"version", Shape::text},
                         {"requests", Shape::object},
                         {"history", Shape::object},
                         {"workers", Shape::objects},
                         {"routes", Shape::objects},
                         {"origins", Shape::objects}});
}

std::string scalar_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// An object of scalars on one line: "reads 12  writes 3".
std::string inline_text(const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    if (value.is_structured()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "   ", name, scalar_text(value));
  }
  return text;
}

// What one cell of a table shows of a nested object: only the counts that are not zero. Of a list:
// its elements.
std::string cell_text(const Json& value) {
  if (value.is_null()) return "-";
  if (!value.is_structured()) return scalar_text(value);
  std::string text;
  if (value.is_array()) {
    for (const Json& each : value)
      text += (text.empty() ? "" : "; ") + scalar_text(each);
    return text.empty() ? "-" : text;
  }
  for (const auto& [name, count] : value.items()) {
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, scalar_text(count));
  }
  return text.empty() ? "-" : text;
}

// A list of objects of one shape as a table, under its name.
void print_table(const std::string& title, const Json& rows) {
  if (rows.empty()) return;
  std::vector<std::size_t> widths;
  for (const auto& [name, value] : rows.front().items())
    widths.push_back(name.size());
  for (const Json& row : rows) {
    std::size_t column = 0;
    for (const auto& [name, value] : row.items()) {
      if (column < widths.size())
        widths[column] = std::max(widths[column], cell_text(value).size());
      ++column;
    }
  }
  std::cout << '\n' << title << '\n';
  std::size_t column = 0;
  for (const auto& [name, value] : rows.front().items()) {
    std::cout << fmt::format("  {:<{}}", name, widths[column++]);
  }
  std::cout << '\n';
  for (const Json& row : rows) {
    column = 0;
    for (const auto& [name, value] : row.items()) {
      std::cout << fmt::format("  {:<{}}", cell_text(value),
                               column < widths.size() ? widths[column] : 0);
      ++column;
    }
    std::cout << '\n';
  }
}

void print_for_people(const Json& status) {
  std::cout << inline_text(status) << '\n';
  for (const auto& [name, value] : status.items()) {
    if (value.is_object()) {
      std::cout << fmt::format("{}: {}\n", name, inline_text(value));
    } else if (value.is_array() && !value.empty() && !value.front().is_object()) {
      std::cout << fmt::format("{}:", name);
      for (const Json& element : value)
        std::cout << ' ' << scalar_text(element);
      std::cout << '\n';
    }
  }
  for (const auto& [name, value] : status.items()) {
    if (value.is_array() && !value.empty() && value.front().is_object()) print_table(name, value);
  }
}

int run(const Options& options) {
  Json status;
  if (auto asked = ask(options.socket, {{"command", "status"}}, status); !asked) {
    std::cerr << "prophecyctl: " << asked.error().message << '\n';
    return 1;
  }
  if (auto checked = check(status); !checked) {
    std::cerr << "prophecyctl: " << options.socket
              << ": not the status of a sketcher or a replica: " << checked.error().message << '\n';
    return 1;
  }
  if (options.json) {
    std::cout << status.dump(2) << '\n';
  } else {
    print_for_people(status);
  }
  return 0;
}

}  // namespace

void add_status_command(CLI::App& app, std::function<int()>& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("status", "Shows what a running sketcher or replica says of itself");
  command->add_option("--admin", options->socket, "Admin socket of the program")->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace prophecy::tools
