// What operators ask of the history, and change in it, answered by the master: the admin socket's
// commands that begin with "history-". A request is named by its URL and headers, and read by the
// code that reads clients' requests.
//
// Single-threaded, on the master's loop.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/core/read/sigma_clock.hpp"
#include "sketcher/history/history_report.hpp"
#include "sketcher/installation/described_request.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

class HistoryAdmin {
 public:
  // `reap` cleans up after workers that have died. All outlive it; the loop does not run any more
  // when it is destroyed.
  HistoryAdmin(boost::asio::io_context& loop, const Installation& installation, HistoryTable& table,
               const SharedState& shared, Logger& log, std::function<void()> reap);

  // From now on the ages of sigmas are known.
  void start();

  // Of a member of a ring, whose marks are shared: by what a mark is set, and what the answer to an
  // operator has to say of it, or {"error": TEXT}.
  using Marker = std::function<nlohmann::ordered_json(const Sketch& key, Mark mark)>;
  void mark_by(Marker marker) { marker_ = std::move(marker); }
  // In this table alone.
  [[nodiscard]] Result<> set_mark(const Sketch& key, Mark mark);

  [[nodiscard]] static bool takes(std::string_view command) {
    return command.starts_with("history-");
  }
  // One line of JSON; {"error": ...} for what cannot be done. Requires that it takes the command.
  // `request` is an object that somebody else has written.
  [[nodiscard]] std::string answer(std::string_view command, const nlohmann::json& request);

 private:
  void sample();
  [[nodiscard]] Result<> answer_to(std::string_view command, const nlohmann::json& request,
                                   nlohmann::ordered_json& answer);
  // Marks the request, or forgets it.
  [[nodiscard]] Result<> change(std::string_view command, const std::string& mark_name,
                                const RequestDescription& description,
                                const DescribedRequest& described, nlohmann::ordered_json& shared);
  // Again and again, while somebody holds what is to be changed.
  [[nodiscard]] Result<> insist(const std::function<ChangeOutcome()>& change);
  [[nodiscard]] HistorySources sources() const { return {installation_, table_, shared_, clocks_}; }

  const Installation& installation_;
  HistoryTable& table_;
  const SharedState& shared_;
  Logger& log_;
  std::function<void()> reap_;
  Marker marker_;
  Router router_;
  std::vector<SigmaClock> clocks_;  // by group
  boost::asio::steady_timer timer_;
};

}  // namespace prophecy::sketcher
