// Names of nodes: "/", or "/one/two" without empty, "." and ".." components.
#pragma once

#include <string_view>

namespace prophecy::zookeeper {

// As a server would accept it; and shorter than kPathBytesMax, of visible ASCII characters alone.
[[nodiscard]] bool is_path(std::string_view path);
// A component of a path.
[[nodiscard]] bool is_name(std::string_view name);

}  // namespace prophecy::zookeeper
