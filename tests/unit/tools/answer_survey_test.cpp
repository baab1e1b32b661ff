#include "tools/answer_survey.hpp"

#include <catch2/catch.hpp>

namespace prophecy::tools {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

http::Response answer(const Lines& lines, std::string body = "page") {
  http::Response response;
  response.status = 200;
  for (const auto& [name, value] : lines)
    response.fields.add(name, value);
  response.body = std::move(body);
  return response;
}

const SurveyDifference* find(const std::vector<SurveyDifference>& differences,
                             std::string_view name) {
  for (const SurveyDifference& difference : differences) {
    if (difference.name == name || (difference.name.empty() && difference.part == name)) {
      return &difference;
    }
  }
  return nullptr;
}

std::vector<std::string> lines_of(const Proposals& proposals) {
  std::vector<std::string> lines;
  for (const auto& line : proposals.lines)
    lines.push_back(line.text);
  return lines;
}

const sketch::Profile kProfile;
const std::vector<std::string> kAuthorities = {"10.0.0.1:80", "10.0.0.2:80"};

}  // namespace

TEST_CASE("equal answers differ in nothing") {
  AnswerSurvey survey(kProfile);
  for (NodeId replica = 0; replica < 4; ++replica)
    survey.add(replica, answer({{"Content-Type", "text/plain"}, {"Server", "a"}}));
  CHECK(survey.answers() == 4);
  CHECK(survey.differences().empty());
  CHECK(propose({}, kAuthorities).lines.empty());
}

TEST_CASE("what differs among origins, and what in time") {
  AnswerSurvey survey(kProfile);
  survey.add(0, answer({{"X-Node", "0"}, {"X-Tick", "1"}, {"Server", "a"}}));
  survey.add(1, answer({{"X-Tick", "1"}, {"Server", "b"}}, "paXe"));
  survey.add(0, answer({{"X-Node", "0"}, {"X-Tick", "2"}, {"Server", "a"}}));
  survey.add(1, answer({{"X-Tick", "2"}, {"Server", "b"}}, "pageX"));
  const auto differences = survey.differences();
  REQUIRE(differences.size() == 4);
  const auto* node = find(differences, "x-node");
  CHECK((node->among_origins && !node->over_time && !node->removed));
  CHECK(node->values.at(0) == std::vector<std::optional<std::string>>{"0"});
  CHECK(node->values.at(1) == std::vector<std::optional<std::string>>{std::nullopt});
  const auto* tick = find(differences, "x-tick");
  CHECK((!tick->among_origins && tick->over_time));
  CHECK(find(differences, "server")->removed);
  CHECK(find(differences, "body")->offset == 2);
  const Proposals proposals = propose(differences, kAuthorities);
  CHECK(lines_of(proposals) ==
        std::vector<std::string>{R"(dropped_answer_headers = ["x-node", "x-tick"])"});
  CHECK(proposals.unsettled.size() == 1);
}

TEST_CASE("Last-Modified may be dropped or clamped, Set-Cookie neither") {
  AnswerSurvey survey(kProfile);
  survey.add(0, answer({{"Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"}, {"Set-Cookie", "0"}}));
  survey.add(1, answer({{"Last-Modified", "Sun, 06 Nov 1994 08:49:36 GMT"}, {"Set-Cookie", "1"}}));
  const Proposals proposals = propose(survey.differences(), kAuthorities);
  CHECK(lines_of(proposals) ==
        std::vector<std::string>{R"(dropped_answer_headers = ["last-modified"])",
                                 R"(last_modified_max = "Sun, 06 Nov 1994 08:49:36 GMT")"});
  REQUIRE(proposals.unsettled.size() == 1);
  CHECK(proposals.unsettled.front().starts_with("set-cookie: "));
}

TEST_CASE("an origin's own authority is proposed, somebody else's is not") {
  AnswerSurvey survey(kProfile);
  survey.add(0, answer({{"Location", "http://10.0.0.1:80/a"}}));
  survey.add(1, answer({{"Location", "http://10.0.0.2:80/a"}}));
  CHECK(lines_of(propose(survey.differences(), kAuthorities)) ==
        std::vector<std::string>{R"(origin_authorities = ["10.0.0.1:80", "10.0.0.2:80"])"});
  AnswerSurvey evil(kProfile);
  evil.add(0, answer({{"Location", "/a"}}));
  evil.add(1, answer({{"Location", "http://evil/a"}}));
  const Proposals proposals = propose(evil.differences(), kAuthorities);
  CHECK(proposals.lines.empty());
  CHECK(proposals.unsettled.size() == 1);
}

TEST_CASE("an origin on a default port writes none") {
  AnswerSurvey survey(kProfile);
  survey.add(0, answer({{"Location", "http://10.0.0.1/a"}}));
  survey.add(1, answer({{"Location", "https://10.0.0.2/a"}}));
  CHECK(lines_of(propose(survey.differences(), {"10.0.0.1:80", "10.0.0.2:443"})) ==
        std::vector<std::string>{R"(origin_authorities = ["10.0.0.1:80", "10.0.0.2:443"])"});
}

TEST_CASE("an authority is proposed only if that settles it") {
  AnswerSurvey survey(kProfile);
  survey.add(0, answer({{"Location", "http://10.0.0.1/a"}}));
  survey.add(1, answer({{"Location", "http://10.0.0.2/b"}}));
  const Proposals proposals = propose(survey.differences(), kAuthorities);
  CHECK(proposals.lines.empty());
  REQUIRE(proposals.unsettled.size() == 1);
  CHECK(proposals.unsettled.front().starts_with("location: "));
}

TEST_CASE("what has no canonical form is a failure") {
  AnswerSurvey survey(kProfile);
  survey.add(2, answer({{"Connection", "Set-Cookie"}, {"Set-Cookie", "a"}}));
  survey.add_failure(2, "broken");
  survey.add_failure(2, "broken");
  CHECK(survey.answers() == 0);
  CHECK(survey.failures().at({2, "no-canonical-form"}) == 1);
  CHECK(survey.failures().at({2, "broken"}) == 2);
}

}  // namespace prophecy::tools
