// `AnswerRules` holds what a route changes in the answers that its clients get, once they are
// verified: fields, the texts of answers of our own, and references to paths that were rewritten.
// None of it is an origin's, so no unverified byte reaches a client by a rule.
//
// Immutable once made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "canonical/name_table.hpp"
#include "canonical/set_fields.hpp"
#include "http/content_coding.hpp"
#include "sketcher/answer/coded_bodies.hpp"
#include "sketcher/core/policy/prefix_rewrite.hpp"

namespace prophecy::sketcher {

// In place of the line of text that an answer of our own has otherwise.
struct OwnPage {
  std::uint16_t status = 0;
  std::string content_type;
  std::string body;
};
// Which answers of a route get a content coding.
struct CompressionRules {
  std::vector<http::ContentCoding> codings;  // the first is preferred
  std::vector<std::string> types;            // in lower case, without parameters
  std::size_t bytes_min = 0;                 // of the body
  std::size_t bytes_max = 0;
};
// The reason of the answers of a route in maintenance.
constexpr std::string_view kMaintenance = "maintenance";

class AnswerRules {
 public:
  std::vector<OwnPage> pages;
  std::optional<OwnPage> maintenance_page;
  std::optional<PrefixRewrite> rewrite;
  std::optional<CompressionRules> compression;

  // All that answers have of this name is taken out.
  void drop(std::string_view name) { replaced_.set(name, 1); }
  // Likewise, and this is put in its place.
  void set(sketch::ConfiguredField field) {
    drop(field.name);
    add(std::move(field));
  }
  void add(sketch::ConfiguredField field) { added_.push_back(std::move(field)); }

  [[nodiscard]] bool empty() const {
    return pages.empty() && !maintenance_page && !rewrite && !compression && added_.empty() &&
           replaced_.size() == 0;
  }
  [[nodiscard]] bool takes_out(std::string_view name) const {
    return replaced_.size() > 0 && replaced_.find(name) != nullptr;
  }
  [[nodiscard]] const std::vector<sketch::ConfiguredField>& added() const { return added_; }
  // Null: the line of text.
  [[nodiscard]] const OwnPage* page_for(std::uint16_t status, std::string_view reason) const;

 private:
  sketch::NameTable replaced_;
  std::vector<sketch::ConfiguredField> added_;
};

// Why rules may not touch a field of answers; "": they may.
[[nodiscard]] std::string_view why_not_ruled(std::string_view name);
// Why rules may not set or add it, although they may take it out; "": they may.
[[nodiscard]] std::string_view why_not_set(std::string_view name);
// Why rules may not add it beside what an answer has; "": they may.
[[nodiscard]] std::string_view why_not_added(std::string_view name);
// An answer of our own has one itself: rules for the route's answers do not replace it.
[[nodiscard]] bool is_own_answers(std::string_view name);

// What a request's route and its own address mean for its answer.
struct AnswerRuling {
  const AnswerRules* rules = nullptr;  // null: none
  std::string_view scheme{};           // of the request
  std::string_view authority{};        // likewise
  std::string location{};              // of a redirect
  std::uint32_t retry_after_s = 1;     // of a 429 or 503 of our own
  const OwnPage* page = nullptr;       // of our own answer, whatever the rules say
  CodedBodies* coded = nullptr;        // the worker's; null: nothing is coded
};

}  // namespace prophecy::sketcher
