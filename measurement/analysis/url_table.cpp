#include "measurement/analysis/url_table.hpp"

#include <limits>

#include <xxhash.h>

#include "base/assert.hpp"

namespace prophecy::measurement {
namespace {

constexpr UrlNumber kFree = std::numeric_limits<UrlNumber>::max();
constexpr std::size_t kSlotsFirst = 1024;

}  // namespace

UrlTable::UrlTable() : ends_{0}, slots_(kSlotsFirst, kFree) {}

UrlNumber UrlTable::number_of(std::string_view url) {
  const std::uint64_t digest = ::XXH3_64bits(url.data(), url.size());
  std::size_t slot = digest & (slots_.size() - 1);
  for (; slots_[slot] != kFree; slot = (slot + 1) & (slots_.size() - 1)) {
    const UrlNumber number = slots_[slot];
    if (digests_[number] == digest && text_of(number) == url) return number;
  }
  ASSERT(size() < kFree);
  const auto number = static_cast<UrlNumber>(size());
  slots_[slot] = number;
  text_.insert(text_.end(), url.begin(), url.end());
  ends_.push_back(text_.size());
  digests_.push_back(digest);
  if (2 * size() > slots_.size()) grow();
  return number;
}

std::string_view UrlTable::text_of(UrlNumber number) const {
  return {text_.data() + ends_[number], ends_[number + 1] - ends_[number]};
}

void UrlTable::grow() {
  slots_.assign(2 * slots_.size(), kFree);
  for (std::size_t number = 0; number < digests_.size(); ++number) {
    std::size_t slot = digests_[number] & (slots_.size() - 1);
    while (slots_[slot] != kFree)
      slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<UrlNumber>(number);
  }
}

}  // namespace prophecy::measurement
