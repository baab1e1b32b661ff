// `AcmeChallenges` answers the challenges of a certificate authority (RFC 8555, 8.3) from a folder
// in which an ACME client puts one file for each.
//
// A file's name is a token, so no path leads out of the folder; links are not followed. Reads small
// local files on the worker's loop, which waits for them: there is a budget of look-ups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace prophecy::sketcher {

// Of one worker. Far more than an authority asks for.
class LookUpBudget {
 public:
  static constexpr std::uint32_t kPerSecond = 100;

  // False: no more in this second.
  [[nodiscard]] bool take(TimePoint now) {
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      left_ = kPerSecond;
    }
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  TimePoint since_{};
  std::uint32_t left_ = kPerSecond;
};

class AcmeChallenges {
 public:
  explicit AcmeChallenges(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Whether a target, in origin form, may be that of a challenge.
  [[nodiscard]] static bool may_be(std::string_view target);
  // The answer to a read of `target`, in origin form; nothing where it is no challenge, or the
  // folder has no such file: then a route takes the request.
  [[nodiscard]] std::optional<std::string> find(std::string_view target) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace prophecy::sketcher
