// An origin's bytes: parsed whole and in pieces alike, and if they are an answer with a canonical
// form, that form survives the way over the wire.
#include "canonical/answer_form.hpp"
#include "feed_twice.hpp"

using namespace prophecy;
using http::require;

namespace {

void check_canonical(const http::Response& response, bool answers_head) {
  static const sketch::Profile profile;
  sketch::AnswerCanonicalizer canonicalizer(profile);
  sketch::AnswerForm form;
  if (canonicalizer.canonicalize(response, answers_head, form) != sketch::AnswerFault::none) return;
  const Bytes encoded = sketch::encode(form);
  const auto decoded = sketch::decode(encoded);
  require(decoded.has_value());
  require(sketch::compare(form, *decoded).empty());
  require(sketch::may_be_sketched(form, profile) == sketch::may_be_sketched(*decoded, profile));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece_size = 1 + data[0] % 16;
  const bool answers_head = (data[0] & 0x80) != 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  http::MessageLimits limits;
  limits.header_bytes_max = 1024;
  limits.body_bytes_max = 256;

  http::Response whole;
  http::Response pieces;
  http::ResponseParser whole_parser(whole, limits);
  http::ResponseParser pieces_parser(pieces, limits);
  whole_parser.reset(answers_head);
  pieces_parser.reset(answers_head);
  http::ParseState whole_state{};
  http::ParseState pieces_state{};
  const auto consumed = http::feed_pieces(whole_parser, input, input.size(), whole_state);
  const auto again = http::feed_pieces(pieces_parser, input, piece_size, pieces_state);
  if (whole_state == http::ParseState::need_more) whole_state = whole_parser.finish().state;
  if (pieces_state == http::ParseState::need_more) pieces_state = pieces_parser.finish().state;
  require(whole_state == pieces_state);
  if (whole_state != http::ParseState::complete) return 0;
  require(consumed == again);
  require(whole.status == pieces.status && whole.body == pieces.body);
  require(whole.keep_alive == pieces.keep_alive && http::equal(whole.fields, pieces.fields));
  check_canonical(whole, answers_head);
  return 0;
}
