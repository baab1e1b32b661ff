// A small HTTP server for one page: GET /metrics. For a monitoring system, on an address that
// clients cannot reach. Bounded in connections, bytes and time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/endpoint.hpp"
#include "base/error.hpp"

namespace prophecy::http {

// Single-threaded. Its io_context must not run any more once the server is destroyed.
class MetricsServer {
 public:
  using Page = std::function<std::string()>;

  [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> listen(boost::asio::io_context& loop,
                                                                     const Endpoint& address,
                                                                     Page page);
  ~MetricsServer();

  // Closes everything, so that the event loop runs dry.
  void stop();
  // Where it listens, with the port that the system chose if it was to.
  [[nodiscard]] Endpoint local_address() const;

 private:
  class Connection;
  using Connections = std::unordered_set<Connection*>;

  MetricsServer(boost::asio::io_context& loop, Page page);
  void accept();

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  Page page_;
  // Shared with the connections, which the loop may destroy after the server.
  std::shared_ptr<Connections> open_ = std::make_shared<Connections>();
};

}  // namespace prophecy::http
