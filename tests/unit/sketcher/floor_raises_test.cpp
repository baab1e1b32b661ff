#include "sketcher/reads/floor_raises.hpp"

#include <optional>

#include <catch2/catch.hpp>

#include "canonical/request_form.hpp"
#include "http/http2/server_connection.hpp"

namespace prophecy::sketcher {
namespace {

// The member that is asked, up to what its session makes of the request.
class Member final : private http::Http2Handler, private http::Http2CallHandler {
 public:
  Member() { exchange(); }
  void ask(const http::BaseUri& uri, std::string_view floor) {
    ask_for_floor(client_, call_, uri, floor);
    exchange();
  }
  [[nodiscard]] const http::Http2Stream& asked() const {
    REQUIRE(is_asked_);
    return stream_;
  }

 private:
  struct Stream final : http::Http2Stream {};

  void exchange() {
    for (;;) {
      std::string there;
      std::string back;
      client_.take_output(there, 1 << 20);
      server_.feed(there, TimePoint(std::chrono::seconds(1000)));
      server_.take_output(back, 1 << 20);
      client_.feed(back);
      if (there.empty() && back.empty()) return;
    }
  }

  http::Http2Stream& on_stream_opened() override { return stream_; }
  void on_progress(http::Http2Stream&, std::size_t) override {}
  void on_request(http::Http2Stream&) override { is_asked_ = true; }
  void on_refused(http::Http2Stream&, const http::ParseFailure&) override {}
  void on_violation(std::string_view) override {}
  void on_sent(http::Http2Stream&, std::size_t) override {}
  void on_drained(http::Http2Stream&) override {}
  void on_storage_free(std::string&) override {}
  void on_stream_closed(http::Http2Stream&) override {}
  void on_answer_head(http::Http2Call&) override {}
  void on_answer_bytes(http::Http2Call&, std::string_view) override {}
  void on_call_end(http::Http2Call&, http::Http2CallEnd) override {}

  const http::Http2Limits limits_{.request = {}, .streams_max = 10, .is_from_proxy = true};
  const http::MessageLimits limits_of_answers_{};
  Stream stream_;
  http::Http2Call call_;
  bool is_asked_ = false;
  http::Http2ServerConnection server_{*this, limits_, "http"};
  http::Http2ClientConnection client_{*this, limits_of_answers_};
};

}  // namespace

// The default port of one scheme is not the other's: it would be another URI.
TEST_CASE("A member that is asked for a floor raises that of the URI that was written") {
  const auto [scheme, authority] =
      GENERATE(Catch::Generators::table<std::string_view, std::string_view>(
          {{"http", "host"}, {"https", "host"}, {"https", "host:80"}, {"http", "host:443"}}));
  Member member;
  member.ask({scheme, authority, "/a?b"}, "2 7 1");
  const http::Http2Stream& asked = member.asked();
  TrustedPeers peers;
  ClientInfo client;
  REQUIRE(read_client(asked.said_by_proxy, asked.scheme(), peers, client));
  CHECK(client.floor == "2 7 1");
  sketch::RequestForm form;
  sketch::RequestCanonicalizer canonicalizer;
  const sketch::RequestContext known{.scheme = client.scheme(), .client_address = client.address};
  REQUIRE_FALSE(canonicalizer.locate(asked.request, known, form));
  CHECK(form.authority == authority);
  CHECK(form.target == "/a?b");
}

}  // namespace prophecy::sketcher
