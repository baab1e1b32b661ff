// What the tests of the shell share: an event loop that runs until something is true, frames with
// a header that a transport can read, and a folder that goes away.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/clock.hpp"
#include "base/codec.hpp"
#include "pbft/core/actions.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft::test {

// True when the condition came true in time.
inline bool run_until(boost::asio::io_context& io, const std::function<bool()>& condition,
                      Duration timeout = seconds(10)) {
  const TimePoint end = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    io.restart();
    io.run_one_for(milliseconds(5));
  }
  return true;
}

inline void run_for(boost::asio::io_context& io, Duration time) {
  (void)run_until(
      io, [] { return false; }, time);
}

inline Frame make_frame(std::uint8_t type, NodeId sender, std::uint32_t session,
                        std::size_t padding = 0) {
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(type);
  writer.integer(kWireVersion);
  writer.integer(sender);
  writer.integer(session);
  bytes.resize(bytes.size() + padding, std::uint8_t{'.'});
  return std::make_shared<const Bytes>(std::move(bytes));
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "prophecy-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace prophecy::pbft::test
