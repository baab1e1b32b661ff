// An origin that behaves as a test tells it: for each request it has read, the next step of its
// script. The last step goes on for ever.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "base/endpoint.hpp"

namespace prophecy::test {

struct Step {
  std::string answer;  // sent as it is
  bool close = false;  // after the answer
  bool reset = false;  // and not in an orderly way
};

inline Step answer(const std::string& body, const std::string& fields = "") {
  return {"HTTP/1.1 200 OK\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body,
          false};
}

class ScriptedOrigin {
 public:
  ScriptedOrigin(boost::asio::io_context& io, std::deque<Step> script,
                 const Endpoint& at = {"127.0.0.1", 0})
      // With SO_REUSEADDR: an origin may come back under its address.
      : script_(std::move(script)),
        acceptor_(io, {boost::asio::ip::make_address(at.address), at.port}, true) {
    accept();
  }

  [[nodiscard]] Endpoint address() { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }
  void close_all() {
    for (const auto& connection : connections_)
      connection->socket.close();
    connections_.clear();
  }

  // More of an answer, on the connection that was accepted as this one, of those that are open.
  void send(std::size_t connection, std::string_view text) {
    boost::asio::write(connections_.at(connection)->socket, boost::asio::buffer(text));
  }

  std::vector<std::string> requests;
  std::size_t accepted = 0;
  std::size_t resets = 0;      // connections that the peer has ended with a reset
  bool awaits_bodies = false;  // of a declared length; else a request is what came with its head

 private:
  using Socket = boost::asio::ip::tcp::socket;
  struct Connection {
    explicit Connection(Socket s) : socket(std::move(s)) {}
    Socket socket;
    std::string input;
    char chunk[4096];
  };

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Socket socket) {
      if (error) return;
      ++accepted;
      // As web servers do: the answer to a pipelined request waits for no acknowledgement.
      socket.set_option(boost::asio::ip::tcp::no_delay(true));
      connections_.push_back(std::make_shared<Connection>(std::move(socket)));
      read(connections_.back());
      accept();
    });
  }

  void read(std::shared_ptr<Connection> connection) {
    connection->socket.async_read_some(
        boost::asio::buffer(connection->chunk),
        [this, connection](const boost::system::error_code& error, std::size_t size) {
          if (error == boost::asio::error::connection_reset) ++resets;
          if (error) return;
          connection->input.append(connection->chunk, size);
          while (connection->socket.is_open() && has_request(*connection))
            act(*connection);
          if (connection->socket.is_open()) read(connection);
        });
  }

  bool has_request(const Connection& connection) const {
    const std::string& input = connection.input;
    const std::size_t end = input.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t length = input.find(kLength);
    if (!awaits_bodies || length >= end) return true;
    return input.size() >= end + 4 + std::stoul(input.substr(length + kLength.size()));
  }

  // A request is what there is up to the next one's beginning (pipelining).
  void act(Connection& connection) {
    const std::size_t next = connection.input.find("\r\n\r\nGET ");
    const std::size_t size = next == std::string::npos ? connection.input.size() : next + 4;
    requests.push_back(connection.input.substr(0, size));
    connection.input.erase(0, size);
    const Step step = script_.front();
    if (script_.size() > 1) script_.pop_front();
    boost::system::error_code error;
    boost::asio::write(connection.socket, boost::asio::buffer(step.answer), error);
    if (step.reset) {
      connection.socket.set_option(boost::asio::socket_base::linger(true, 0), error);
    }
    if (step.close) connection.socket.close();
  }

  std::deque<Step> script_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<Connection>> connections_;
};

}  // namespace prophecy::test
