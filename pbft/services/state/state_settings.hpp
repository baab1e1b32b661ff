// What the state of an HTTP origin is, and where it lies ([service] in examples/replica.toml).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

// More than requests between two checkpoints write: 32 MiB of them, which programs may unpack, in
// 128 batches. A faulty primary fills each of these as far as backups accept it.
constexpr std::uint64_t kStateBytesBeyond = std::uint64_t{1} << 30;
constexpr std::uint64_t kStateFilesBeyond = 600'000;
static_assert(kStateFilesBeyond > std::uint64_t{128} * kBatchRequestsMax);

enum class StateKind : std::uint8_t {
  stateless,  // none that would be the group's concern
  directory,  // what lies in a folder
  command,    // what a program writes, and another one reads
};

struct FolderSettings {
  std::filesystem::path folder{};
  std::uint64_t bytes_max = std::uint64_t{4} << 30;  // of all files
  std::uint64_t files_max = 100'000;                 // files, folders and links
  // Patterns (name_patterns.hpp).
  std::vector<std::string> exclude{};        // not part of the state
  std::vector<std::string> covered_times{};  // files whose modification times are part of it
  // Beyond the bounds the state is full, and no more is written; so much beyond them a snapshot is
  // still made, for what was written since the one before.
  std::uint64_t bytes_beyond = 0;
  std::uint64_t files_beyond = 0;
};

struct CommandSettings {
  std::vector<std::string> dump{};  // program and arguments
  std::vector<std::string> load{};
  Duration timeout = seconds(60);
  std::uint64_t bytes_max = std::uint64_t{4} << 30;
  bool verify = true;  // the state is dumped once more after it was loaded, and compared
  // Held while `load` runs, by it as well: one that outlives this process must not load its state
  // beside or after the next one. Empty: none.
  std::filesystem::path lock{};
  std::uint64_t bytes_beyond = 0;  // as of a folder
};

struct StateSettings {
  StateKind kind = StateKind::stateless;
  FolderSettings folder;
  CommandSettings command;
};

}  // namespace prophecy::pbft
