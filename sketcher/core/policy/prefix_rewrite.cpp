#include "sketcher/core/policy/prefix_rewrite.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "http/authority.hpp"
#include "http/text.hpp"
#include "sketcher/core/policy/path_readings.hpp"
#include "sketcher/core/policy/router.hpp"

namespace prophecy::sketcher {
namespace {

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find_first_of("?#"));
}

// Its slash at the end belongs to what follows.
std::string_view stem_of(std::string_view prefix) {
  return prefix.ends_with('/') ? prefix.substr(0, prefix.size() - 1) : prefix;
}

// Browsers take "\" for "/", and leave out tabs and the like: what begins so names a host.
bool may_name_host(std::string_view path) {
  return path.size() > 1 && (path[1] == '/' || path[1] == '\\' || path[1] <= ' ');
}

}  // namespace

std::string replace_prefix(std::string_view path, std::string_view from, std::string_view to) {
  ASSERT(takes(from, path));
  std::string replaced(stem_of(to));
  replaced.append(path.substr(stem_of(from).size()));
  if (replaced.empty()) replaced.push_back('/');
  return replaced;
}

bool PrefixRewrite::apply(std::string& target) const {
  const std::string_view path = path_of(target);
  std::string rewritten = replace_prefix(path, from_, to_);
  if (!is_plain_path(rewritten)) {
    const auto readings = readings_of_path(rewritten);
    const bool stays = readings && std::all_of(readings->begin(), readings->end(),
                                               [&](const auto& one) { return takes(to_, one); });
    if (!stays) return false;
  }
  rewritten.append(std::string_view(target).substr(path.size()));
  target = std::move(rewritten);
  return true;
}

std::optional<std::string> PrefixRewrite::restore(std::string_view reference,
                                                  std::string_view scheme,
                                                  std::string_view authority) const {
  std::string_view rest = reference;
  if (!reference.starts_with('/') || reference.starts_with("//")) {
    const http::TargetParts parts = http::split_target(reference);
    std::string other;
    const bool is_here = http::equal_ignoring_case(parts.scheme, scheme) &&
                         http::normalize_authority(parts.authority, scheme, other) &&
                         other == authority;
    if (!is_here) return std::nullopt;
    rest = parts.path;
  }
  const std::string_view path = path_of(rest);
  if (!takes(to_, path)) return std::nullopt;
  std::string restored(reference.substr(0, reference.size() - rest.size()));
  const std::string restored_path = replace_prefix(path, to_, from_);
  if (restored.empty() && may_name_host(restored_path))
    restored.append(scheme).append("://").append(authority);
  restored.append(restored_path).append(rest.substr(path.size()));
  return restored;
}

}  // namespace prophecy::sketcher
