// `SiteDatabase` finds the address prefix that an address lies in, in a database of MaxMind's
// format (GeoLite2, and others), through libmaxminddb.
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/ip_address.hpp"

namespace prophecy::measurement {

class SiteDatabase {
 public:
  SiteDatabase();
  ~SiteDatabase();
  SiteDatabase(SiteDatabase&&) noexcept;
  SiteDatabase& operator=(SiteDatabase&&) noexcept;

  // Whether the file ends as such databases do.
  [[nodiscard]] static bool is_one(const std::filesystem::path& file);
  [[nodiscard]] Result<> open(const std::filesystem::path& file);
  [[nodiscard]] bool is_open() const { return static_cast<bool>(database_); }

  // The number of its prefix; nothing if the database has none for it.
  [[nodiscard]] std::optional<std::uint32_t> find(const IpAddress& address);
  // "192.0.2.0/24 DE Berlin": with country, city and operator, where the database has them.
  [[nodiscard]] const std::string& name_of(std::uint32_t number) const { return names_[number]; }

 private:
  struct Database;
  std::unique_ptr<Database> database_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // by name
};

}  // namespace prophecy::measurement
