// `DeclaredCaching` compares how cacheable answers are by their header fields, for a shared cache
// of RFC 9111, with how often they change. Where answers were declared fresh it also counts the
// transitions within their declared lifetime: a cache would have delivered the outdated answer.
//
// It takes answers as they arrive, like PreviousBodies. No I/O. For one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "measurement/analysis/answer.hpp"
#include "measurement/analysis/transitions.hpp"

namespace prophecy::measurement {

enum class Declared : std::uint8_t {
  fresh,       // a positive s-maxage or max-age, or an Expires in the future
  revalidate,  // no-cache, or a lifetime of 0
  forbidden,   // no-store or private
  heuristic,   // nothing of these: a cache may guess by Last-Modified
};
inline constexpr std::array<std::string_view, 4> kDeclaredNames = {"fresh", "revalidate",
                                                                   "forbidden", "heuristic"};

struct Declaration {
  Declared kind = Declared::heuristic;
  Microseconds lifetime = 0;  // of a fresh one
};
// `fields` as in Answer; `time` is the answer's.
[[nodiscard]] Declaration declaration_of(std::string_view fields, Microseconds time);

struct DeclaredFigures {
  std::uint64_t answers = 0;
  Pairs pairs;                    // by the declaration of the earlier answer
  Pairs within_lifetime;          // of these: the later answer came within its lifetime
  std::uint64_t urls = 0;         // by the declaration of the last answer
  std::uint64_t static_urls = 0;  // of these: with a pair, and without a transition
};

class DeclaredCaching {
 public:
  // Requires a sketched answer. One whose header fields are not in the inputs is passed over.
  void add(UrlNumber url, const Answer& answer);
  // By kind.
  [[nodiscard]] std::array<DeclaredFigures, kDeclaredNames.size()> figures() const;

 private:
  struct Last {
    Microseconds time = 0;
    Microseconds lifetime = 0;
    std::uint64_t sketch = 0;  // its first bytes
    Declared kind = Declared::heuristic;
    bool is_known = false;
    bool has_pair = false;
    bool has_changed = false;
  };
  std::vector<Last> last_;  // by URL
  std::array<DeclaredFigures, kDeclaredNames.size()> figures_{};
};

}  // namespace prophecy::measurement
