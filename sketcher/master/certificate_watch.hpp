// `CertificateWatch` looks at the files of certificates and keys from time to time, and tells when
// they have changed: once no file differs from the look before, so that a chain and its key that
// are replaced one after the other are read together.
//
// Single-threaded, on the master's loop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sketcher/installation/installation.hpp"

namespace prophecy::sketcher {

class CertificateWatch {
 public:
  CertificateWatch(boost::asio::io_context& loop, const Installation& installation,
                   std::function<void()> on_changed);

  // What is there now is what has been read. Without files, or with an interval of zero, it never
  // tells anything.
  void start();
  // The files have been read for another reason.
  void note_read() { read_ = last_ = look(); }

 private:
  // Of a file, zeroes where there is none.
  struct State {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
    std::int64_t size = 0;
    std::int64_t changed_s = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const State&) const = default;
  };
  [[nodiscard]] std::vector<State> look() const;
  void wait();

  boost::asio::steady_timer timer_;
  Duration interval_;
  std::function<void()> on_changed_;
  std::vector<std::filesystem::path> files_;
  std::vector<State> read_;
  std::vector<State> last_;
};

}  // namespace prophecy::sketcher
