// Asks a program on its admin socket, for the commands of prophecyctl.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace prophecy::tools {

// Sends {"command": ...}, with files if there are any, and fills in the answer, which is an object;
// {"error": ...} is an error. (Not a Result of JSON: that type converts from everything, from an
// Error too.)
[[nodiscard]] Result<> ask(const std::filesystem::path& socket,
                           const nlohmann::ordered_json& request, nlohmann::ordered_json& answer,
                           std::span<const int> files = {});

// Fills in the JSON that `text` is; null: it is none, or deeper than any answer of ours.
void parse_answer(std::string_view text, nlohmann::ordered_json& answer);

// For a command that shows something: the answer must pass `check`, or it is not `what` it ought to
// be. False: what is wrong has been printed.
[[nodiscard]] bool ask_for(const std::filesystem::path& socket, std::string_view command,
                           std::string_view what,
                           Result<> (*check)(const nlohmann::ordered_json& answer),
                           nlohmann::ordered_json& answer);
// Likewise, for a command that needs to be told more.
[[nodiscard]] bool ask_with(const std::filesystem::path& socket,
                            const nlohmann::ordered_json& request, std::string_view what,
                            Result<> (*check)(const nlohmann::ordered_json& answer),
                            nlohmann::ordered_json& answer);

// For a command that only tells it something: prints what is wrong, and yields the exit status.
[[nodiscard]] int tell(const std::filesystem::path& socket, const nlohmann::ordered_json& request);

// `answer`: of a member of a ring to a change that an operator has made. If it shares the change,
// waits some seconds for the ring, and says how that ended. Returns the exit status: 0, unless the
// change does not hold.
[[nodiscard]] int report_sharing(const std::filesystem::path& socket,
                                 const nlohmann::ordered_json& answer);

}  // namespace prophecy::tools
