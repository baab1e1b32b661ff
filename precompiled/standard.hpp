// Compiled once for each library that names it (cpp_pch), in front of each of its sources. Nothing
// includes it: a source says by itself what it needs, and builds without it (-Db_pch=false).
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
