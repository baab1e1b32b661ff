#include "measurement/proposal/proposal.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "http/text.hpp"
#include "measurement/proposal/canonical_proposal.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::size_t kListedPathsMax = 1024;  // of a route

struct PathNode {
  Pairs pairs;  // of the URLs at this path
  std::map<std::string, PathNode, std::less<>> below;

  [[nodiscard]] Pairs all() const {
    Pairs sum = pairs;
    for (const auto& [name, node] : below) {
      const Pairs part = node.all();
      sum.pairs += part.pairs;
      sum.transitions += part.transitions;
    }
    return sum;
  }
};

// Whether the sketcher's settings take this segment in a path.
bool is_plain(std::string_view segment) {
  return !segment.empty() && segment != "." && segment != ".." &&
         std::all_of(segment.begin(), segment.end(), [](char c) {
           return c > ' ' && c < 0x7f && c != '%' && c != ';' && c != '\\' && c != '"' && c != '#';
         });
}

// The node of the longest plain beginning of the path.
PathNode& node_of(PathNode& root, std::string_view path, bool& is_whole) {
  PathNode* node = &root;
  is_whole = true;
  path.remove_prefix(std::min<std::size_t>(1, path.size()));
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    if (!is_plain(segment)) {
      is_whole = end == path.size() && segment.empty();
      return *node;
    }
    node = &node->below[std::string(segment)];
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return *node;
}

// The share of failing fast reads from which on replicating at once is cheaper.
double break_even(const CostModel& cost) {
  const double replicated = cost.replicated();
  return std::clamp((replicated - cost.fast_read - 2 * cost.history) / (replicated + cost.history),
                    0.0, 1.0);
}

struct Listed {
  std::string path;
  Pairs pairs;
};

// Paths all of whose URLs with enough pairs are above the limit, each as short as it can be.
// Yields whether the node is one.
bool collect(const PathNode& node, const std::string& path, double limit,
             std::vector<Listed>& listed) {
  const std::size_t before = listed.size();
  bool all = node.pairs.pairs == 0 || (node.pairs.ratio() > limit);
  for (const auto& [name, below] : node.below) {
    const bool is_one = collect(below, (path == "/" ? "" : path) + "/" + name, limit, listed);
    all = all && is_one;
  }
  const Pairs sum = node.all();
  if (!all || sum.pairs < kProposedPairsMin || path == "/") return all && sum.ratio() > limit;
  listed.erase(listed.begin() + static_cast<std::ptrdiff_t>(before), listed.end());
  listed.push_back({path, sum});
  return true;
}

struct HostFigures {
  PathNode root;
  std::uint64_t urls = 0;
  Pairs pairs;
};

void write_route(const std::string& host, const HostFigures& figures, double limit,
                 std::ostream& out) {
  std::vector<Listed> listed;
  collect(figures.root, "/", limit, listed);
  if (listed.size() > kListedPathsMax) listed.resize(kListedPathsMax);
  out << fmt::format("\n# {} URLs, {} of {} pairs differ: {:.1f} %\n[[route]]\nhosts = [\"{}\"]\n",
                     figures.urls, figures.pairs.transitions, figures.pairs.pairs,
                     100 * figures.pairs.ratio(), host);
  if (listed.empty()) return;
  out << "# The group answers these at once: they change too often for fast reads.\nblacklist = "
         "[\n";
  for (const Listed& each : listed) {
    out << fmt::format("  \"{}\",  # {} of {} pairs differ\n", each.path, each.pairs.transitions,
                       each.pairs.pairs);
  }
  out << "]\n";
}

// As in `hosts`: with a port, if the URL has one.
std::string_view authority_of(std::string_view url) {
  const std::size_t begin = url.find("://") + 3;
  return url.substr(begin, url.find_first_of("/?#", begin) - begin);
}

std::string_view path_of(std::string_view url) {
  const std::size_t begin = std::min(url.find('/', url.find("://") + 3), url.size());
  return url.substr(begin, url.find_first_of("?#", begin) - begin);
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [](char c) {
    return http::is_token_char(c) || c == ':' || c == '[' || c == ']';
  }) && text.find_first_of("\"*'") == std::string_view::npos;
}

}  // namespace

void write_routes(const MeasurementResult& result, const CostModel& cost, const Parties* parties,
                  std::ostream& out) {
  std::map<std::string, HostFigures, std::less<>> hosts;
  std::uint64_t left_out = 0;
  for (const UrlFigures& figures : result.figures) {
    const std::string_view url = result.urls.text_of(figures.url);
    const std::string_view authority = authority_of(url);
    if (parties != nullptr && !parties->is_first(host_of(url))) continue;
    if (!is_host(authority) || figures.sketched.pairs == 0) {
      ++left_out;
      continue;
    }
    HostFigures& host = hosts[std::string(authority)];
    ++host.urls;
    host.pairs.pairs += figures.sketched.pairs;
    host.pairs.transitions += figures.sketched.transitions;
    bool is_whole = false;
    PathNode& node = node_of(host.root, path_of(url), is_whole);
    node.pairs.pairs += figures.sketched.pairs;
    node.pairs.transitions += figures.sketched.transitions;
  }
  const double limit = break_even(cost);
  out << fmt::format("# Proposed by prophecy-measure " PROPHECY_VERSION
                     ", to be read before it is used.\n"
                     "# For sketcher.toml, in place of its [[route]] sections.\n"
                     "# Measured without the site's users: pages behind a login are not in it.\n"
                     "# With C_r = {:.0f}, C_R = {:.0f}, C_hist = {:.0f} and N = {}, fast reads "
                     "pay up to {:.0f} % "
                     "transitions.\n"
                     "# {} URLs without a repeated, sketched answer are left out.\n",
                     cost.fast_read, cost.replicated_read, cost.history, cost.replicas, 100 * limit,
                     left_out);
  for (const auto& [host, figures] : hosts)
    write_route(host, figures, limit, out);
}

Result<> write_proposal(const MeasurementResult& result, const CostModel& cost,
                        const Parties* parties, const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return Error{ErrorKind::io, folder.string() + ": " + problem.message()};
  std::ofstream routes(folder / "routes.toml", std::ios::binary);
  write_routes(result, cost, parties, routes);
  routes.close();
  if (!routes) return io_error((folder / "routes.toml").string());
  std::ofstream canonical(folder / "canonical.toml", std::ios::binary);
  canonical << canonical_text(result);
  canonical.close();
  if (!canonical) return io_error((folder / "canonical.toml").string());
  return {};
}

}  // namespace prophecy::measurement
