// The pages of the simulated service, and requests for them as an origin sees them.
//
//   /0, /1, ...  registers: their value, which writes change
//   /agent       the User-Agent and the address of the client, without a word in Vary
//   /vary        the same, with Vary: User-Agent
//   /cookie      a fresh session, by Set-Cookie
//   /host        the name of the origin that answers
//   /large       as /agent, with a large body where there are any
//   /large-host  as /host, likewise
//   /other?N     a welcome
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "consistency/settings.hpp"
#include "http/message.hpp"

namespace prophecy::consistency {

enum class Page : std::uint8_t {
  register_value,
  agent,
  vary,
  cookie,
  host,
  large,
  large_host,
  other
};
inline constexpr std::array<std::string_view, 8> kPageTargets{
    "", "/agent", "/vary", "/cookie", "/host", "/large", "/large-host", "/other"};
// The constants in place of the visible exceptions (docs/canonical-form.md).
constexpr std::string_view kConstantAgent = "Prophecy";
constexpr std::string_view kConstantAddress = "192.0.2.1";
// The client that conspires with the liars.
constexpr std::string_view kAccomplice = "accomplice";

// Views into the request's text.
struct PageRequest {
  struct Range {
    std::size_t first = 0;
    std::size_t last = 0;
  };
  bool is_write = false;
  bool is_head = false;
  Page page = Page::register_value;
  Key key = 0;
  std::string_view agent;
  std::string_view address;
  std::string_view value;  // that a write writes
  std::optional<Range> range{};

  [[nodiscard]] bool has_constants() const { return agent == kConstantAgent; }
  [[nodiscard]] bool is_of_register() const { return page == Page::register_value; }
};
// The text is one that the sketcher has made.
[[nodiscard]] PageRequest parse_page_request(std::string_view wire);

// How an answer comes.
enum class Manner : std::uint8_t {
  whole,
  cut,       // the connection is closed in the midst of it
  stuck,     // it begins, and goes no further
  dripping,  // byte by byte
  endless,   // it goes on behind its end
};

struct PageAnswer {
  std::uint16_t status = 200;
  std::string text{};    // of the body
  std::string cookie{};  // empty: none is set
  bool varies = false;
  bool is_large = false;                     // the body is large_body(text)
  std::optional<std::size_t> wrong_block{};  // of a large body: another one than the text's
  bool ignores_range = false;
  Manner manner = Manner::whole;

  // Without a body.
  [[nodiscard]] http::Response head(const PageRequest& request) const;
  // All of it, or the range that is asked for.
  [[nodiscard]] std::string body(const PageRequest& request) const;
};

}  // namespace prophecy::consistency
