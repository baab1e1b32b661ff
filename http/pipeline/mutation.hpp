// Mutations of pipelining, as those of the read path (sketcher/core/read/mutation.hpp): switches
// that exist in programs built with PROPHECY_MUTATIONS alone.
#pragma once

namespace prophecy::http {

// A request whose owner has left loses its place although it was sent: its answer is taken for the
// next one's.
#ifdef PROPHECY_MUTATIONS
inline bool late_for_next_mutation = false;
[[nodiscard]] inline bool is_late_for_next() {
  return late_for_next_mutation;
}
#else
[[nodiscard]] constexpr bool is_late_for_next() {
  return false;
}
#endif

}  // namespace prophecy::http
