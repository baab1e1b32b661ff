#include "sketcher/spool/body_intake.hpp"

#include <cerrno>

#include "base/unnamed_file.hpp"

namespace prophecy::sketcher {

bool BodyIntake::spill(std::string& body) {
  if (file_ == nullptr) {
    if (spool_.counters.files.get() >= kSpooledFilesMax) return fail(503, "spool-full");
    auto file = make_unnamed_file(spool_.settings.folder);
    if (!file) return fail(503, "spool-failed");
    spool_.counters.bodies.add();
    file_ = std::make_shared<SpooledBody>(std::move(*file), spool_.hashed, spool_.counters);
    spool_.slow_bodies.add(*this);
  }
  std::size_t taken = 0;
  for (; body.size() - taken >= kSourcePieceBytes; taken += kSourcePieceBytes) {
    if (!write(std::string_view(body).substr(taken, kSourcePieceBytes))) return false;
  }
  body.erase(0, taken);
  return true;
}

bool BodyIntake::close(http::Request& request) {
  if (!request.body.empty() && !write(request.body)) return false;
  std::string().swap(request.body);
  request.large_body = file_;
  drop();
  return true;
}

void BodyIntake::drop() {
  if (file_ == nullptr) return;
  spool_.slow_bodies.remove(*this);
  file_.reset();
}

bool BodyIntake::has_time(TimePoint now) {
  return now - began_ <= spool_.time_max ? true : fail_slow("body-takes-too-long");
}

void BodyIntake::give_way() {
  static_cast<void>(fail_slow("body-too-slow"));
  owner_.on_body_refused();
}

bool BodyIntake::fail_slow(std::string_view reason) {
  failure_ = {.status = 408, .reason = reason};
  spool_.counters.too_slow.add();
  drop();
  return false;
}

bool BodyIntake::write(std::string_view piece) {
  if (!spool_.space.take(piece.size())) return fail(503, "spool-full");
  switch (file_->append(piece)) {
    case 0:
      return true;
    case ENOSPC:
    case EDQUOT:
      return fail(507, "spool-disk-full");
    default:
      return fail(503, "spool-failed");
  }
}

bool BodyIntake::fail(std::uint16_t status, std::string_view reason) {
  failure_ = {.status = status, .reason = reason};
  spool_.counters.refused.add();
  drop();
  return false;
}

}  // namespace prophecy::sketcher
