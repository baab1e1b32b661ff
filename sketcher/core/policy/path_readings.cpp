#include "sketcher/core/policy/path_readings.hpp"

#include <algorithm>

namespace prophecy::sketcher {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view path) {
  std::string decoded;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const int high = path[i] == '%' && i + 2 < path.size() ? digit(path[i + 1]) : -1;
    const int low = high >= 0 ? digit(path[i + 2]) : -1;
    if (low < 0) {
      decoded.push_back(path[i]);
    } else {
      decoded.push_back(static_cast<char>(16 * high + low));
      i += 2;
    }
  }
  return decoded;
}

std::string with_slashes(std::string_view path) {
  std::string result(path);
  std::replace(result.begin(), result.end(), '\\', '/');
  return result;
}

// Each segment ends at its first semicolon.
std::string without_parameters(std::string_view path) {
  std::string result;
  bool in_parameters = false;
  for (const char c : path) {
    in_parameters = c != '/' && (in_parameters || c == ';');
    if (!in_parameters) result.push_back(c);
  }
  return result;
}

// Without empty segments, "." and ".." (RFC 3986, 5.2.4).
std::string without_dots(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    if (segment == "..") {
      result.erase(std::min(result.rfind('/'), result.size()));
    } else if (!segment.empty() && segment != ".") {
      result.append(1, '/').append(segment);
    }
  }
  return result.empty() ? "/" : result;
}

// Segments "." or "..".
bool has_dot_segments(std::string_view path) {
  for (std::size_t at = path.find("/."); at != std::string_view::npos;
       at = path.find("/.", at + 1)) {
    std::string_view rest = path.substr(at + 2);
    if (rest.starts_with('.')) rest.remove_prefix(1);
    if (rest.empty() || rest.starts_with('/')) return true;
  }
  return false;
}

}  // namespace

bool is_plain_path(std::string_view path) {
  return path.find_first_of("%\\;") == std::string_view::npos &&
         path.find("//") == std::string_view::npos && !has_dot_segments(path);
}

std::optional<std::vector<std::string>> readings_of_path(std::string_view path) {
  std::vector<std::string> readings{std::string(path)};
  std::size_t bytes = 0;
  const auto add = [](std::vector<std::string>& to, std::string reading) {
    if (std::find(to.begin(), to.end(), reading) == to.end()) to.push_back(std::move(reading));
  };
  // Adds the readings of those from `first` on, where they hold what the step changes. False: it
  // would be too much.
  const auto take = [&](char changed, auto step, std::size_t first) {
    for (std::size_t i = readings.size(); i-- > first;) {
      if (readings[i].find(changed) == std::string::npos) continue;
      bytes += readings[i].size();
      if (bytes > kReadingsBytesMax) return false;
      add(readings, step(readings[i]));
    }
    return true;
  };
  // An origin takes any of these steps, and decodes in between, or not, or twice.
  if (!take('\\', with_slashes, 0) || !take(';', without_parameters, 0)) return std::nullopt;
  const std::size_t undecoded = readings.size();
  if (!take('%', percent_decoded, 0) || !take('%', percent_decoded, undecoded) ||
      !take('\\', with_slashes, 0) || !take(';', without_parameters, 0)) {
    return std::nullopt;
  }
  std::vector<std::string> results;
  for (const std::string& reading : readings) {
    bytes += reading.size();
    if (bytes > kReadingsBytesMax) return std::nullopt;
    add(results, without_dots(reading));
  }
  return results;
}

}  // namespace prophecy::sketcher
