// A client's bytes: parsed whole and in pieces alike, and if they are a request, its wire text
// parses again to a canonical form that is its own.
#include "canonical/request_form.hpp"
#include "feed_twice.hpp"

using namespace prophecy;
using http::require;

namespace {

void check_canonical(const http::Request& request, const http::MessageLimits& limits) {
  static const sketch::Profile profile;
  static const AddressRanges trusted{*AddressRange::parse("192.0.2.0/24")};
  const sketch::RequestContext behind{"http", "192.0.2.1", &trusted};
  for (const auto style :
       {sketch::ForwardingStyle::x_forwarded, sketch::ForwardingStyle::forwarded}) {
    sketch::RequestCanonicalizer canonicalizer({style, "1.1 another"});
    sketch::RequestForm form;
    if (canonicalizer.locate(request, behind, form)) continue;
    if (canonicalizer.canonicalize(request, behind, profile, form)) continue;
    require(IpAddress::parse(form.client).has_value());
  }
  sketch::RequestCanonicalizer canonicalizer;
  const sketch::RequestContext context{"http", "192.0.2.1"};
  sketch::RequestForm form;
  if (canonicalizer.locate(request, context, form)) return;
  if (canonicalizer.canonicalize(request, context, profile, form)) return;

  // Our own fields come on top of the client's, so the second parse gets more room.
  http::MessageLimits wider = limits;
  wider.header_bytes_max *= 2;
  wider.header_count_max += 16;
  wider.target_bytes_max *= 2;
  // But for Via, the first of which is ours: who comes twice is refused.
  constexpr std::string_view kVia = "\r\nvia: 1.1 prophecy";
  std::string wire = form.wire;
  wire.erase(wire.find(kVia), kVia.size());
  http::Request again;
  http::RequestParser parser(again, wider);
  http::ParseState state{};
  require(http::feed_pieces(parser, wire, wire.size(), state) == wire.size());
  require(state == http::ParseState::complete);
  sketch::RequestForm second;
  require(!canonicalizer.locate(again, context, second));
  require(!canonicalizer.canonicalize(again, context, profile, second));
  require(second.wire == form.wire && second.key == form.key);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece_size = 1 + data[0] % 16;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  http::MessageLimits limits;
  limits.header_bytes_max = 1024;
  limits.target_bytes_max = 256;
  limits.body_bytes_max = 256;

  http::Request whole;
  http::Request pieces;
  http::RequestParser whole_parser(whole, limits);
  http::RequestParser pieces_parser(pieces, limits);
  while (!input.empty()) {  // pipelined
    http::ParseState whole_state{};
    http::ParseState pieces_state{};
    const auto consumed = http::feed_pieces(whole_parser, input, input.size(), whole_state);
    const auto again = http::feed_pieces(pieces_parser, input, piece_size, pieces_state);
    require(whole_state == pieces_state);
    if (whole_state != http::ParseState::complete) return 0;
    require(consumed == again && consumed > 0);
    require(whole.method == pieces.method && whole.target == pieces.target);
    require(whole.body == pieces.body && http::equal(whole.fields, pieces.fields));
    check_canonical(whole, limits);
    input.remove_prefix(consumed);
    whole_parser.reset();
    pieces_parser.reset();
  }
  return 0;
}
