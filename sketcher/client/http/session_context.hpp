// What a worker's connections share, beside what their sessions do.
#pragma once

#include "sketcher/client/http/http2_session.hpp"
#include "sketcher/client/session/connection_timeouts.hpp"
#include "sketcher/client/session/session.hpp"
#include "sketcher/reads/worker_context.hpp"
#include "transport/byte_stream.hpp"
#include "transport/readiness_loop.hpp"

namespace prophecy::sketcher {

struct SessionContext {
  WorkerContext& worker;
  SessionResources resources;
  ConnectionTimeouts& timeouts;
  Http2Resources http2;

  [[nodiscard]] static TimePoint now() { return std::chrono::steady_clock::now(); }
};

// The connection as a session sees it that does its I/O itself.
class StreamHost : public SessionHost {
 public:
  [[nodiscard]] virtual transport::ByteStream& stream() = 0;
  // Where sockets are registered that belong to the session.
  [[nodiscard]] virtual transport::ReadinessLoop& readiness() = 0;

 protected:
  ~StreamHost() = default;
};

}  // namespace prophecy::sketcher
