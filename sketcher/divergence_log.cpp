#include "sketcher/divergence_log.hpp"

#include <algorithm>

#include <fcntl.h>
#include <unistd.h>

#include "sketcher/divergence.hpp"

namespace prophecy::sketcher {

Result<> DivergenceLog::open(const std::string& path) {
  file_.reset(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (!file_) return io_error("divergence log " + path);
  return {};
}

void DivergenceLog::add(std::string_view event) {
  if (event.size() < 2 || event.front() != '{') return;
  // Numbered by putting one member more in front of those that the worker wrote.
  const bool of_shadow = event.starts_with(kShadowEventBegin);
  if (!of_shadow) ++accusing_;
  const std::uint64_t id = next_++;
  std::string line = "{\"id\":" + std::to_string(id) + ",";
  line += event.substr(1);
  log_.warning("divergence", {{"evidence", line}});
  kept_.push_back({id, of_shadow, line});
  if (kept_.size() > kKept) {
    const auto shadows =
        std::find_if(kept_.begin(), kept_.end(), [](const Kept& each) { return each.of_shadow; });
    kept_.erase(shadows == kept_.end() ? kept_.begin() : shadows);
  }
  if (!file_) return;
  line += '\n';
  const bool failed =
      ::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size());
  if (failed && !write_failed_) {
    log_.error("divergence-log", {{"problem", io_error("write").message}});
  }
  write_failed_ = failed;
}

std::string DivergenceLog::since(std::uint64_t since) const {
  std::string json = "{\"next\":" + std::to_string(next_) + ",\"events\":[";
  bool empty = true;
  for (const Kept& each : kept_) {
    if (each.id < since) continue;
    if (!empty) json += ',';
    json += each.line;
    empty = false;
  }
  return json + "]}";
}

}  // namespace prophecy::sketcher
