// Settings that several programs have.
#pragma once

#include "base/address_range.hpp"
#include "base/config/config.hpp"
#include "base/log.hpp"

namespace prophecy {

// Reads [log].
[[nodiscard]] LogSettings read_log_settings(ConfigSection section);

// A list of ranges; an absent one reads as empty.
[[nodiscard]] AddressRanges read_address_ranges(ConfigSection& section, const Key& key);

}  // namespace prophecy
