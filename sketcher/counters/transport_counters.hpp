// What is counted of connections, whatever they carry. Part of a worker's counters.
#pragma once

#include <array>

#include "base/counter.hpp"
#include "http/http2/server_connection.hpp"

namespace prophecy::sketcher {

struct TlsCounters {
  Counter handshakes;
  Counter resumed;  // of those
  Counter failed;   // broken rules, wrong certificates; not those that just went away
};

struct Http2Counters {
  Counter connections;
  Counter broken_off;                              // answers that the client did not take
  std::array<Counter, http::kHttp2EndCount> ends;  // of connections, by Http2End
};

}  // namespace prophecy::sketcher
