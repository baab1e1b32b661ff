// An export or import of the history as the master sees it: a child, one at a time, with a bound on
// its time. What it has to say it says itself, on the tool's channel: one line of JSON, and of an
// import another one before, when the file was seen to be right. A child that is killed leaves the
// table as any writer does.
//
// Single-threaded, on the master's loop.
#pragma once

#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

enum class Transfer : std::uint8_t { export_, import_ };

struct TransferRequest {
  Transfer kind = Transfer::export_;
  // Of an import (ImportOptions).
  bool takes_marks = false;
  std::optional<std::uint64_t> made_after = std::nullopt;
};

// Behind the workers'.
constexpr WriterSlot kTransferWriter = kWorkersMax + 1;
// 25 million entries, 950 MB, take 12 s of a processor.
constexpr Duration kTransferTimeMax = std::chrono::minutes(10);

class TransferProcess {
 public:
  TransferProcess(boost::asio::io_context& loop, const Installation& installation,
                  HistoryTable& table, const SharedState& shared, Logger& log)
      : installation_(installation), table_(table), shared_(shared), log_(log), timer_(loop) {}

  // `report` is the end of a channel that the tool reads from.
  [[nodiscard]] Result<> start(const TransferRequest& request, UniqueFd file, UniqueFd report);
  [[nodiscard]] bool is_running() const { return pid_ > 0; }
  // A child of the master has ended. Does nothing if it was another one.
  void on_child_ended(int pid, int wait_status);
  // Kills it, and starts no more.
  void stop();
  // Long after stop(): one that has not ended, since a file system holds it up in the kernel,
  // counts as dead. It was killed, so it will run no instruction of its own any more.
  void abandon();

 private:
  [[nodiscard]] int run(const TransferRequest& request, const UniqueFd& file,
                        const UniqueFd& report);

  const Installation& installation_;
  HistoryTable& table_;
  SharedState shared_;
  Logger& log_;
  boost::asio::steady_timer timer_;
  int pid_ = -1;
  bool stopping_ = false;
};

}  // namespace prophecy::sketcher
