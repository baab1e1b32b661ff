// As which paths the letters of a request's path may be read by some origin. Origins differ in
// whether they decode %xx before they look for segments, take a backslash for a slash (as some on
// Windows do), or leave out of a segment what follows a semicolon (as servlet containers do),
// before they remove "." and "..". Some decode twice (%2561 is %61 is a): a front end that passes
// on what it has decoded. A rule about one of these paths has to hold for the request.
// docs/canonical-form.md lists the readings that are not among these.
//
// Pure functions of the path.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prophecy::sketcher {

// Everybody reads it as its letters say.
[[nodiscard]] bool is_plain_path(std::string_view path);

// Of all readings that are made of one path: a long path that can be read in many ways is not worth
// the time. A path of 8 KiB that is percent-encoded throughout has room.
constexpr std::size_t kReadingsBytesMax = 32 << 10;
constexpr std::size_t kReadingsMax = 48;

// Each different one once, without empty segments, "." and "..". `path` begins with a slash.
// Nothing when there are more than kReadingsBytesMax of them; it takes no more than linear time in
// that.
[[nodiscard]] std::optional<std::vector<std::string>> readings_of_path(std::string_view path);

}  // namespace prophecy::sketcher
