#include "tools/answers/answer_shape.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/assert.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

bool has_shape(const Json& value, Shape shape) {
  switch (shape) {
    case Shape::text:
      return value.is_string();
    case Shape::number:
      return value.is_number_unsigned();
    case Shape::fraction:
      return value.is_number();
    case Shape::flag:
      return value.is_boolean();
    case Shape::object:
      return value.is_object();
    case Shape::objects:
      return value.is_array() && std::all_of(value.begin(), value.end(),
                                             [](const Json& each) { return each.is_object(); });
  }
  UNREACHABLE();
}

std::string_view name_of(Shape shape) {
  switch (shape) {
    case Shape::text:
      return "a text";
    case Shape::number:
      return "a number";
    case Shape::fraction:
      return "a fraction";
    case Shape::flag:
      return "true or false";
    case Shape::object:
      return "an object";
    case Shape::objects:
      return "a list of objects";
  }
  UNREACHABLE();
}

}  // namespace

Result<> expect_members(const Json& object, const std::string& where,
                        std::initializer_list<Member> members) {
  for (const Member& member : members) {
    const auto found = object.find(member.name);
    const bool missing = found == object.end();
    if (!missing && has_shape(*found, member.shape)) continue;
    std::string problem = where;
    if (!where.empty()) problem += '.';
    problem.append(member.name).append(missing ? ": missing; expected " : ": expected ");
    problem.append(name_of(member.shape));
    return Error{ErrorKind::protocol, problem};
  }
  return {};
}

}  // namespace prophecy::tools
