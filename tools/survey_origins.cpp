#include "tools/survey_origins.hpp"

#include <memory>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "base/io/timeout_ticker.hpp"
#include "http/client/origin_pool.hpp"
#include "sketcher/installation/described_request.hpp"
#include "sketcher/installation/origin_settings.hpp"

namespace prophecy::tools {
namespace {

constexpr Duration kTick = milliseconds(100);

struct Plan {
  std::string url;
  std::uint32_t group = 0;
  std::string wire;
};

// The request that a sketcher would send, made by the same code.
Result<Plan> plan_for(const sketcher::Installation& installation, const sketcher::Router& router,
                      const std::string& url, const std::vector<std::string>& headers) {
  auto described = sketcher::read_described(installation, router, {.url = url, .headers = headers});
  if (!described) return described.error();
  if (described->refusal)
    return Error{ErrorKind::invalid, url + ": " + std::string(described->refusal->reason)};
  return Plan{url, installation.settings.routes[*described->route].group,
              std::move(described->form.wire)};
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
  const sketcher::Router router = sketcher::make_router(settings.routes);
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
