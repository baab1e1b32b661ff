// Makes the files of a new replica group: group.toml, one file of private keys for each replica and
// each client, and the sketchers' secret. All of them, or none. A group without agents needs the
// secret alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/endpoint.hpp"
#include "base/error.hpp"

namespace prophecy::tools {

struct KeygenRequest {
  std::filesystem::path directory;  // made (mode 0700) when there is none
  std::uint32_t faults = 1;
  std::vector<Endpoint> replica_addresses;  // 3 * faults + 1 of them; none: there are no agents
  std::uint32_t clients = 1;
  bool encrypted_links = false;  // of the group file
};

// Returns the files made. Overwrites nothing; after a failure none of them is left.
[[nodiscard]] Result<std::vector<std::filesystem::path>> generate_group(
    const KeygenRequest& request);

}  // namespace prophecy::tools
