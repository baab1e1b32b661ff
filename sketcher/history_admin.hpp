// What operators ask of the history, answered by the master: the admin socket's commands that begin
// with "history-".
//
// Single-threaded, on the master's loop.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "history_table/history_table.hpp"
#include "sketcher/installation.hpp"
#include "sketcher/shared_state.hpp"

namespace prophecy::sketcher {

class HistoryAdmin {
 public:
  // All outlive it.
  HistoryAdmin(const Installation& installation, HistoryTable& table, const SharedState& shared);

  [[nodiscard]] static bool takes(std::string_view command) {
    return command.starts_with("history-");
  }
  // One line of JSON; {"error": ...} for what cannot be done. Requires that it takes the command.
  // `request` is an object that somebody else has written.
  [[nodiscard]] std::string answer(std::string_view command, const nlohmann::json& request);

 private:
  [[nodiscard]] std::string stats() const;

  const Installation& installation_;
  HistoryTable& table_;
  const SharedState& shared_;
};

}  // namespace prophecy::sketcher
