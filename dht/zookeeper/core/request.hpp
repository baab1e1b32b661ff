// Requests of a client to a ZooKeeper server: the few that a ring needs.
//
// A version of -1 means any. The data of a node and the version of it belong together; its list of
// children has its own.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.hpp"

namespace prophecy::zookeeper {

inline constexpr std::int32_t kAnyVersion = -1;

struct Create {
  std::string path;
  Bytes data = {};
  bool ephemeral = false;  // ends with this session
  bool operator==(const Create&) const = default;
};
// Without children.
struct Delete {
  std::string path;
  std::int32_t version = kAnyVersion;
  bool operator==(const Delete&) const = default;
};
struct SetData {
  std::string path;
  Bytes data = {};
  std::int32_t version = kAnyVersion;
  bool operator==(const SetData&) const = default;
};
// In a transaction alone.
struct Check {
  std::string path;
  std::int32_t version = kAnyVersion;
  bool operator==(const Check&) const = default;
};

using Step = std::variant<Check, Create, SetData, Delete>;

// All steps in one, or none.
struct Multi {
  std::vector<Step> steps;
  bool operator==(const Multi&) const = default;
};

// The watch is set only where there is such a node.
struct GetData {
  std::string path;
  bool watch = false;
  bool operator==(const GetData&) const = default;
};
struct GetChildren {
  std::string path;
  bool watch = false;
  bool operator==(const GetChildren&) const = default;
};
// The watch is set in either case.
struct Exists {
  std::string path;
  bool watch = false;
  bool operator==(const Exists&) const = default;
};
// Waits until the server has what the leader had committed. A deposed leader answers it too.
struct Sync {
  std::string path;
  bool operator==(const Sync&) const = default;
};

using Request = std::variant<Create, Delete, SetData, Multi, GetData, GetChildren, Exists, Sync>;

[[nodiscard]] bool sets_watch(const Request& request);
// Its paths are paths, and it has neither too few steps nor too many.
[[nodiscard]] bool is_sound(const Request& request);

// Rules of access to the nodes that this client creates. ZooKeeper's own names: "world" with
// "anyone", "digest" with "name:hash", "x509" with a certificate's subject; "auth" with "" is
// everybody whom this connection has signed in as.
struct AccessRule {
  static constexpr std::int32_t kEverything = 31;

  std::string scheme = "world";
  std::string id = "anyone";
  std::int32_t permissions = kEverything;  // 1 read, 2 write, 4 create, 8 delete, 16 administer
};

// Shown to each server at the begin of a connection. `digest` with "name:password" crosses the
// network as it stands.
struct Identity {
  std::string scheme;
  std::string secret;
};

}  // namespace prophecy::zookeeper
