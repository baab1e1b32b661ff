// As which paths the letters of a request's path may be read by some origin. Origins differ in
// whether they decode %xx before they look for segments, take a backslash for a slash (as some on
// Windows do), or leave out of a segment what follows a semicolon (as servlet containers do),
// before they remove "." and "..". A rule about one of these paths has to hold for the request.
//
// Pure functions of the path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prophecy::sketcher {

// Everybody reads it as its letters say.
[[nodiscard]] bool is_plain_path(std::string_view path);

// Each different one once, 32 at most, without empty segments, "." and "..". `path` begins with a
// slash.
[[nodiscard]] std::vector<std::string> readings_of_path(std::string_view path);

}  // namespace prophecy::sketcher
