#include <algorithm>

#include "canonical/answer_form.hpp"

namespace prophecy::sketch {
namespace {

// One side of the comparison: its current field, while there is one.
struct Cursor {
  explicit Cursor(const AnswerForm& form) : fields(form) { advance(); }
  void advance() { valid = fields.next(name, value); }

  AnswerFields fields;
  std::string_view name;
  std::string_view value;
  bool valid = false;
};

void note_field(std::vector<AnswerDifference>& differences, std::string_view name) {
  const bool noted = !differences.empty() && differences.back().header == name;
  if (!noted) differences.push_back({"header", std::string(name), 0});
}

// Both sides are sorted by name, so one pass finds what is missing, added or changed.
void compare_fields(const AnswerForm& one, const AnswerForm& other,
                    std::vector<AnswerDifference>& differences) {
  Cursor a(one);
  Cursor b(other);
  const std::size_t count_max = differences.size() + kHeaderDifferencesMax;
  while ((a.valid || b.valid) && differences.size() < count_max) {
    if (a.valid && b.valid && a.name == b.name) {
      if (a.value != b.value) note_field(differences, a.name);
      a.advance();
      b.advance();
    } else if (a.valid && (!b.valid || a.name < b.name)) {
      note_field(differences, a.name);
      a.advance();
    } else {
      note_field(differences, b.name);
      b.advance();
    }
  }
}

void compare_blocks(const BlockList& one, const BlockList& other,
                    std::vector<AnswerDifference>& differences) {
  const std::size_t common = std::min(one.count(), other.count());
  std::size_t block = 0;
  while (block < common && std::ranges::equal(one.digest(block), other.digest(block)))
    ++block;
  if (block == one.count() && block == other.count()) return;
  differences.push_back({"body", "", one.begin_of(block)});
}

}  // namespace

std::vector<AnswerDifference> compare(const AnswerForm& one, const AnswerForm& other) {
  std::vector<AnswerDifference> differences;
  if (one.status != other.status) differences.push_back({"status", "", 0});
  compare_fields(one, other, differences);
  if (one.in_blocks() && other.in_blocks()) {
    compare_blocks(one.blocks, other.blocks, differences);
  } else if (one.in_blocks() != other.in_blocks()) {
    differences.push_back({"body", "", std::min(one.body_bytes(), other.body_bytes())});
  } else if (one.body != other.body) {
    const auto ends =
        std::mismatch(one.body.begin(), one.body.end(), other.body.begin(), other.body.end());
    differences.push_back({"body", "", static_cast<std::uint64_t>(ends.first - one.body.begin())});
  }
  return differences;
}

}  // namespace prophecy::sketch
