// Feeds a parser the same bytes whole and in pieces, for the fuzz targets: the outcome must not
// depend on how the network cut them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/parser.hpp"

namespace prophecy::http {

// Stops the program, which is how a fuzz target reports.
inline void require(bool condition) {
  if (!condition) std::abort();
}

// Feeds until the message is whole, refused or the input is at its end. Yields the bytes taken.
template <class Parser>
std::size_t feed_pieces(Parser& parser, std::string_view input, std::size_t piece_size,
                        ParseState& state) {
  std::size_t consumed = 0;
  std::size_t offered = 0;
  for (;;) {
    const ParseProgress progress = parser.feed(input.substr(consumed, offered - consumed));
    require(progress.consumed <= offered - consumed);
    consumed += progress.consumed;
    state = progress.state;
    if (state == ParseState::complete || state == ParseState::failed) return consumed;
    if (state == ParseState::head_done) continue;
    require(consumed == offered);
    if (offered == input.size()) return consumed;
    offered = std::min(input.size(), offered + piece_size);
  }
}

inline bool equal(const FieldList& one, const FieldList& other) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one.name(i) != other.name(i) || one.value(i) != other.value(i)) return false;
  }
  return true;
}

}  // namespace prophecy::http
