// Where a replica keeps what it must not forget, and what that has to outlast.
#pragma once

#include <cstdint>
#include <filesystem>

namespace prophecy::pbft {

enum class SyncPolicy : std::uint8_t {
  always,  // on the disk before it counts: outlasts a loss of power
  os,      // handed to the operating system: outlasts the end of the process only
};

struct StoreSettings {
  std::filesystem::path folder;
  SyncPolicy sync = SyncPolicy::always;
};

}  // namespace prophecy::pbft
