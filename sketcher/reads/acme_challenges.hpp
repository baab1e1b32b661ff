// `AcmeChallenges` answers the challenges of a certificate authority (RFC 8555, 8.3) from a folder
// in which an ACME client puts one file for each.
//
// A file's name is a token, so no path leads out of the folder; links are not followed. Reads small
// local files on the worker's loop.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace prophecy::sketcher {

class AcmeChallenges {
 public:
  explicit AcmeChallenges(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The answer to a read of `target`, in origin form; nothing where it is no challenge, or the
  // folder has no such file: then a route takes the request.
  [[nodiscard]] std::optional<std::string> find(std::string_view target) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace prophecy::sketcher
