#include "measurement/analysis/site.hpp"

#include <algorithm>

#include <libpsl.h>

#include "base/ip_address.hpp"
#include "http/text.hpp"
#include "measurement/input/url.hpp"

namespace prophecy::measurement {

std::string_view host_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('/'));
  if (url.starts_with('[')) return url.substr(0, url.find(']') + 1);
  return url.substr(0, url.find(':'));
}

std::optional<std::string> named_host(std::string_view text) {
  const bool has_scheme = text.find("://") != std::string_view::npos;
  if (!has_scheme && text.ends_with('.')) text.remove_suffix(1);
  const auto parts = split_url((has_scheme ? "" : "http://") + std::string(text));
  if (!parts || (!has_scheme && parts->target != "/")) return std::nullopt;
  const std::string url = parts->scheme + "://" + parts->authority + "/";
  return std::string(host_of(url));
}

std::string site_of(std::string_view host) {
  std::string name(host);
  if (name.starts_with('[') || IpAddress::parse(name)) return name;
  const char* domain = ::psl_registrable_domain(::psl_builtin(), name.c_str());
  if (domain != nullptr) return domain;
  return name;
}

Parties::Parties(PartyMode mode, const std::vector<std::string>& names) : mode_(mode) {
  for (const std::string& name : names) {
    std::string lowered;
    http::append_lower(lowered, name);
    names_.push_back(mode == PartyMode::same_site ? site_of(lowered) : lowered);
  }
}

bool Parties::is_first(std::string_view host) const {
  if (mode_ == PartyMode::same_site) {
    return std::find(names_.begin(), names_.end(), site_of(host)) != names_.end();
  }
  return std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
    if (host == name) return true;
    return host.size() > name.size() && host.ends_with(name) &&
           host[host.size() - name.size() - 1] == '.';
  });
}

}  // namespace prophecy::measurement
