#include "measurement/site_database.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>

#include <maxminddb.h>

#include "transport/socket_address.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kMark = "\xab\xcd\xefMaxMind.com";
constexpr std::streamoff kMetadataBytesMax = 128 << 10;
constexpr unsigned kMappedBits = 96;  // before an IPv4 address
constexpr unsigned kBits = 128;

// A text of the entry, at this path of members; empty if there is none.
template <class... Names>
std::string text_at(MMDB_entry_s& entry, Names... names) {
  MMDB_entry_data_s data{};
  const int status = ::MMDB_get_value(&entry, &data, names..., nullptr);
  if (status != MMDB_SUCCESS || !data.has_data || data.type != MMDB_DATA_TYPE_UTF8_STRING)
    return {};
  return std::string(data.utf8_string, data.data_size);
}

std::string prefix_text(const IpAddress& address, unsigned bits) {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  for (unsigned i = 0; i < bytes.size(); ++i) {
    const unsigned kept = std::clamp(bits, 8 * i, 8 * i + 8) - 8 * i;
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & ~(0xffU >> kept));
  }
  const bool is_v4 = address.is_v4() && bits >= kMappedBits;
  const IpAddress network{std::span<const std::uint8_t, 16>(bytes)};
  return network.to_string() + '/' + std::to_string(is_v4 ? bits - kMappedBits : bits);
}

}  // namespace

struct SiteDatabase::Database {
  MMDB_s handle{};
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { ::MMDB_close(&handle); }
};

SiteDatabase::SiteDatabase() = default;
SiteDatabase::~SiteDatabase() = default;
SiteDatabase::SiteDatabase(SiteDatabase&&) noexcept = default;
SiteDatabase& SiteDatabase::operator=(SiteDatabase&&) noexcept = default;

bool SiteDatabase::is_one(const std::filesystem::path& file) {
  std::ifstream input(file, std::ios::binary | std::ios::ate);
  if (!input) return false;
  const std::streamoff size = input.tellg();
  input.seekg(std::max<std::streamoff>(0, size - kMetadataBytesMax));
  const std::string end((std::istreambuf_iterator<char>(input)), {});
  return end.find(kMark) != std::string::npos;
}

Result<> SiteDatabase::open(const std::filesystem::path& file) {
  MMDB_s handle{};
  const int status = ::MMDB_open(file.c_str(), MMDB_MODE_MMAP, &handle);
  if (status != MMDB_SUCCESS) {
    return Error{ErrorKind::invalid, file.string() + ": " + ::MMDB_strerror(status)};
  }
  database_ = std::make_unique<Database>();
  database_->handle = handle;
  return {};
}

std::optional<std::uint32_t> SiteDatabase::find(const IpAddress& address) {
  if (!address.is_v4() && database_->handle.metadata.ip_version == 4) return std::nullopt;
  const transport::SocketAddress wanted(address, 0);
  int problem = MMDB_SUCCESS;
  MMDB_lookup_result_s found = ::MMDB_lookup_sockaddr(&database_->handle, wanted.get(), &problem);
  if (problem != MMDB_SUCCESS || !found.found_entry) return std::nullopt;
  // In a database of IPv4 the mask has up to 32 bits.
  const bool is_short = address.is_v4() && database_->handle.metadata.ip_version == 4;
  std::string name =
      prefix_text(address, std::min(kBits, found.netmask + (is_short ? kMappedBits : 0U)));
  for (const std::string& part :
       {text_at(found.entry, "country", "iso_code"), text_at(found.entry, "city", "names", "en"),
        text_at(found.entry, "autonomous_system_organization")}) {
    if (!part.empty()) name.append(" ").append(part);
  }
  const auto known = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (known.second) names_.push_back(std::move(name));
  return known.first->second;
}

}  // namespace prophecy::measurement
