#include "canonical/nominated.hpp"

#include "http/text.hpp"

namespace prophecy::sketch {
namespace {

// Beyond it, looking for each field among them would get slow.
constexpr std::size_t kNominatedMax = 32;

}  // namespace

bool NominatedNames::read(const http::FieldList& fields) {
  names_.clear();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields.name(i) != "connection") continue;
    std::string_view rest = fields.value(i);
    std::string_view name;
    while (http::next_list_element(rest, name)) {
      if (http::equal_ignoring_case(name, "close") ||
          http::equal_ignoring_case(name, "keep-alive")) {
        continue;
      }
      if (names_.size() == kNominatedMax) return false;
      names_.add(name, "");
    }
  }
  return true;
}

}  // namespace prophecy::sketch
