#include "sketcher/divergence_log.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace prophecy::sketcher {

Result<> DivergenceLog::open(const std::string& path) {
  file_.reset(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (!file_) return io_error("divergence log " + path);
  return {};
}

void DivergenceLog::add(std::string_view event) {
  if (event.size() < 2 || event.front() != '{') return;
  // Numbered by putting one member more in front of those that the worker wrote.
  std::string line = "{\"id\":" + std::to_string(next_++) + ",";
  line += event.substr(1);
  log_.warning("divergence", {{"evidence", line}});
  kept_.push_back(line);
  if (kept_.size() > kKept) kept_.pop_front();
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
  const std::uint64_t first = next_ - kept_.size();
  std::string json = "{\"next\":" + std::to_string(next_) + ",\"events\":[";
  bool empty = true;
  for (std::uint64_t id = std::max(since, first); id < next_; ++id) {
    if (!empty) json += ',';
    json += kept_[id - first];
    empty = false;
  }
  return json + "]}";
}

}  // namespace prophecy::sketcher
