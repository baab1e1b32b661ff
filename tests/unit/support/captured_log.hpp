// While it lives, standard error is a file, in which a test counts lines. Comes before the Logger.
#pragma once

#include <fstream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "support/temporary_folder.hpp"

namespace prophecy::test {

class CapturedLog {
 public:
  CapturedLog() : saved_(::dup(STDERR_FILENO)) {
    const UniqueFd file(::open(path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ::dup2(file.get(), STDERR_FILENO);
  }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;
  ~CapturedLog() { ::dup2(saved_.get(), STDERR_FILENO); }

  // Lines with that text so far.
  [[nodiscard]] int lines_with(const std::string& text) const {
    std::ifstream file(path());
    int count = 0;
    for (std::string line; std::getline(file, line);)
      count += line.find(text) != std::string::npos ? 1 : 0;
    return count;
  }

 private:
  [[nodiscard]] std::string path() const { return (folder_.path() / "log").string(); }

  TemporaryFolder folder_;
  UniqueFd saved_;
};

}  // namespace prophecy::test
