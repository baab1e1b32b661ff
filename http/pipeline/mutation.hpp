// Mutations of pipelining, as those of the read path (sketcher/core/read/mutation.hpp): switches
// that exist in programs built with PROPHECY_MUTATIONS alone.
#pragma once

namespace prophecy::http {

#ifdef PROPHECY_MUTATIONS
inline bool late_for_next_mutation = false;
inline bool follows_any_mutation = false;
#else
constexpr bool late_for_next_mutation = false;
constexpr bool follows_any_mutation = false;
#endif

// A request whose owner has left loses its place although it was sent: its answer is taken for the
// next one's.
[[nodiscard]] inline bool is_late_for_next() {
  return late_for_next_mutation;
}
// A read is put behind any other, whatever the times of the two classes say.
[[nodiscard]] inline bool is_behind_any() {
  return follows_any_mutation;
}

}  // namespace prophecy::http
