// `WarcFile` writes one WARC 1.1 file of gzip members, a record each. It lies under a name with
// ".part" until it is whole.
//
// For one thread at a time.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/unique_fd.hpp"
#include "measurement/capture/captured_answer.hpp"

namespace prophecy::measurement {

class WarcFile {
 public:
  // Replaces a part that an interrupted round has left.
  [[nodiscard]] static Result<WarcFile> create(const std::filesystem::path& path, Microseconds now);

  // A request record, too, if the method is not GET.
  [[nodiscard]] Result<> add(const CapturedAnswer& answer);
  // On the disk, under its own name.
  [[nodiscard]] Result<> finish();

 private:
  explicit WarcFile(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Result<> write(std::string_view head, std::string_view block);
  [[nodiscard]] std::string new_id();

  std::filesystem::path path_;
  UniqueFd file_;
  SecureRandom random_;
  std::string compressed_;
};

}  // namespace prophecy::measurement
