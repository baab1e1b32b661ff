// `FilePieces` reads a file in a thread of its own, expands it if it is of gzip members, and hands
// the content over in pieces. The pieces that wait are bounded.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "measurement/input/archive_bytes.hpp"

namespace prophecy::measurement {

class FilePieces : private ArchiveSink {
 public:
  explicit FilePieces(std::string path);
  ~FilePieces() override;

  // Hands on what the file holds, in order, up to its end, or until `is_over`. The error is that of
  // opening or reading.
  [[nodiscard]] Result<> for_each(ArchiveSink& sink, const std::function<bool()>& is_over);
  // Of the file, so far.
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Piece {
    std::string bytes;
    std::uint64_t offset = 0;
    bool moves = false;
    std::optional<Damage> gap;
  };

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override;
  void on_gap(Damage damage) override;
  void read();
  [[nodiscard]] Result<> read_file();
  void put(Piece piece);
  [[nodiscard]] std::optional<Piece> take();

  std::string path_;
  std::atomic<std::uint64_t> bytes_read_ = 0;
  Piece growing_;  // small pieces are handed over together
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool ended_ = false;
  bool abandoned_ = false;
  Result<> outcome_;
  std::thread thread_;
};

}  // namespace prophecy::measurement
