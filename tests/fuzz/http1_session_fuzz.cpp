// HTTP/1.x on one connection, by a script. What the client gets is well-formed: one answer for each
// request, in their order, each with the bytes that were given for it.
#include "session_script.hpp"
#include "sketcher/client/http/http1_session.hpp"

namespace prophecy::sketcher::session_test {
namespace {

class Http1Script final : public SessionScript<Http1Session> {
 public:
  using SessionScript::SessionScript;

 private:
  [[nodiscard]] std::string fragment() override {
    const std::string target = "/" + std::to_string(choices_.below(8));
    const auto request = [&](const char* method, const std::string& fields) {
      return std::string(method) + " " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    };
    switch (choices_.below(16)) {
      case 0:
      case 1:
      case 2:
        return request("GET", "");
      case 3:
        return request("HEAD", "");
      case 4:
        return request("GET", "Connection: close\r\n");
      case 5:
        return "GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n";
      case 6:
        return request("PUT", "Content-Length: 5\r\n") + "hello";
      case 7:
        return request("PUT", "Content-Length: 9000\r\n");
      case 8:
        return request("PUT", "Expect: 100-continue\r\nContent-Length: 5\r\n");
      case 9:
        return request("POST", "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n0\r\n\r\n";
      case 10:
        return request("POST", "Transfer-Encoding: chunked\r\n") + "3\r\na";
      case 11:
        return std::string(choices_.one_of<std::size_t>({1, 5, 4096, 70'000}), 'x');
      case 12:
        return request("GET", "Range: bytes=1-3\r\n");
      case 13:
        return request("GET", "Upgrade: echo\r\nConnection: upgrade\r\n");
      case 14:
        return "GET / HT";
      default:
        return "\r\n";
    }
  }

  void check_answers(const std::string& taken) override {
    http::MessageLimits limits;
    limits.body_bytes_max = 1 << 20;
    http::Response response;
    http::ResponseParser parser(response, limits);
    std::string_view rest = taken;
    for (std::size_t answer = 0; !rest.empty(); ++answer) {
      // A refusal of the session's own is the last answer.
      const bool is_given = answer < given().size();
      REQUIRE(answer <= given().size());
      parser.reset(is_given ? given()[answer].method == "HEAD" : false);
      const std::string_view all = rest;
      if (!feed(parser, rest)) {
        // An answer to HEAD has no more; one in blocks is under way; "100 Continue" is none, and
        // its rest may go out with the answer.
        constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
        const bool is_interim = kContinue.starts_with(all) || all.starts_with(kContinue);
        const bool is_head_only = !is_given && all.ends_with("\r\n\r\n");
        const bool is_under_way = is_given && given()[answer].is_large;
        REQUIRE((client_.over() || is_head_only || is_under_way || is_interim));
        return;
      }
      if (is_given) check(response, given()[answer]);
      if (!is_given) REQUIRE((response.status >= 400 && rest.empty()));
    }
    // All that was given has arrived, unless the connection was cut off.
    REQUIRE((client_.over() || answered_ == given().size()));
  }
  // False: it is not whole.
  [[nodiscard]] bool feed(http::ResponseParser& parser, std::string_view& rest) {
    for (;;) {
      const http::ParseProgress progress = parser.feed(rest);
      rest.remove_prefix(progress.consumed);
      REQUIRE(progress.state != http::ParseState::failed);
      if (progress.state == http::ParseState::need_more) return false;
      if (progress.state == http::ParseState::complete) return true;
    }
  }
  void check(const http::Response& response, const Given& given) {
    ++answered_;
    REQUIRE((response.status == given.status || given.status == 200));
    if (given.method == "HEAD" || given.is_large || response.status != 200) return;
    REQUIRE(response.body == given.body);
  }

  std::size_t answered_ = 0;
};

}  // namespace
}  // namespace prophecy::sketcher::session_test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prophecy;
  using namespace prophecy::sketcher;
  fuzz::Choices choices(data, size);
  session_test::World world;
  session_test::Client<Http1Session> client(
      world, choices.one_of<std::size_t>({1 << 20, 100'000, 4096, 100}));
  session_test::Http1Script script(choices, world, client);
  client.begin("");
  script.run();
  return 0;
}
