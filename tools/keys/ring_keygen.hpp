// Makes the certificates with which the members of a ring know each other: the ring's authority,
// and for each member a certificate with its name and the key.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace prophecy::tools {

struct RingKeygenRequest {
  std::filesystem::path directory;  // made (mode 0700) when there is none
  std::vector<std::string> members;
};

// Returns the files made: ring-ca.pem and ring-ca.key, and ring-NAME.pem and ring-NAME.key for each
// member. An authority whose two files are there already signs the new members' certificates.
// Overwrites nothing; after a failure none of the files is left.
[[nodiscard]] Result<std::vector<std::filesystem::path>> generate_ring_keys(
    const RingKeygenRequest& request);

}  // namespace prophecy::tools
