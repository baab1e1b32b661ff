// Asks the origins of a sketcher's groups directly, as its fast reads do, and takes no notice of a
// sketcher that runs. Only GET: nothing changes at an origin.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "sketcher/installation/installation.hpp"
#include "tools/answer_survey.hpp"

namespace prophecy::tools {

struct SurveyPlan {
  std::vector<std::string> urls;     // absolute
  std::vector<std::string> headers;  // "NAME: VALUE", of every request
  std::uint32_t rounds = 3;
  Duration interval{};  // between rounds
};

struct SurveyedUrl {
  std::string url;
  std::uint32_t group = 0;  // its position
  AnswerSurvey survey;
};

// One after the other, each of all origins of its route's group at once. Blocks. The installation
// must outlive what it yields.
[[nodiscard]] Result<std::vector<SurveyedUrl>> survey_origins(
    const sketcher::Installation& installation, const SurveyPlan& plan);

}  // namespace prophecy::tools
