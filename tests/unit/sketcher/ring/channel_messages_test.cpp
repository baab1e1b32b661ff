#include "sketcher/ring/channel_messages.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <catch2/catch.hpp>
#include <sys/socket.h>

#include "base/unique_fd.hpp"
#include "support/event_loop.hpp"

namespace prophecy::sketcher {
namespace {

struct Channel {
  Channel() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    reading.reset(ends[0]);
    writing.reset(ends[1]);
  }
  void write(const std::string& text) const {
    REQUIRE(::send(writing.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  UniqueFd reading;
  UniqueFd writing;
};

}  // namespace

TEST_CASE("messages of a channel: a turn reads so many, whatever comes meanwhile") {
  const Channel channel;
  channel.write("message");
  std::array<char, 100> buffer;
  std::size_t taken = 0;
  // Each one that is read brings another.
  CHECK(take_messages(channel.reading.get(), buffer, [&](std::string_view text) {
    CHECK(text == "message");
    if (++taken < 10'000) channel.write("message");
  }));
  CHECK(taken == kMessagesInTurn);
}

TEST_CASE("messages of a channel: those that are left come in the next turns, and then its end") {
  Channel channel;
  for (std::size_t i = 0; i < kMessagesInTurn + 10; ++i)
    channel.write(std::to_string(i));
  boost::asio::io_context loop(1);
  boost::asio::posix::stream_descriptor descriptor(loop, channel.reading.release());
  std::array<char, 100> buffer;
  std::vector<std::string> taken;
  std::vector<std::size_t> turns;
  bool has_ended = false;
  const std::function<void()> wait = [&] {
    descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [&](const boost::system::error_code& error) {
                            if (error) return;
                            has_ended = !take_messages(
                                descriptor.native_handle(), buffer,
                                [&](std::string_view text) { taken.emplace_back(text); });
                            turns.push_back(taken.size());
                            if (!has_ended) wait();
                          });
  };
  wait();
  REQUIRE(test::run_until(loop, [&] { return taken.size() == kMessagesInTurn + 10; }));
  CHECK(turns == std::vector<std::size_t>{kMessagesInTurn, kMessagesInTurn + 10});
  CHECK(taken.front() == "0");
  CHECK(taken.back() == std::to_string(kMessagesInTurn + 9));
  channel.writing.reset();
  REQUIRE(test::run_until(loop, [&] { return has_ended; }));
}

}  // namespace prophecy::sketcher
