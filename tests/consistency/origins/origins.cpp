#include "consistency/origins/origins.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::uint64_t kBusyAnswerPercent =
    10;                                      // of a correct origin's answers, where it is noisy
constexpr std::uint64_t kWholePercent = 20;  // of answers to requests for a part

}  // namespace

Origins::Origins(const RunSettings& settings, simulation::Random& random)
    : settings_(settings), random_(random), liars_(settings, random) {
  for (Key key = 0; key < settings.keys; ++key)
    states_.push_back({"i" + std::to_string(key)});
  applied_.assign(settings.origins, std::vector<std::size_t>(settings.keys, 0));
}

void Origins::write(Key key, const std::string& value) {
  states_[key].push_back(value);
  if (settings_.has_lag() && (!is_calm_ || settings_.executes_ahead)) return;
  for (auto& applied : applied_)
    applied[key] = states_[key].size() - 1;
}

void Origins::apply(std::size_t origin, Key key, const std::string& value) {
  if (!settings_.has_lag() || (is_calm_ && !settings_.executes_ahead)) return;
  const auto found = std::find(states_[key].rbegin(), states_[key].rend(), value);
  ASSERT(found != states_[key].rend());
  applied_[origin][key] = static_cast<std::size_t>(states_[key].rend() - found) - 1;
}

void Origins::advance() {
  if (settings_.has_agents) return;
  const Key key = random_.below(states_.size());
  std::size_t& applied = applied_[random_.below(settings_.correct())][key];
  applied += random_.below(states_[key].size() - applied);
}

void Origins::calm_down() {
  is_calm_ = true;
  if (settings_.executes_ahead) return;
  for (auto& applied : applied_) {
    for (Key key = 0; key < states_.size(); ++key)
      applied[key] = states_[key].size() - 1;
  }
}

std::optional<PageAnswer> Origins::answer(std::size_t origin, const PageRequest& request) {
  const bool is_liar = settings_.is_liar(origin);
  if (is_liar && liars_.lies_to_read(request)) return liars_.lie(request, states_);
  std::string value;
  if (request.is_of_register()) {
    value = is_liar ? current(request.key) : states_[request.key][applied_[origin][request.key]];
  }
  PageAnswer answer = honest_answer(origin, request, value);
  if (request.page == Page::cookie && answer.status == 200) answer.cookie = new_cookie();
  answer.ignores_range = request.range && random_.chance(kWholePercent);
  liars_.note_seen(answer);
  return answer;
}

PageAnswer Origins::honest_answer(std::size_t origin, const PageRequest& request,
                                  const std::string& value) {
  if (request.is_write) return {.text = "written"};
  PageAnswer answer;
  switch (request.page) {
    case Page::register_value:
      answer.text = value;
      answer.is_large = settings_.has_blocks;
      break;
    case Page::agent:
    case Page::vary:
    case Page::large:
      answer.text = "agent=" + std::string(request.agent) + " from=" + std::string(request.address);
      answer.varies = request.page == Page::vary;
      answer.is_large = request.page == Page::large && settings_.has_blocks;
      break;
    case Page::cookie:
    case Page::other:
      answer.text = "welcome";
      break;
    case Page::host:
    case Page::large_host:
      answer.text = "web" + std::to_string(origin);
      answer.is_large = request.page == Page::large_host && settings_.has_blocks;
      break;
  }
  // Votes through agents would count as disputes (docs/health.md): their statuses are not known.
  const bool may_be_busy = settings_.is_noisy && settings_.has_votes && origin == 0;
  if (may_be_busy && !is_calm_ && random_.chance(kBusyAnswerPercent)) {
    const std::array<std::uint16_t, 3> kStatuses{429, 503, 408};
    answer = {.status = kStatuses[random_.below(3)], .text = "busy"};
  }
  return answer;
}

}  // namespace prophecy::consistency
