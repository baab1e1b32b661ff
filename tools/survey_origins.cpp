#include "tools/survey_origins.hpp"

#include <memory>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "base/timeout_ticker.hpp"
#include "http/authority.hpp"
#include "http/client/origin_pool.hpp"
#include "http/parser.hpp"
#include "http/text.hpp"
#include "sketch/request_form.hpp"
#include "sketcher/core/router.hpp"
#include "sketcher/origin_settings.hpp"

namespace prophecy::tools {
namespace {

constexpr Duration kTick = milliseconds(100);
constexpr std::string_view kClientAddress = "127.0.0.1";

struct Plan {
  std::string url;
  std::uint32_t group = 0;
  std::string wire;
};

Error mistake(const std::string& url, std::string_view problem) {
  return Error{ErrorKind::invalid, url + ": " + std::string(problem)};
}

// The request that a sketcher would send, made by the same code.
Result<Plan> plan_for(const sketcher::Installation& installation, const sketcher::Router& router,
                      const std::string& url, const std::vector<std::string>& headers) {
  const http::TargetParts parts = http::split_target(url);
  const bool is_https = http::equal_ignoring_case(parts.scheme, "https");
  if (parts.authority.empty() || !(is_https || http::equal_ignoring_case(parts.scheme, "http"))) {
    return mistake(url, "expected a URL like http://www.example.org/path");
  }
  std::string text = "GET " + url + " HTTP/1.1\r\nHost: " + std::string(parts.authority) + "\r\n";
  for (const std::string& header : headers)
    text += header + "\r\n";
  text += "\r\n";
  http::Request request;
  http::RequestParser parser(request, installation.settings.limits.request);
  auto progress = parser.feed(text);
  std::size_t consumed = progress.consumed;
  if (progress.state == http::ParseState::head_done) {
    progress = parser.feed(std::string_view(text).substr(consumed));
    consumed += progress.consumed;
  }
  if (progress.state != http::ParseState::complete || consumed != text.size()) {
    return mistake(url, "makes no valid request with these headers");
  }
  const sketch::RequestContext context{.scheme = is_https ? "https" : "http",
                                       .client_address = kClientAddress};
  sketch::RequestCanonicalizer canonicalizer(installation.settings.forwarding);
  sketch::RequestForm form;
  if (const auto refusal = canonicalizer.locate(request, context, form)) {
    return mistake(url, refusal->reason);
  }
  const auto choice = router.choose(form.authority, form.target);
  if (!choice.route) return mistake(url, "no route takes it");
  const std::uint32_t group = installation.settings.routes[*choice.route].group;
  if (const auto refusal =
          canonicalizer.canonicalize(request, context, installation.groups[group].profile, form)) {
    return mistake(url, refusal->reason);
  }
  return Plan{url, group, form.wire};
}

// Asks all origins of a group one request at a time.
class GroupSurveyor {
 public:
  GroupSurveyor(boost::asio::io_context& loop, http::OriginTimeouts& timeouts,
                const std::vector<http::OriginSettings>& origins)
      : loop_(loop) {
    for (const http::OriginSettings& origin : origins)
      pools_.push_back(std::make_unique<http::OriginPool>(loop, origin, timeouts));
  }

  void ask(const std::string& wire, AnswerSurvey& survey) {
    std::vector<std::unique_ptr<Ask>> asks;
    left_ = pools_.size();
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      asks.push_back(std::make_unique<Ask>(*this, survey, static_cast<NodeId>(i)));
      pools_[i]->start(asks.back()->exchange, {.wire = wire, .repeat_when_stale = true});
    }
    while (left_ > 0)
      loop_.run_one();
  }

 private:
  struct Ask final : http::OriginHandler {
    Ask(GroupSurveyor& of, AnswerSurvey& into, NodeId origin)
        : surveyor(of), survey(into), replica(origin), exchange(*this) {}
    void on_exchange_end(http::OriginExchange& /*exchange*/, http::ExchangeEnd end,
                         http::Response& response) override {
      --surveyor.left_;
      if (end == http::ExchangeEnd::answered) return survey.add(replica, response);
      survey.add_failure(replica, http::to_string(end));
    }
    GroupSurveyor& surveyor;
    AnswerSurvey& survey;
    NodeId replica;
    http::OriginExchange exchange;
  };

  boost::asio::io_context& loop_;
  std::vector<std::unique_ptr<http::OriginPool>> pools_;
  std::size_t left_ = 0;
};

}  // namespace

Result<std::vector<SurveyedUrl>> survey_origins(const sketcher::Installation& installation,
                                                const SurveyPlan& plan) {
  const sketcher::Settings& settings = installation.settings;
  std::vector<sketcher::RoutePattern> patterns;
  for (const sketcher::RouteSettings& route : settings.routes)
    patterns.push_back(route.pattern);
  const sketcher::Router router(patterns);
  std::vector<Plan> plans;
  std::vector<SurveyedUrl> surveyed;
  for (const std::string& url : plan.urls) {
    auto planned = plan_for(installation, router, url, plan.headers);
    if (!planned) return planned.error();
    surveyed.push_back(
        {url, planned->group, AnswerSurvey(installation.groups[planned->group].profile)});
    plans.push_back(std::move(*planned));
  }
  http::OriginTimeouts timeouts{.connect = TimeoutQueue(settings.timeouts.connect),
                                .answer = TimeoutQueue(settings.timeouts.answer),
                                .idle = TimeoutQueue(settings.timeouts.origin_idle)};
  boost::asio::io_context loop{1};
  TimeoutTicker ticker(loop, kTick, {&timeouts.connect, &timeouts.answer, &timeouts.idle});
  ticker.start();
  std::vector<std::unique_ptr<GroupSurveyor>> groups;
  for (std::size_t i = 0; i < installation.groups.size(); ++i) {
    groups.push_back(std::make_unique<GroupSurveyor>(
        loop, timeouts,
        sketcher::origin_settings(settings, settings.groups[i], installation.groups[i])));
  }
  for (std::uint32_t round = 0; round < plan.rounds; ++round) {
    if (round > 0) std::this_thread::sleep_for(plan.interval);
    for (std::size_t i = 0; i < plans.size(); ++i)
      groups[plans[i].group]->ask(plans[i].wire, surveyed[i].survey);
  }
  return surveyed;
}

}  // namespace prophecy::tools
