// `UrlSites` notes for each URL the address prefix of the first server address that a capture gives
// for it. Without prefixes it notes nothing, and takes no memory.
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "measurement/analysis/address_prefixes.hpp"
#include "measurement/analysis/url_table.hpp"
#include "measurement/site_database.hpp"

namespace prophecy::measurement {

class UrlSites {
 public:
  // Reads a file of prefixes, a line each, or a database of MaxMind's format.
  [[nodiscard]] Result<> read(const std::filesystem::path& file);

  void note(UrlNumber url, std::string_view address);
  [[nodiscard]] bool has_prefixes() const { return prefixes_.size() > 0 || database_.is_open(); }
  // Nothing if no address of the URL is known, or if it lies in no prefix.
  [[nodiscard]] std::optional<std::string> site_of(UrlNumber url) const;

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  static constexpr std::size_t kRememberedMax = 100'000;  // addresses

  AddressPrefixes prefixes_;
  SiteDatabase database_;               // in place of the prefixes, if it is open
  std::vector<std::uint32_t> numbers_;  // by URL
  std::unordered_map<std::string, std::uint32_t> known_;
};

}  // namespace prophecy::measurement
