#include "tools/fields_command.hpp"

#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"
#include "tools/table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct FieldsOptions {
  std::string socket;
  bool json = false;
};

Result<> check_fields(const Json& answer) {
  if (auto checked = expect_members(answer, "", {{"fields", Shape::objects}}); !checked) {
    return checked;
  }
  for (const Json& field : answer["fields"]) {
    auto checked = expect_members(field, "",
                                  {{"group", Shape::text},
                                   {"message", Shape::text},
                                   {"name", Shape::text},
                                   {"action", Shape::text},
                                   {"count", Shape::number}});
    if (!checked) return checked;
  }
  return {};
}

int run_fields(const FieldsOptions& options) {
  Json answer;
  if (!ask_for(options.socket, "fields", "the fields of a sketcher", check_fields, answer))
    return 1;
  if (options.json) {
    std::cout << answer["fields"].dump(2) << '\n';
  } else {
    print_table("fields", answer["fields"]);
  }
  return 0;
}

}  // namespace

void add_fields_command(Command program) {
  auto options = std::make_shared<FieldsOptions>();
  const Command command = program.add_command(
      "fields", "Shows which header fields a sketcher took out of requests and answers");
  command.add("--admin", options->socket, "Admin socket of the sketcher").required();
  command.flag("--json", options->json, "Print JSON");
  command.on_run([options] { return run_fields(*options); });
}

}  // namespace prophecy::tools
