// `OriginStream` is one request to an origin as the sketcher's shell sees it
// (http/client/origin_exchange.hpp): a whole answer, an answer in pieces, or a failure, event by
// event. It stands for the pool of connections with its limits, too: exchanges end for want of a
// connection, or of room for answers. Of a read that may share its connection, what comes there is
// decided by OriginLinks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "consistency/origins/origins.hpp"
#include "http/exchange_end.hpp"
#include "http/message.hpp"
#include "replica_client/core/call.hpp"
#include "simulation/random.hpp"

namespace prophecy::consistency {

class OriginLinks;

class OriginStream {
 public:
  enum class Event : std::uint8_t { none, progress, answered, failed };

  OriginStream(Origins& origins, simulation::Random& random) : origins_(origins), random_(random) {}

  // `links`: of the worker, in runs whose verified reads share connections; else null.
  void start(std::size_t origin, std::string_view wire, const replica_client::FastForm& asked,
             OriginLinks* links, TimePoint now);
  void cancel();
  // The time for its answer begins anew.
  void extend() { patience_ = kPatience; }
  void pause();
  void resume();
  [[nodiscard]] bool is_active() const { return is_active_; }
  // Of an active one.
  [[nodiscard]] std::size_t origin() const { return origin_; }

  // Its next event. Of so many percent of the events, each is the exchange's failure.
  [[nodiscard]] Event advance(std::uint64_t failing_percent, TimePoint now);
  // Of a progress, or an answer: what is taken out of its body is not kept.
  [[nodiscard]] http::Response& response() { return response_; }
  // Of a failure.
  [[nodiscard]] http::ExchangeEnd end() const { return end_; }
  // Of the body, that came with the last event.
  [[nodiscard]] std::size_t brought() const { return brought_; }

  // ---- By the link that it is on, and no more then. Its next event says so.
  void end_answered(http::Response response);
  void end_failed(http::ExchangeEnd end);
  // It is asked for once more, on a connection of its own.
  void put_back();

 private:
  // Events within the time for an answer.
  static constexpr unsigned kPatience = 12;

  void ask();
  [[nodiscard]] Event begin();
  [[nodiscard]] Event go_on();
  [[nodiscard]] Event finish(Event event, http::ExchangeEnd end = http::ExchangeEnd::answered);
  [[nodiscard]] Event fail_somehow();
  void drop_length();
  [[nodiscard]] bool is_shareable() const {
    return asked_.is_verified && !asked_.is_alone && !asked_.is_head && asked_.piece_bytes == 0;
  }
  void bring(std::size_t bytes);

  Origins& origins_;
  simulation::Random& random_;
  bool is_active_ = false;
  OriginLinks* links_ = nullptr;  // while it is on one of them
  Event on_link_ = Event::none;   // that it brought
  bool is_paused_ = false;
  bool brings_once_more_ = false;  // what has been read already
  bool has_begun_ = false;
  std::size_t origin_ = 0;
  std::string wire_;
  replica_client::FastForm asked_;
  bool is_made_ = false;  // the answer
  std::optional<PageAnswer> answer_;
  http::Response response_;
  std::string body_;
  std::size_t position_ = 0;
  std::size_t stops_at_ = 0;
  unsigned patience_ = 0;
  std::size_t brought_ = 0;
  http::ExchangeEnd end_{};
};

}  // namespace prophecy::consistency
