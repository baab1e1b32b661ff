// One answer that is too large to be held, on its way from an origin to a client without being
// verified, as on a route that is off: what the client wants of it, as it comes, and no faster than
// the client takes it. No more is held than a piece that is read, and one that is sent.
//
// What an origin leaves out cannot be had from another one: nobody knows that theirs is the same.
// So it keeps its connection for as long as the client takes.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <string>

#include "http/client/origin_exchange.hpp"

namespace prophecy::sketcher {

class PassedAnswerOwner {
 public:
  // Bytes for the client, in `storage`, which may be swapped out. False: no more until
  // on_writable(). May abandon.
  virtual bool on_passed_bytes(std::string& storage, std::size_t begin, std::size_t size) = 0;
  // The last call. The exchange is not active any more.
  virtual void on_passed_end(bool whole) = 0;

 protected:
  ~PassedAnswerOwner() = default;
};

class PassedAnswer {
 public:
  static constexpr std::size_t kPieceBytes = 256 << 10;

  explicit PassedAnswer(PassedAnswerOwner& owner) : owner_(owner) {}

  // The head has come by this exchange in pieces. The client wants `size` bytes of the body, from
  // `first` on; unless it `may_begin`, none before on_writable().
  void start(http::OriginExchange& exchange, std::uint64_t first, std::uint64_t size,
             bool may_begin);
  // What the exchange's handler is told.
  void on_progress(http::Response& response);
  void on_end(http::ExchangeEnd end, http::Response& response);
  // The client takes more.
  void on_writable();
  // The exchange is its owner's to cancel.
  void abandon();

 private:
  // False: the answer has ended, or was abandoned.
  [[nodiscard]] bool pass(std::string& body);
  void finish(bool whole);

  PassedAnswerOwner& owner_;
  http::OriginExchange* exchange_ = nullptr;  // null: idle
  std::uint64_t skip_ = 0;                    // of the body, before what is wanted
  std::uint64_t left_ = 0;                    // of what is wanted
  bool writable_ = true;
  std::string piece_;  // on its way to the client
  std::string rest_;   // the end, while the client takes nothing
};

}  // namespace prophecy::sketcher
