// The way to a PartStore, which belongs to the event loop, from the one thread on which a state is
// read and written. That thread waits for each answer of the loop, and for room when more than
// kBytesInFlightMax of parts are on their way; the loop never waits. While the store has a backlog
// (part_store.hpp), what came last counts as on its way. What is done on the loop at a time is one
// part's worth, but for release(), which unpins all that is held.
//
// Whatever is kept, or was there already, is pinned until the next work, or release(): a snapshot
// takes minutes, and meanwhile bodies and other states that have parts in common with it come and
// go.
//
// open(), release(), close() and the destructor belong to the event loop; everything else to the
// worker.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "base/error.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::pbft {

// The error of work that ends because the pipe is closed.
[[nodiscard]] Error service_stopped();

class PartPipe {
 public:
  static constexpr std::size_t kBytesInFlightMax = 4 << 20;

  explicit PartPipe(boost::asio::io_context& loop);
  ~PartPipe();
  PartPipe(const PartPipe&) = delete;
  PartPipe& operator=(const PartPipe&) = delete;

  // The stores of the work to come; `writable` is null when nothing is to be kept. A store that was
  // written to has to live until release(), or the next one is opened.
  void open(const PartStore& store, PartStore* writable);
  // Unpins all that is held. Parts that nobody else has pinned are removed, but for those that the
  // store had before without a pin.
  void release();
  // Whatever the worker waits for, or asks for later, fails. No store is touched any more.
  void close();

  [[nodiscard]] bool closed() const;
  // Whether all below the root is there, and stays. Requires a writable store.
  [[nodiscard]] Result<bool> hold(const Digest& root);
  // As of the store.
  [[nodiscard]] Result<std::uint64_t> losses();
  [[nodiscard]] Result<Bytes> read(const Digest& digest);
  // An error may belong to an earlier part: nothing is certain before flush() has succeeded.
  [[nodiscard]] Result<> keep(const Digest& digest, Bytes part);
  [[nodiscard]] Result<> flush();

 private:
  struct Shared;
  // Runs on the loop; true when it has run, false when the pipe was closed.
  [[nodiscard]] bool ask(const std::function<void()>& question);

  boost::asio::io_context& loop_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace prophecy::pbft
