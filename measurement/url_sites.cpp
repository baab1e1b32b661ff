#include "measurement/url_sites.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace prophecy::measurement {

Result<> UrlSites::read(const std::filesystem::path& file) {
  std::error_code problem;
  // Reading one as a file would throw.
  if (std::filesystem::is_directory(file, problem)) {
    return Error{ErrorKind::invalid, file.string() + ": a directory; expected a file"};
  }
  if (SiteDatabase::is_one(file)) return database_.open(file);
  std::ifstream input(file, std::ios::binary);
  if (!input) return io_error(file.string());
  std::string line;
  for (std::uint64_t number = 1; std::getline(input, line); ++number) {
    if (!prefixes_.add_line(line)) {
      return Error{ErrorKind::invalid, file.string() + ":" + std::to_string(number) +
                                           ": expected ADDRESS/BITS and an optional name"};
    }
  }
  if (input.bad()) return io_error(file.string());
  if (!has_prefixes()) return Error{ErrorKind::invalid, file.string() + ": no prefixes"};
  prefixes_.sort();
  return {};
}

void UrlSites::note(UrlNumber url, std::string_view address) {
  if (!has_prefixes() || address.empty()) return;
  if (url >= numbers_.size()) numbers_.resize(std::size_t{url} + 1, kUnknown);
  if (numbers_[url] != kUnknown) return;
  const std::string key(address);
  auto found = known_.find(key);
  if (found == known_.end()) {
    if (known_.size() == kRememberedMax) known_.clear();
    // Browsers write an IPv6 address in brackets.
    std::string_view plain = address;
    if (plain.starts_with('[') && plain.ends_with(']')) plain = plain.substr(1, plain.size() - 2);
    const auto parsed = IpAddress::parse(plain);
    std::optional<std::uint32_t> number;
    if (parsed) number = database_.is_open() ? database_.find(*parsed) : prefixes_.find(*parsed);
    found = known_.emplace(key, number.value_or(kUnknown)).first;
  }
  numbers_[url] = found->second;
}

std::optional<std::string> UrlSites::site_of(UrlNumber url) const {
  if (url >= numbers_.size() || numbers_[url] == kUnknown) return std::nullopt;
  return database_.is_open() ? database_.name_of(numbers_[url]) : prefixes_.name_of(numbers_[url]);
}

}  // namespace prophecy::measurement
