// What of a folder is its state, and how much there may be.
#pragma once

#include "base/error.hpp"
#include "pbft/services/state/name_patterns.hpp"
#include "pbft/services/state/state_settings.hpp"

namespace prophecy::pbft {

// Open folders on the way down hold a descriptor each.
constexpr std::size_t kFolderDepthMax = 100;

struct FolderRules {
  explicit FolderRules(const FolderSettings& settings)
      : folder(settings.folder.string()),
        bytes_max(settings.bytes_max),
        files_max(settings.files_max),
        exclude(settings.exclude),
        covered_times(settings.covered_times) {}

  std::string folder;
  std::uint64_t bytes_max;
  std::uint64_t files_max;
  NamePatterns exclude;
  NamePatterns covered_times;
};

// Counts what is met, up to the rules' bounds.
class FolderBudget {
 public:
  explicit FolderBudget(const FolderRules& rules) : rules_(rules) {}

  [[nodiscard]] Result<> take_entry() {
    if (entries_ == rules_.files_max) {
      return Error{ErrorKind::limit, rules_.folder + ": more than " +
                                         std::to_string(rules_.files_max) +
                                         " files and folders (state_files_max)"};
    }
    ++entries_;
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
  [[nodiscard]] Result<> check_depth(std::size_t depth, const std::string& path) const {
    if (depth <= kFolderDepthMax) return {};
    return Error{ErrorKind::limit, rules_.folder + "/" + path + ": more than " +
                                       std::to_string(kFolderDepthMax) + " folders deep"};
  }

 private:
  const FolderRules& rules_;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace prophecy::pbft
