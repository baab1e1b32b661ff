// Kept-alive HTTP/1.1 connections to one origin: a bounded number, the most recently used first,
// and a bounded queue for the exchanges beyond it. An exchange gets a place behind others on a
// busy one, if it allows that, some are busy, and the origin's pace allows it (pipelining, RFC
// 9112, section 9.3.2; OriginPace); else an idle one; else a new one; else it waits in the queue.
//
// Single-threaded. Its io_context must not run any more once the pool is destroyed.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/endpoint.hpp"
#include "http/client/answer_readers.hpp"
#include "http/client/body_pool.hpp"
#include "http/client/coming_answers.hpp"
#include "http/client/origin_exchange.hpp"
#include "http/parser.hpp"
#include "transport/readiness_loop.hpp"
#include "transport/tls_client.hpp"

namespace prophecy::http {

class OriginPace;

// What a connection to an origin begins with. Requests of many clients share it, so it says nothing
// of any of them: version 2 says LOCAL, the word for a proxy's own connection; version 1 names the
// connection's own two ends, since receivers differ over its UNKNOWN.
enum class ProxyAnnouncement : std::uint8_t { none, v1, v2 };

struct OriginSettings {
  Endpoint address;
  std::size_t connections_max = 64;
  std::size_t queue_max = 1024;
  // Requests on a connection whose answers are not there yet, at most.
  std::size_t pipeline_max = 1;
  ProxyAnnouncement send_proxy = ProxyAnnouncement::none;
  transport::TlsClient* tls = nullptr;  // null: plain; else outlives the pool
  MessageLimits answer_limits;
  ComingAnswers* coming = nullptr;  // shared likewise, and outlives the pool; null: without a bound
  BodyPool* bodies = nullptr;  // shared with others, and outlives the pool; null: one of its own
};

// The queues in which exchanges and connections of any number of pools wait. Whoever owns them
// has to let them expire.
struct OriginTimeouts {
  TimeoutQueue connect;
  TimeoutQueue answer;                         // from start() to the last byte
  TimeoutQueue idle;                           // kept-alive connections are closed by us after this
  TimeoutQueue stream{std::chrono::hours(1)};  // of one that is streamed: without a byte
};

class OriginPool {
 public:
  OriginPool(boost::asio::io_context& loop, OriginSettings settings, OriginTimeouts& timeouts);
  ~OriginPool();
  OriginPool(const OriginPool&) = delete;
  OriginPool& operator=(const OriginPool&) = delete;

  void start(OriginExchange& exchange, const ExchangeRequest& request);
  // Cancels every exchange and closes every connection, so that the loop can run out of work.
  void stop();

  // Called when the origin stops taking connections (false), and when it answers again (true).
  void on_state(std::function<void(bool up)> callback) { on_state_ = std::move(callback); }
  [[nodiscard]] bool up() const { return up_; }
  // How the last exchange ended that found it not up: not_sent, or a failure of TLS.
  [[nodiscard]] ExchangeEnd down_by() const { return down_by_; }
  [[nodiscard]] std::size_t connections() const { return open_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  friend class OriginExchange;
  friend class OriginConnection;

  // Its time begins anew.
  void give_time(OriginExchange& exchange);
  // Gives the exchange to a connection or to the queue.
  void submit(OriginExchange& exchange);
  [[nodiscard]] bool has_room_for(const OriginExchange& exchange) const;
  // There is room, or was a moment ago.
  void place(OriginExchange& exchange);
  [[nodiscard]] OriginConnection* connection_to_share(const OriginExchange& exchange) const;
  // The exchange is on no connection (any more).
  void end(OriginExchange& exchange, ExchangeEnd end, Response& response);
  void set_up(bool up);
  // What waited on a connection that is closed waits in front of the queue again. Unless the
  // origin is known not to have begun on it, that counts as its one repetition.
  void put_back(OriginExchange& exchange, bool untouched);
  // The requests that one turn of the loop gives to a shared connection leave in one write.
  void flush_later(OriginConnection& connection);
  void flush();
  // Looks at those that wait behind others once a tick, as long as some do.
  void watch(TimePoint now);
  void on_tick();

  void on_connection_idle(OriginConnection& connection);
  // The connection is on its way out; it is destroyed when its last operation has ended.
  void on_connection_closed(OriginConnection& connection);
  void on_connection_finished(OriginConnection& connection);
  void serve_queue();

  boost::asio::io_context& loop_;
  transport::ReadinessLoop& readiness_;
  OriginSettings settings_;
  OriginTimeouts& timeouts_;
  boost::asio::ip::tcp::endpoint address_;
  std::function<void(bool)> on_state_;
  bool up_ = true;
  ExchangeEnd down_by_ = ExchangeEnd::not_sent;
  std::vector<std::unique_ptr<OriginConnection>> connections_;  // in any state
  std::vector<OriginConnection*> idle_;                         // the last used one at the back
  std::size_t open_ = 0;                                        // not closed
  std::deque<OriginExchange*> waiting_;
  std::vector<OriginConnection*> to_flush_;
  std::unique_ptr<OriginPace> pace_;
  boost::asio::steady_timer ticks_;
  bool is_ticking_ = false;
  BodyPool own_bodies_;
  BodyPool& bodies_;
  AnswerReaders readers_;
  std::string piece_;     // of a request's body, for the length of one write
  Response no_response_;  // for exchanges that end without one
};

}  // namespace prophecy::http
