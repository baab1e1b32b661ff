// Feeds a parser and puts what came of it into one line of text, so that cases fit into a table.
#pragma once

#include <string>
#include <string_view>

#include "http/parser.hpp"

namespace prophecy::http {

// Feeds `input` in pieces of `piece_size` bytes until the message is whole or refused. `consumed`
// counts the bytes that the parser took.
template <class Parser>
ParseState feed_in_pieces(Parser& parser, std::string_view input, std::size_t piece_size,
                          std::size_t& consumed, bool& head_seen) {
  consumed = 0;
  head_seen = false;
  std::size_t offered = 0;  // bytes of the input that "the network" has delivered
  for (;;) {
    const ParseProgress progress = parser.feed(input.substr(consumed, offered - consumed));
    consumed += progress.consumed;
    switch (progress.state) {
      case ParseState::complete:
      case ParseState::failed:
        return progress.state;
      case ParseState::head_done:
        head_seen = true;
        break;
      case ParseState::need_more:
        if (offered == input.size()) return ParseState::need_more;
        offered = std::min(input.size(), offered + piece_size);
        break;
    }
  }
}

inline std::string describe(const FieldList& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text += "[" + std::string(fields.name(i)) + "=" + std::string(fields.value(i)) + "]";
  }
  return text;
}

inline std::string describe_failure(const ParseFailure& failure) {
  return std::to_string(failure.status) + " " + std::string(failure.reason);
}

// "GET / 1.1 keep [host=a] body=... rest=..." or "400 reason" or "more".
inline std::string request_outcome(std::string_view input, std::size_t piece_size,
                                   const MessageLimits& limits) {
  Request request;
  RequestParser parser(request, limits);
  std::size_t consumed = 0;
  bool head_seen = false;
  const ParseState state = feed_in_pieces(parser, input, piece_size, consumed, head_seen);
  if (state == ParseState::failed) return describe_failure(parser.failure());
  if (state == ParseState::need_more) return head_seen ? "more body" : "more head";
  return request.method + " " + request.target + " 1." + std::to_string(request.version_minor) +
         (request.keep_alive ? " keep " : " close ") + describe(request.fields) +
         " body=" + request.body + " rest=" + std::string(input.substr(consumed));
}

inline std::string response_outcome(std::string_view input, std::size_t piece_size,
                                    const MessageLimits& limits, bool answers_head,
                                    bool then_close) {
  Response response;
  ResponseParser parser(response, limits);
  parser.reset(answers_head);
  std::size_t consumed = 0;
  bool head_seen = false;
  ParseState state = feed_in_pieces(parser, input, piece_size, consumed, head_seen);
  if (state == ParseState::need_more && then_close) state = parser.finish().state;
  if (state == ParseState::failed) return describe_failure(parser.failure());
  if (state == ParseState::need_more) return head_seen ? "more body" : "more head";
  return std::to_string(response.status) + " 1." + std::to_string(response.version_minor) +
         (response.keep_alive ? " keep " : " close ") + describe(response.fields) +
         " body=" + response.body + " rest=" + std::string(input.substr(consumed));
}

}  // namespace prophecy::http
