#include "measurement/capture/url_list.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "measurement/input/url.hpp"

namespace prophecy::measurement {
namespace {

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = line.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kSpace) - begin + 1);
}

// "#" at the beginning, or behind a space: a URL may have one within.
std::string_view without_comment(std::string_view line) {
  if (line.starts_with('#')) return {};
  return line.substr(0, std::min(line.find(" #"), line.find("\t#")));
}

}  // namespace

Result<std::vector<ListedUrl>> read_url_list(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return io_error(path.string());
  std::vector<ListedUrl> list;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view entry = trimmed(without_comment(line));
    if (entry.empty()) continue;
    const bool has_scheme = entry.find("://") != std::string_view::npos;
    const auto parts = split_url(has_scheme ? std::string(entry) : "https://" + std::string(entry));
    const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
    if (!parts || !std::all_of(entry.begin(), entry.end(), is_visible)) {
      return Error{ErrorKind::invalid,
                   fmt::format("{}:{}: expected an http or https URL", path.string(), number)};
    }
    list.push_back({parts->scheme + "://" + parts->authority + parts->target, parts->authority});
  }
  if (file.bad()) return io_error(path.string());
  if (list.empty()) return Error{ErrorKind::invalid, path.string() + ": names no URL"};
  return list;
}

}  // namespace prophecy::measurement
