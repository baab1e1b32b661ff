// An agent that votes on each call as a test tells it, on a real connection and with real MACs.
// Votes may be held back, and let go later.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "base/endpoint.hpp"
#include "pbft/group.hpp"

namespace prophecy::test {

struct Vote {
  std::string result;
  Sigma sigma = 1 << 16;
  pbft::ReplyStatus status = pbft::ReplyStatus::done;
};

class ScriptedAgent {
 public:
  using Script = std::function<Vote(const pbft::RequestMessage& request)>;

  // At this port of the loopback address, or at any that is free.
  ScriptedAgent(boost::asio::io_context& io, NodeId id, std::uint16_t port = 0)
      : id_(id), acceptor_(io, {boost::asio::ip::address_v4::loopback(), port}), socket_(io) {
    acceptor_.async_accept(socket_, [this](const boost::system::error_code& error) {
      if (!error) read();
    });
  }

  [[nodiscard]] Endpoint address() { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }

  void vote(Script script) { script_ = std::move(script); }
  void hold() { holding_ = true; }
  void let_go() {
    holding_ = false;
    for (; !held_.empty(); held_.pop_front())
      send(held_.front());
  }
  [[nodiscard]] std::size_t votes_held() const { return held_.size(); }

 private:
  void read() {
    socket_.async_read_some(boost::asio::buffer(chunk_),
                            [this](const boost::system::error_code& error, std::size_t size) {
                              if (error) return;
                              input_.insert(input_.end(), chunk_, chunk_ + size);
                              while (take_frame()) {
                              }
                              read();
                            });
  }

  // A frame has its length in front, as 32 bits, little endian.
  bool take_frame() {
    std::uint32_t size = 0;
    if (input_.size() < sizeof size) return false;
    std::memcpy(&size, input_.data(), sizeof size);
    if (input_.size() < sizeof size + size) return false;
    const auto request =
        pbft::decode_request(ByteView(input_).subspan(sizeof size, size), pbft::test::kReplicas);
    if (request) {  // else a hello
      const Vote vote = script_(*request);
      const pbft::Frame frame =
          pbft::test::reply(id_, request->timestamp, vote.result, vote.sigma, true, vote.status);
      holding_ ? held_.push_back(frame) : send(frame);
    }
    input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(sizeof size + size));
    return true;
  }

  void send(const pbft::Frame& frame) {
    const auto size = static_cast<std::uint32_t>(frame->size());
    boost::asio::write(
        socket_, std::array{boost::asio::buffer(&size, sizeof size), boost::asio::buffer(*frame)});
  }

  NodeId id_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::socket socket_;
  Script script_;
  bool holding_ = false;
  std::deque<pbft::Frame> held_;
  std::uint8_t chunk_[4096];
  Bytes input_;
};

}  // namespace prophecy::test
