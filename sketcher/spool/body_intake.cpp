#include "sketcher/spool/body_intake.hpp"

#include <cerrno>

#include "sketcher/spool/unnamed_file.hpp"

namespace prophecy::sketcher {

bool BodyIntake::spill(std::string& body) {
  if (file_ == nullptr) {
    if (spool_.counters.files.get() >= kSpooledFilesMax) return fail(503, "spool-full");
    auto file = make_unnamed_file(spool_.settings.folder);
    if (!file) return fail(503, "spool-failed");
    spool_.counters.bodies.add();
    file_ = std::make_shared<SpooledBody>(std::move(*file), spool_.hashed, spool_.counters);
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
  request.large_body = std::move(file_);
  file_.reset();
  return true;
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
