#include "measurement/analysis/shared_answers.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "measurement/analysis/site.hpp"

namespace prophecy::measurement {

void SharedAnswers::add(UrlNumber url, const Answer& answer) {
  if (url >= known_.size()) known_.resize(std::max<std::size_t>(url + 1, 2 * known_.size()));
  if (known_[url] || answer.status != 200 || answer.body_bytes == 0) return;
  known_[url] = true;
  Seen seen;
  std::memcpy(&seen.sketch, answer.sketch.data(), sizeof seen.sketch);
  seen.url = url;
  seen_.push_back(seen);
}

std::vector<SharedAnswer> SharedAnswers::finish(const UrlTable& urls) {
  std::sort(seen_.begin(), seen_.end(), [](const Seen& one, const Seen& other) {
    return one.sketch != other.sketch ? one.sketch < other.sketch : one.url < other.url;
  });
  std::vector<SharedAnswer> shared;
  for (auto begin = seen_.begin(); begin != seen_.end();) {
    const auto end = std::find_if(begin, seen_.end(),
                                  [&](const Seen& seen) { return seen.sketch != begin->sketch; });
    if (end - begin >= static_cast<std::ptrdiff_t>(kUrlsMin)) {
      std::map<std::string_view, SharedAnswer> by_host;
      for (auto each = begin; each != end; ++each)
        by_host[host_of(urls.text_of(each->url))].urls.push_back(each->url);
      for (auto& [host, group] : by_host) {
        if (group.urls.size() >= kUrlsMin) shared.push_back(std::move(group));
      }
    }
    begin = end;
  }
  seen_ = {};
  std::sort(shared.begin(), shared.end(), [](const SharedAnswer& one, const SharedAnswer& other) {
    if (one.urls.size() != other.urls.size()) return one.urls.size() > other.urls.size();
    return one.urls.front() < other.urls.front();
  });
  if (shared.size() > kListedMax) shared.resize(kListedMax);
  return shared;
}

}  // namespace prophecy::measurement
