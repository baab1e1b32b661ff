// What the origins of a group answered to one request, asked several times: in what they differ
// from each other, and each from itself in time, in canonical form and in what that leaves out
// already. And which lines of a configuration would settle it, for a person to accept: never for a
// program, since a faulty origin could teach it to overlook anything.
//
// No I/O. Holds all answers' fields, and one body.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "canonical/answer_form.hpp"

namespace prophecy::tools {

struct SurveyDifference {
  std::string part;            // "status", "header" or "body"
  std::string name;            // of a header field
  bool removed = false;        // the profile takes the field out: it settles this
  bool over_time = false;      // one origin gave several
  bool among_origins = false;  // origins gave different ones
  // What each origin gave; an absent field reads as nothing.
  std::map<NodeId, std::vector<std::optional<std::string>>> values;
  std::optional<std::uint64_t> offset;  // of the first differing byte of bodies
};

class AnswerSurvey {
 public:
  // The profile must outlive it.
  explicit AnswerSurvey(const sketch::Profile& profile);

  void add(NodeId replica, const http::Response& response);
  // `reason` is a static text.
  void add_failure(NodeId replica, std::string_view reason);

  [[nodiscard]] std::vector<SurveyDifference> differences() const;
  [[nodiscard]] std::size_t answers() const { return answers_.size(); }
  // How often, by origin and reason.
  [[nodiscard]] const std::map<std::pair<NodeId, std::string_view>, std::size_t>& failures() const {
    return failures_;
  }

 private:
  struct Part {
    std::string kind;
    std::string name;
    bool removed = false;
    auto operator<=>(const Part&) const = default;
  };
  struct Answer {
    NodeId replica = 0;
    std::map<Part, std::string> parts;
  };

  [[nodiscard]] SurveyDifference look_at(const Part& part) const;

  sketch::AnswerCanonicalizer canonicalizer_;
  std::vector<Answer> answers_;
  std::map<std::pair<NodeId, std::string_view>, std::size_t> failures_;
  std::string first_body_;
  std::optional<std::uint64_t> body_offset_;
};

// Lines for [canonical], each with what it is for; and what no line settles.
struct Proposals {
  struct Line {
    std::string text;
    std::string reason;
  };
  std::vector<Line> lines;
  std::vector<std::string> unsettled;
};

// `authorities` are the origins' own, as HOST:PORT.
[[nodiscard]] Proposals propose(const std::vector<SurveyDifference>& differences,
                                const std::vector<std::string>& authorities);

}  // namespace prophecy::tools
