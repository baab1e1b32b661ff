// Kept-alive HTTP/1.1 connections to one origin, for fast reads.
//
// One call is on a connection at a time; calls beyond connections_max wait in a bounded queue in
// the order of their arrival. A call that meets a kept-alive connection which the origin has just
// closed is repeated once on a fresh one: only reads come here, so that is safe.
//
// Single-threaded.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/endpoint.hpp"
#include "http/parser.hpp"
#include "replica_client/group.hpp"

namespace prophecy::replica_client {

struct OriginSettings {
  Endpoint address;
  std::size_t connections_max = 256;
  std::size_t queue_max = 1024;
  http::MessageLimits limits;
};

// The queues in which connections and calls of all pools wait; owned by the worker.
struct OriginTimeouts {
  TimeoutQueue connect;
  TimeoutQueue answer;
  TimeoutQueue idle;
};

class OriginConnection;

class OriginPool {
 public:
  OriginPool(boost::asio::io_context& loop, OriginSettings settings, OriginTimeouts& timeouts);
  ~OriginPool();
  OriginPool(const OriginPool&) = delete;
  OriginPool& operator=(const OriginPool&) = delete;

  void start(FastCall& call, std::string_view wire, bool is_head);

 private:
  friend class FastCall;
  friend class OriginConnection;

  // Gives the call to an idle connection, a new one or the queue.
  void place(FastCall& call, bool fresh_only);
  void dequeue(FastCall& call);
  // Ends the call, which is on no connection any more.
  void fail(FastCall& call, FastFailure failure);

  void on_connection_idle(OriginConnection& connection);
  // The connection is on its way out; it is destroyed when its last operation has ended.
  void on_connection_closed(OriginConnection& connection);
  void on_connection_finished(OriginConnection& connection);
  void serve_queue();

  boost::asio::io_context& loop_;
  OriginSettings settings_;
  OriginTimeouts& timeouts_;
  boost::asio::ip::tcp::endpoint address_;
  std::vector<std::unique_ptr<OriginConnection>> connections_;  // in any state
  std::vector<OriginConnection*> idle_;                         // the last used one at the back
  std::size_t open_ = 0;                                        // not closed
  std::deque<FastCall*> waiting_;
};

}  // namespace prophecy::replica_client
