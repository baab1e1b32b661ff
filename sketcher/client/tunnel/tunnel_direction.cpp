#include "sketcher/client/tunnel/tunnel_direction.hpp"

#include <array>
#include <utility>

namespace prophecy::sketcher {

using transport::ByteStream;
using transport::IoResult;
using transport::IoStatus;

namespace {

constexpr std::size_t kTunnelReadBytes = 16 << 10;

}  // namespace

void TunnelDirection::hold(std::string bytes) {
  held_ = std::move(bytes);
  begin_ = 0;
}

// A tunnel that is quiet holds no buffer.
void TunnelDirection::release() {
  std::string().swap(held_);
  begin_ = 0;
}

void TunnelDirection::finish() {
  release();
  state_ = State::over;
}

IoResult TunnelDirection::deliver(ByteStream& to) {
  IoResult all{IoStatus::done, 0};
  while (begin_ < held_.size()) {
    const IoResult result = to.write(std::string_view(held_).substr(begin_));
    begin_ += result.size;
    all.size += result.size;
    if (result.status == IoStatus::done) continue;
    all.status = result.status;
    return all;
  }
  if (!held_.empty()) release();
  return all;
}

TunnelDirection::Run TunnelDirection::run(ByteStream& from, ByteStream& to) {
  std::array<char, kTunnelReadBytes> input;
  Run run;
  const auto ends_with = [&run](Outcome outcome) {
    run.outcome = outcome;
    return run;
  };
  for (int reads = 0; state_ != State::over; ++reads) {
    const IoResult delivered = deliver(to);
    run.delivered_bytes += delivered.size;
    if (delivered.status == IoStatus::blocked) return run;
    if (delivered.status != IoStatus::done) {
      finish();
      return ends_with(Outcome::receiver_broken);
    }
    if (state_ == State::ending) return ends_with(Outcome::ended);
    if (reads == ByteStream::kReadsInTurn) return ends_with(Outcome::has_more);
    const IoResult read = from.read(input.data(), input.size());
    switch (read.status) {
      case IoStatus::blocked:
        return run;
      case IoStatus::failed:
        state_ = State::over;
        return ends_with(Outcome::sender_broken);
      case IoStatus::ended:
        state_ = State::ending;
        continue;
      case IoStatus::done:
        break;
    }
    run.read_bytes += read.size;
    // As a rule all of it is taken at once, and nothing is held.
    const IoResult written = to.write({input.data(), read.size});
    run.delivered_bytes += written.size;
    if (written.status == IoStatus::failed) {
      finish();
      return ends_with(Outcome::receiver_broken);
    }
    if (written.size < read.size) hold({input.data() + written.size, read.size - written.size});
  }
  return run;
}

}  // namespace prophecy::sketcher
