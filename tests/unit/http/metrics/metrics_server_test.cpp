#include "http/metrics/metrics_server.hpp"

#include <algorithm>
#include <vector>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>

#include "http/metrics/exposition.hpp"
#include "support/event_loop.hpp"

using namespace prophecy;
using namespace prophecy::http;
using boost::asio::ip::tcp;
using prophecy::test::run_until;

namespace {

struct World {
  World() {
    auto listening = MetricsServer::listen(io, {"127.0.0.1", 0}, [this] {
      ++pages;
      return std::string("a_page 1\n");
    });
    REQUIRE(listening.has_value());
    server = std::move(*listening);
  }

  tcp::socket connect() {
    tcp::socket socket(io);
    const Endpoint address = server->local_address();
    socket.connect({boost::asio::ip::make_address(address.address), address.port});
    return socket;
  }

  // All that comes until the server hangs up.
  std::string answer_to(const std::string& request) {
    tcp::socket socket = connect();
    boost::asio::write(socket, boost::asio::buffer(request));
    std::string answer;
    bool ended = false;
    boost::asio::async_read(socket, boost::asio::dynamic_buffer(answer),
                            [&](boost::system::error_code, std::size_t) { ended = true; });
    REQUIRE(run_until(io, [&] { return ended; }));
    return answer;
  }

  boost::asio::io_context io{1};
  int pages = 0;
  std::unique_ptr<MetricsServer> server;
};

std::string status_of(const std::string& answer) {
  return answer.substr(0, answer.find("\r\n"));
}

}  // namespace

TEST_CASE("The one page is made anew for each request") {
  World world;
  const std::string request = "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n";
  const std::string answer = world.answer_to(request);
  CHECK(status_of(answer) == "HTTP/1.1 200 OK");
  CHECK_THAT(answer, Catch::Contains("content-length: 9\r\n"));
  CHECK_THAT(answer, Catch::EndsWith("\r\n\r\na_page 1\n"));
  CHECK(world.answer_to(request) == answer);
  CHECK(world.pages == 2);
}

TEST_CASE("Anything else is refused, and makes no page") {
  World world;
  CHECK(status_of(world.answer_to("GET / HTTP/1.1\r\nhost: x\r\n\r\n")) ==
        "HTTP/1.1 404 Not Found");
  CHECK(status_of(world.answer_to("PUT /metrics HTTP/1.1\r\nhost: x\r\n\r\n")) ==
        "HTTP/1.1 405 Method Not Allowed");
  CHECK(status_of(world.answer_to("GET /metrics HTTP/1.1\r\n\r\n")) == "HTTP/1.1 400 Bad Request");
  CHECK(status_of(world.answer_to(
            "GET /metrics HTTP/1.1\r\nhost: x\r\nlong: " + std::string(9000, 'x') + "\r\n\r\n")) ==
        "HTTP/1.1 431 Request Header Fields Too Large");
  CHECK(world.pages == 0);
}

TEST_CASE("Connections are bounded, and stop() leaves none") {
  World world;
  std::vector<tcp::socket> sockets;
  for (int i = 0; i < 20; ++i) {
    sockets.push_back(world.connect());
    world.io.poll();  // accepts it: no more than a few may wait
  }
  std::vector<bool> ended(sockets.size(), false);
  std::array<char, 1> byte{};
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    sockets[i].async_read_some(
        boost::asio::buffer(byte),
        [&ended, i](boost::system::error_code, std::size_t) { ended[i] = true; });
  }
  const auto ended_count = [&] { return std::count(ended.begin(), ended.end(), true); };
  REQUIRE(run_until(world.io, [&] { return ended_count() == 4; }));
  CHECK_FALSE(ended.front());
  world.server->stop();
  CHECK(run_until(world.io, [&] { return ended_count() == 20; }));
}

TEST_CASE("An exposition is in Prometheus' text format") {
  Exposition out;
  constexpr Metric kCounter =
      counter_metric("prophecy_a_total", "events", "What it counts.").by("kind");
  out.add(kCounter, {}, "x", 3);
  out.add(kCounter, {}, "y", 4);
  out.add(gauge_metric("prophecy_b", "number", "What it shows."), {}, 0.5);
  out.resident_memory();
  const std::string text = out.text();
  CHECK_THAT(text, Catch::Contains("# HELP prophecy_a_total What it counts.\n"
                                   "# TYPE prophecy_a_total counter\n"));
  CHECK_THAT(text, Catch::Contains("\nprophecy_a_total{kind=\"x\"} 3\n"));
  CHECK_THAT(text, Catch::Contains("\nprophecy_a_total{kind=\"y\"} 4\n"));
  CHECK_THAT(text, Catch::Contains("# TYPE prophecy_b gauge\nprophecy_b 0.5\n"));
  CHECK_THAT(text, Catch::Contains("\nprocess_resident_memory_bytes "));
}
