// Files of address prefixes, and databases of MaxMind's format: any address is in a prefix of
// theirs or in none. The first bytes of an input are the addresses.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "expect.hpp"
#include "measurement/analysis/address_prefixes.hpp"
#include "measurement/site_database.hpp"

using namespace prophecy;
using namespace prophecy::measurement;

namespace {

using Addresses = std::array<IpAddress, 3>;

// One of IPv6, and two of IPv4.
Addresses addresses_of(std::span<const std::uint8_t, 16> bytes) {
  return {IpAddress(bytes), IpAddress(bytes.first<4>()), IpAddress(bytes.last<4>())};
}

void look_into_text(std::string_view text, const Addresses& addresses) {
  AddressPrefixes prefixes;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    static_cast<void>(prefixes.add_line(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  prefixes.sort();
  for (const IpAddress& address : addresses) {
    const auto number = prefixes.find(address);
    REQUIRE(!number || *number < prefixes.size());
    if (number) REQUIRE(!prefixes.name_of(*number).empty());
  }
}

void look_into_database(std::string_view bytes, const Addresses& addresses) {
  const UniqueFd file(::memfd_create("database", MFD_CLOEXEC));
  REQUIRE(file.get() >= 0);
  REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  if (!SiteDatabase::is_one(path)) return;
  SiteDatabase database;
  if (!database.open(path)) return;
  for (const IpAddress& address : addresses) {
    const auto number = database.find(address);
    if (number) REQUIRE(database.name_of(*number).find('/') != std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 16) return 0;
  const Addresses addresses = addresses_of(std::span<const std::uint8_t, 16>(data, 16));
  const std::string_view rest(reinterpret_cast<const char*>(data) + 16, size - 16);
  look_into_text(rest, addresses);
  look_into_database(rest, addresses);
  return 0;
}
