// `SyntheticCrawl` makes up a crawl whose transitions are known: for tests of readers, and for
// benchmarks. Each round asks for each URL once. Half of the URLs never change, two fifths change
// every few rounds, and a tenth changes in each round; a change is a new random identifier, a new
// time, a counter that goes up, or another text.
//
// No I/O. The same plan gives the same crawl. For one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "measurement/input/timestamp.hpp"

namespace prophecy::measurement {

struct CrawlPlan {
  std::uint32_t urls = 100;
  std::uint32_t rounds = 30;
  std::uint32_t body_bytes = 8192;  // about
  std::uint64_t seed = 1;
};

struct SyntheticAnswer {
  std::string url;  // absolute
  Microseconds time = 0;
  std::string fields;  // of the head, a line each with CR LF, without a length
  std::string body;
  std::string address;
};

class SyntheticCrawl {
 public:
  explicit SyntheticCrawl(CrawlPlan plan);

  [[nodiscard]] std::uint64_t answers() const;
  // The number that counting has to find.
  [[nodiscard]] std::uint64_t transitions() const;
  // How often the URL has changed by this round. An answer depends on nothing else, but for its
  // time.
  [[nodiscard]] std::uint32_t version(std::uint32_t url, std::uint32_t round) const;
  [[nodiscard]] std::string url_of(std::uint32_t url) const;
  [[nodiscard]] std::string address_of(std::uint32_t url) const;  // of its host
  [[nodiscard]] Microseconds time_of(std::uint32_t url, std::uint32_t round) const;
  // Reuses the memory of `answer`.
  void make(std::uint32_t url, std::uint32_t round, SyntheticAnswer& answer) const;
  [[nodiscard]] const CrawlPlan& plan() const { return plan_; }

 private:
  [[nodiscard]] std::uint64_t draw(std::uint64_t url, std::uint64_t what) const;

  CrawlPlan plan_;
  std::string text_;  // that bodies are cut out of
};

}  // namespace prophecy::measurement
