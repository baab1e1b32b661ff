// `SharedAnswers` finds one answer under many URLs of one host: cache busters and other parts of a
// URL that the answer does not depend on. It takes the first sketched 200 of each URL that has a
// body: 16 bytes a URL.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "measurement/analysis/answer.hpp"
#include "measurement/analysis/url_table.hpp"

namespace prophecy::measurement {

struct SharedAnswer {
  std::vector<UrlNumber> urls;  // in the order of their numbers
};

class SharedAnswers {
 public:
  static constexpr std::size_t kUrlsMin = 3;  // fewer are not worth a line
  static constexpr std::size_t kListedMax = 20;

  // Requires a sketched answer.
  void add(UrlNumber url, const Answer& answer);
  // Those under most URLs first. Ends the collecting.
  [[nodiscard]] std::vector<SharedAnswer> finish(const UrlTable& urls);

 private:
  struct Seen {
    std::uint64_t sketch = 0;  // its first bytes
    UrlNumber url = 0;
  };
  std::vector<bool> known_;  // by URL
  std::vector<Seen> seen_;
};

}  // namespace prophecy::measurement
