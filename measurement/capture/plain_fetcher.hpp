// `PlainFetcher` asks for each URL of a list once, without a browser, through libcurl. Politeness:
// one request at a time for each host, a pause between two of them, and no request to a host that
// has asked for a pause (Retry-After with 429 or 503) before that is over.
//
// Redirects are answers, and not followed. For one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "measurement/capture/captured_answer.hpp"
#include "measurement/capture/url_list.hpp"
#include "measurement/stop_signals.hpp"

namespace prophecy::measurement {

struct FetchOptions {
  std::uint64_t parallel = 8;    // hosts that are asked at a time
  std::uint64_t delay_ms = 200;  // between two requests to one host
  std::uint64_t timeout_s = 60;  // of one request
  std::uint64_t body_bytes_max = 64 << 20;
  std::string ca_file;               // certificates to trust; empty: the system's
  std::vector<std::string> resolve;  // HOST=ADDRESS
};

class PlainFetcher {
 public:
  explicit PlainFetcher(FetchOptions options);
  ~PlainFetcher();
  PlainFetcher(const PlainFetcher&) = delete;
  PlainFetcher& operator=(const PlainFetcher&) = delete;

  // One round. Failures of single URLs are counted, and named in `problems`. An error is that of
  // `take`. Ends early, with what it has, when the program is to stop.
  [[nodiscard]] Result<RoundFigures> fetch(const std::vector<ListedUrl>& list,
                                           const AnswerTaker& take, StopSignals& stop,
                                           std::vector<std::string>& problems);

 private:
  struct Transfer;
  struct Host;
  class Round;

  FetchOptions options_;
  std::map<std::string, TimePoint> paused_until_;  // by host, as it has asked
};

}  // namespace prophecy::measurement
