// The body of a request that is arriving: in memory as long as it is small, and beyond that in a
// file (spooled_body.hpp). States:
//
//   in memory --- larger than settings.from_bytes ---> in a file --- whole ---> with the request
//
// Used for one request after another. Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <string>

#include "http/parser.hpp"
#include "sketcher/spool/spool_settings.hpp"
#include "sketcher/spool/spool_space.hpp"
#include "sketcher/spool/spooled_body.hpp"

namespace prophecy::sketcher {

// What the intakes of a worker share.
struct Spool {
  const SpoolSettings& settings;
  SpoolSpace space;
  SpoolCounters& counters;
  bool hashed;  // some group orders large requests by their digests
};

class BodyIntake {
 public:
  explicit BodyIntake(Spool& spool) : spool_(spool) {}

  // Bytes have come. Takes out of `body` what belongs into the file. False: there is no room, or
  // the disk refuses; nothing is kept, and failure() says what to answer.
  [[nodiscard]] bool take(std::string& body) {
    return file_ == nullptr && body.size() <= spool_.settings.from_bytes ? true : spill(body);
  }
  // The body is whole: the rest of it goes to where its beginning is.
  [[nodiscard]] bool finish(http::Request& request) {
    return file_ == nullptr ? true : close(request);
  }
  // The request will not become whole.
  void drop() { file_.reset(); }

  // So many bytes are in the file.
  [[nodiscard]] std::uint64_t spooled() const { return file_ ? file_->size() : 0; }
  [[nodiscard]] const http::ParseFailure& failure() const { return failure_; }

 private:
  [[nodiscard]] bool spill(std::string& body);
  [[nodiscard]] bool close(http::Request& request);
  [[nodiscard]] bool write(std::string_view piece);
  bool fail(std::uint16_t status, std::string_view reason);

  Spool& spool_;
  std::shared_ptr<SpooledBody> file_;  // null: in memory
  http::ParseFailure failure_;
};

}  // namespace prophecy::sketcher
