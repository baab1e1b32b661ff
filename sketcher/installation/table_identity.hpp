// What a history table that was kept is compared with: whether the sketches in it are ours, and the
// groups the same, so that neither is an answer taken for another group's, nor a sigma for one of
// another numbering; and whether its entries were this sketcher's alone ever since, or others may
// have answered by newer ones.
#pragma once

#include "base/digest.hpp"
#include "history_table/kept_file.hpp"
#include "sketch/secret_file.hpp"
#include "sketcher/installation/installation.hpp"

namespace prophecy::sketcher {

// Of an installation that has its groups already.
[[nodiscard]] table::Identity table_identity(const Installation& installation,
                                             const sketch::Secret& secret);

// Under which exports of the history are made, and believed.
[[nodiscard]] table::TransferKey transfer_key(const sketch::Secret& secret);

// By which a ring's members seal what operators have set for all of them.
[[nodiscard]] Sha256::Digest settings_key(const sketch::Secret& secret);

// Which slots of write floors URIs have: the same in all sketchers of the installation, and known
// to no client.
[[nodiscard]] std::uint64_t floor_seed(const sketch::Secret& secret);

}  // namespace prophecy::sketcher
