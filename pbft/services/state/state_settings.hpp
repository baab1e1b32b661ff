// What the state of an HTTP origin is, and where it lies ([service] in examples/replica.toml).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace prophecy::pbft {

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
};

struct StateSettings {
  StateKind kind = StateKind::stateless;
  FolderSettings folder;
  CommandSettings command;
};

}  // namespace prophecy::pbft
