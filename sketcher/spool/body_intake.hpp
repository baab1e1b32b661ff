// The body of a request that is arriving: in memory as long as it is small, and beyond that in a
// file (spooled_body.hpp). States:
//
//   in memory --- larger than settings.from_bytes ---> in a file --- whole ---> with the request
//
// A body in a file may have to give way (slow_bodies.hpp), and each has only so much time in all.
//
// Used for one request after another. Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <string>

#include "http/parser.hpp"
#include "sketcher/config/spool_settings.hpp"
#include "sketcher/spool/slow_bodies.hpp"
#include "sketcher/spool/spool_space.hpp"
#include "sketcher/spool/spooled_body.hpp"

namespace prophecy::sketcher {

// What the intakes of a worker share.
struct Spool {
  const SpoolSettings& settings;
  SpoolSpace space;
  SpoolCounters& counters;
  bool hashed;  // some group orders large requests by their digests
  SlowBodies slow_bodies;
  Duration time_max;  // of a body, from the end of its request's header
};

class BodyOwner {
 public:
  // Out of a call of its own: the body is refused, as after take().
  virtual void on_body_refused() = 0;

 protected:
  ~BodyOwner() = default;
};

class BodyIntake final : private ArrivingBody {
 public:
  BodyIntake(Spool& spool, BodyOwner& owner) : spool_(spool), owner_(owner) {}
  ~BodyIntake() { drop(); }
  BodyIntake(const BodyIntake&) = delete;
  BodyIntake& operator=(const BodyIntake&) = delete;

  void begin(TimePoint now) { began_ = now; }
  // False: that has taken too long; as after take(). Asked now and then, while bytes come.
  [[nodiscard]] bool has_time(TimePoint now);

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
  void drop();

  // So many bytes are in the file.
  [[nodiscard]] std::uint64_t spooled() const override { return file_ ? file_->size() : 0; }
  [[nodiscard]] const http::ParseFailure& failure() const { return failure_; }

 private:
  [[nodiscard]] bool spill(std::string& body);
  [[nodiscard]] bool close(http::Request& request);
  [[nodiscard]] bool write(std::string_view piece);
  bool fail(std::uint16_t status, std::string_view reason);
  bool fail_slow(std::string_view reason);
  [[nodiscard]] TimePoint began() const override { return began_; }
  void give_way() override;

  Spool& spool_;
  BodyOwner& owner_;
  TimePoint began_{};
  std::shared_ptr<SpooledBody> file_;  // null: in memory
  http::ParseFailure failure_;
};

}  // namespace prophecy::sketcher
