// What of a folder is its state, and how much there may be.
#pragma once

#include <algorithm>

#include "base/error.hpp"
#include "pbft/core/state/part_references.hpp"
#include "pbft/services/state/name_patterns.hpp"
#include "pbft/services/state/state_parts.hpp"
#include "pbft/services/state/state_settings.hpp"

namespace prophecy::pbft {

// Open folders on the way down hold a descriptor each. Beyond the first a state is full, beyond the
// second there is no snapshot.
constexpr std::size_t kFolderDepthFull = 100;
constexpr std::size_t kFolderDepthMax = 400;
// The store can pin a state of so many levels, with a listing and its indexes on each, and content.
static_assert((kFolderDepthMax + 2) * (kIndexLevelMax + 1) <= kPartHeightMax);

struct FolderRules {
  explicit FolderRules(const FolderSettings& settings)
      : folder(settings.folder.string()),
        bytes_full(settings.bytes_max),
        files_full(settings.files_max),
        bytes_max(settings.bytes_max + settings.bytes_beyond),
        files_max(settings.files_max + settings.files_beyond),
        exclude(settings.exclude),
        covered_times(settings.covered_times) {}

  std::string folder;
  std::uint64_t bytes_full;
  std::uint64_t files_full;
  std::uint64_t bytes_max;
  std::uint64_t files_max;
  NamePatterns exclude;
  NamePatterns covered_times;
};

// Counts what is met, up to the rules' bounds.
class FolderBudget {
 public:
  explicit FolderBudget(const FolderRules& rules) : rules_(rules) {}

  [[nodiscard]] Result<> take_entry() { return take_entries(1); }
  [[nodiscard]] Result<> take_entries(std::uint64_t number) {
    if (number > entries_left()) {
      return Error{ErrorKind::limit, rules_.folder + ": more than " +
                                         std::to_string(rules_.files_max) +
                                         " files and folders (state_files_max)"};
    }
    entries_ += number;
    return {};
  }
  // So many may still be taken.
  [[nodiscard]] std::uint64_t entries_left() const { return rules_.files_max - entries_; }
  [[nodiscard]] Result<> take_bytes(std::uint64_t size) {
    if (size > rules_.bytes_max - bytes_) {
      return Error{ErrorKind::limit, rules_.folder + ": more than " +
                                         std::to_string(rules_.bytes_max) +
                                         " bytes (state_bytes_max)"};
    }
    bytes_ += size;
    return {};
  }
  [[nodiscard]] Result<> check_depth(std::size_t depth, const std::string& path) {
    deepest_ = std::max(deepest_, depth);
    if (depth <= kFolderDepthMax) return {};
    return Error{ErrorKind::limit, rules_.folder + "/" + path + ": more than " +
                                       std::to_string(kFolderDepthMax) + " folders deep"};
  }

  // 100 and more: full.
  [[nodiscard]] std::uint64_t fill_percent() const {
    const auto percent = [](double part, double whole) {
      return static_cast<std::uint64_t>(part / whole * 100);
    };
    return std::max({percent(static_cast<double>(bytes_), static_cast<double>(rules_.bytes_full)),
                     percent(static_cast<double>(entries_), static_cast<double>(rules_.files_full)),
                     percent(static_cast<double>(deepest_), kFolderDepthFull)});
  }

 private:
  const FolderRules& rules_;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
  std::size_t deepest_ = 0;
};

}  // namespace prophecy::pbft
