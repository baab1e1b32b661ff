// What all members of a replica group share, as one TOML file (examples/group.toml): who they
// are, where the replicas listen, everybody's public keys, and the canonicalisation profile. It
// holds no secret; `prophecyctl keygen` makes it.
//
// Loaded and checked as a whole; read-only afterwards.
#pragma once

#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/config/config.hpp"
#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "canonical/profile.hpp"
#include "pbft/auth/key_ring.hpp"
#include "pbft/links/link_tls.hpp"

namespace prophecy::pbft {

constexpr std::size_t kGroupIdSize = 16;
constexpr std::size_t kGroupClientsMax = 256;
constexpr std::uint64_t kGroupNumberMax = 1'000'000'000;
constexpr std::uint32_t kFaultsMax = (kReplicasMax - 1) / 3;

struct GroupReplica {
  Endpoint address;  // where its agent listens
  PublicKeys public_keys;
};

struct GroupClient {
  NodeId id = kFirstClientId;
  PublicKeys public_keys;
};

struct GroupFile {
  std::array<std::uint8_t, kGroupIdSize> id{};
  // Which life of the group this is. A group that begins anew, with other stores or without any,
  // gets another one, or the signatures of its earlier life would be valid.
  std::array<std::uint8_t, kGroupIdSize> founded{};
  // Rises with each change of a member's keys or address; a replica that keeps a store takes no
  // lower one any more.
  std::uint64_t number = 1;
  std::uint32_t faults = 1;            // f; replicas.size() == 3f+1
  bool encrypted_links = false;        // between members: TLS
  std::vector<GroupReplica> replicas;  // at the place of their ids
  std::vector<GroupClient> clients;    // by rising ids
  sketch::Profile profile;

  [[nodiscard]] std::vector<Endpoint> addresses() const;  // of the replicas
  [[nodiscard]] std::vector<Member> members() const;
  [[nodiscard]] bool has_client(NodeId id) const;
  // The id and the founding id: a part of each key that members share, and of all that they sign.
  [[nodiscard]] Bytes life() const;
};

// The error holds every mistake, one a line, with file, line and column.
[[nodiscard]] Result<GroupFile> load_group_file(const std::filesystem::path& path);
// `name` stands for the file in messages.
[[nodiscard]] Result<GroupFile> parse_group_file(std::string_view text, std::string name);
// Every setting there is; see ConfigFile::describe().
[[nodiscard]] std::string describe_group_file();

// The keys of one member, from the file of its private ones (mode 0600). The error names the file.
[[nodiscard]] Result<KeyRing> load_key_ring(const GroupFile& group, NodeId self,
                                            const std::filesystem::path& key_file);

// By which its links are encrypted; null, if the group's are not.
[[nodiscard]] Result<std::shared_ptr<const LinkTls>> load_link_tls(
    const GroupFile& group, NodeId self, const std::filesystem::path& key_file);

}  // namespace prophecy::pbft
