#include "sketcher/history/history_admin.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "sketcher/core/read/history_key.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kSampleInterval = seconds(1);
constexpr std::size_t kTopMax = 1000;
constexpr std::size_t kHeadersMax = 128;
// Each waits some milliseconds for whoever holds a bucket.
constexpr int kChangeTries = 20;

Error mistake(std::string problem) {
  return Error{ErrorKind::invalid, std::move(problem)};
}

std::string text_of(const nlohmann::json& request, const char* key, std::string fallback = "") {
  const auto found = request.find(key);
  return found != request.end() && found->is_string() ? found->get<std::string>()
                                                      : std::move(fallback);
}

Result<RequestDescription> description_of(const nlohmann::json& request) {
  RequestDescription description;
  description.url = text_of(request, "url");
  description.method = text_of(request, "method", description.method);
  description.client_address = text_of(request, "client", description.client_address);
  const auto headers = request.find("headers");
  if (headers == request.end()) return description;
  if (!headers->is_array() || headers->size() > kHeadersMax)
    return mistake("expected \"headers\" to be a list of at most " + std::to_string(kHeadersMax));
  for (const auto& header : *headers) {
    if (!header.is_string()) return mistake("expected \"headers\" to be texts");
    description.headers.push_back(header.get<std::string>());
  }
  return description;
}

std::optional<Mark> parse_mark(std::string_view text) {
  for (const Mark mark : {Mark::none, Mark::whitelisted, Mark::blacklisted}) {
    if (text == to_string(mark)) return mark;
  }
  return std::nullopt;
}

// Why such a mark would change nothing, whatever the route's mode; empty: it would.
std::string_view hindrance(const RouteSettings& route, Mark listed, Mark mark) {
  if (mark == Mark::none) return "";
  if (listed == Mark::none && route.reads != Reads::delay_once)
    return "no mark would have an effect: the route's reads do not use the history";
  if (listed == Mark::blacklisted && mark == Mark::whitelisted)
    return "the mark would have no effect: the route's blacklist has it";
  return "";
}

std::string as_line(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

HistoryAdmin::HistoryAdmin(boost::asio::io_context& loop, const Installation& installation,
                           HistoryTable& table, const SharedState& shared, Logger& log,
                           std::function<void()> reap)
    : installation_(installation),
      table_(table),
      shared_(shared),
      log_(log),
      reap_(std::move(reap)),
      router_(make_router(installation.settings.routes)),
      clocks_(installation.settings.groups.size()),
      timer_(loop) {}

void HistoryAdmin::start() {
  sample();
}

void HistoryAdmin::sample() {
  for (std::uint32_t group = 0; group < clocks_.size(); ++group) {
    // Of a group without an order, the latter says nothing before an answer is placed.
    const GroupNumbers& numbers = *shared_.group(group).numbers;
    clocks_[group].sample(milliseconds_of(TimePoint::clock::now()),
                          std::max(numbers.order.newest(), numbers.votes.newest()));
  }
  timer_.expires_after(kSampleInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) sample();
  });
}

std::string HistoryAdmin::answer(std::string_view command, const nlohmann::json& request) {
  Json answer;
  if (auto done = answer_to(command, request, answer); !done)
    answer = Json{{"error", done.error().message}};
  return as_line(answer);
}

Result<> HistoryAdmin::answer_to(std::string_view command, const nlohmann::json& request,
                                 Json& answer) {
  if (command == "history-stats") {
    answer = history_stats_json(sources());
    return {};
  }
  if (command == "history-top") {
    const auto count = request.find("count");
    if (count == request.end() || !count->is_number_unsigned() ||
        count->get<std::uint64_t>() > kTopMax)
      return mistake("expected \"count\" to be at most " + std::to_string(kTopMax));
    answer = top_requests_json(sources(), count->get<std::size_t>(), TimePoint::clock::now());
    return {};
  }
  const bool gets = command == "history-get";
  if (!gets && command != "history-mark" && command != "history-forget") {
    return mistake(
        "expected a history command to be history-stats, history-top, history-get, "
        "history-mark or history-forget");
  }
  const auto description = description_of(request);
  if (!description) return description.error();
  const auto described = read_described(installation_, router_, *description);
  if (!described) return described.error();
  Json shared = Json::object();
  if (!gets) {
    if (auto changed = change(command, text_of(request, "mark"), *description, *described, shared);
        !changed)
      return changed;
  }
  answer = request_json(sources(), *described, TimePoint::clock::now());
  answer.update(shared);
  return {};
}

Result<> HistoryAdmin::change(std::string_view command, const std::string& mark_name,
                              const RequestDescription& description,
                              const DescribedRequest& described, Json& shared) {
  if (described.refusal) {
    return mistake(description.url +
                   ": such a request is refused: " + std::string(described.refusal->reason));
  }
  const RouteSettings& route = installation_.settings.routes[*described.route];
  const Sketch key = history_key(table_.floors(route.group),
                                 installation_.groups[route.group].sketch, described.form);
  if (command == "history-forget") {
    const auto entry = table_.lookup(key);
    if (entry && entry->mark != Mark::none)
      return mistake(description.url + ": it carries a mark, which stays until it is unmarked");
    if (auto done = insist([&] { return table_.erase(key); }); !done) return done;
    log_.warning("history-forgotten", {{"method", description.method},
                                       {"url", description.url},
                                       {"route", route.name},
                                       {"key", to_hex(key)}});
    return {};
  }
  const auto mark = parse_mark(mark_name);
  if (!mark) return mistake("expected \"mark\" to be none, whitelisted or blacklisted");
  const std::string_view obstacle = hindrance(route, described.listed, *mark);
  if (!obstacle.empty()) return mistake(description.url + ": " + std::string(obstacle));
  if (marker_) {
    shared = marker_(key, *mark);
    if (shared.contains("error")) return mistake(shared["error"].get<std::string>());
  } else if (auto done = set_mark(key, *mark); !done) {
    return done;
  }
  log_.warning("history-marked", {{"method", description.method},
                                  {"url", description.url},
                                  {"route", route.name},
                                  {"key", to_hex(key)},
                                  {"mark", to_string(*mark)}});
  return {};
}

Result<> HistoryAdmin::set_mark(const Sketch& key, Mark mark) {
  return insist([&] { return table_.set_mark(key, mark); });
}

Result<> HistoryAdmin::insist(const std::function<ChangeOutcome()>& change) {
  for (int i = 0; i < kChangeTries; ++i) {
    switch (change()) {
      case ChangeOutcome::done:
        return {};
      case ChangeOutcome::full:
        return mistake("no room: every entry that it could take the place of carries a mark");
      case ChangeOutcome::busy:
        reap_();
    }
  }
  return Error{ErrorKind::io, "busy: another process has held the entry's place for too long"};
}

}  // namespace prophecy::sketcher
