// All that the configuration file leads to: settings, the groups' members and profiles, keys.
// Loaded and checked as a whole before anything is started; read-only afterwards, but for the
// certificates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "history_table/transfer/format.hpp"
#include "pbft/auth/key_ring.hpp"
#include "pbft/group/group_file.hpp"
#include "sketch/sketch.hpp"
#include "sketcher/config/settings.hpp"
#include "sketcher/installation/ring_tls.hpp"
#include "sketcher/installation/tls_listeners.hpp"

namespace prophecy::sketcher {

struct PbftMembership {
  pbft::GroupFile group;
  pbft::KeyRing keys;
  std::shared_ptr<const pbft::LinkTls> links;  // null: those to agents are in plain text
};

struct GroupInstallation {
  std::optional<PbftMembership> pbft;  // of a group of that kind
  sketch::Profile profile;
  sketch::SketchFunction sketch;
  // The number of the profile's first rule among those of all groups.
  std::uint32_t first_field = 0;
  std::vector<std::unique_ptr<transport::TlsClient>> tls;         // by origin; null for a plain one
  std::vector<std::unique_ptr<transport::TlsClient>> shadow_tls;  // likewise
};

struct Installation {
  Settings settings;
  std::vector<GroupInstallation> groups;  // at the places of settings.groups
  std::unique_ptr<TlsListeners> tls;
  std::optional<RingTls> ring_tls;  // with a ring
  // What the table's entries depend on, and are of no use without.
  table::Identity table_identity{};
  // Who has it can make entries that are believed.
  table::TransferKey transfer_key{};
  // Of the seal of what a ring's members agree on.
  Sha256::Digest settings_key{};
  // Of the slots of write floors.
  std::uint64_t floor_seed = 0;
};

// Reads certificates anew: those of listeners, and by what origins are verified. Each keeps what it
// has when its files are not in order; the error tells of the first.
[[nodiscard]] Result<> reload_certificates(const Installation& installation);

// Whether anything of that is configured.
[[nodiscard]] bool uses_certificates(const Installation& installation);

[[nodiscard]] Result<Installation> load_installation(const std::filesystem::path& config);

}  // namespace prophecy::sketcher
