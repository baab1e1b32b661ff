#include "sketcher/reads/access_log.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/bytes.hpp"
#include "base/json_text.hpp"
#include "sketcher/shared/log_file.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kBytesMax = 64 << 10;
constexpr std::array<std::string_view, 5> kAnsweredBy = {"fast", "group", "unverified", "blocks",
                                                         "sketcher"};
// The last bytes of s(q) (the first ones name the partition) tell the variants of one URL apart.
constexpr std::size_t kVariantBytes = 4;

void append_member(std::string_view name, std::string_view text, std::string& out) {
  out.append(",\"").append(name).append("\":\"");
  append_json_text(text, out);
  out.push_back('"');
}

}  // namespace

void AccessLog::append(const AccessEntry& entry) {
  const auto now =
      std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch());
  auto out = std::back_inserter(lines_);
  fmt::format_to(out, "{{\"prophecy_access\":1,\"time\":{}.{:06}", now.count() / 1'000'000,
                 now.count() % 1'000'000);
  append_member("client", entry.client, lines_);
  append_member("method", entry.method, lines_);
  if (!entry.authority.empty()) {
    lines_.append(",\"url\":\"").append(entry.scheme).append("://");
    append_json_text(entry.authority, lines_);
    append_json_text(entry.target, lines_);
    lines_.push_back('"');
  }
  fmt::format_to(out, ",\"status\":{},\"bytes\":{},\"by\":\"{}\",\"micros\":{}", entry.status,
                 entry.body_bytes, kAnsweredBy[static_cast<std::size_t>(entry.by)],
                 std::chrono::duration_cast<microseconds>(entry.took).count());
  if (!entry.reason.empty()) append_member("reason", entry.reason, lines_);
  if (entry.key != nullptr) {
    lines_.append(",\"variant\":\"");
    lines_.append(to_hex(ByteView(*entry.key).last(kVariantBytes))).push_back('"');
  }
  if (entry.sketch != nullptr && *entry.sketch) {
    lines_.append(",\"sketch\":\"").append(to_hex(**entry.sketch)).push_back('"');
  }
  lines_.append("}\n");
  ++count_;
  if (lines_.size() >= kBytesMax) flush();
}

void AccessLog::flush() {
  std::string_view left = lines_;
  while (!left.empty()) {
    const ssize_t size = ::write(file_.get(), left.data(), left.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    left.remove_prefix(static_cast<std::size_t>(size));
  }
  if (!left.empty() && !std::exchange(is_failing_, true)) {
    log_.error("access-log", {{"problem", io_error("access log").message}, {"lines", count_}});
  }
  if (left.empty() && !lines_.empty()) is_failing_ = false;
  lines_.clear();
  count_ = 0;
}

void AccessLog::reopen(const std::filesystem::path& path) {
  flush();
  auto opened = open_log_file(path, kAccessLogName);
  if (!opened) {
    return log_.error("access-log-not-reopened", {{"problem", opened.error().message}});
  }
  file_ = std::move(*opened);
}

}  // namespace prophecy::sketcher
