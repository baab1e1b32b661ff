#include "pbft/services/state/command_state.hpp"

#include "pbft/services/state/child_program.hpp"
#include "pbft/services/state/part_sequence.hpp"

namespace prophecy::pbft {

namespace {

using Progress = ChildProgram::Progress;

TimePoint deadline_of(const CommandSettings& settings) {
  return std::chrono::steady_clock::now() + settings.timeout;
}

Error stopped() {
  return {ErrorKind::unavailable, "the service was stopped"};
}

Result<> wait_for_end(PartPipe& parts, ChildProgram& program) {
  for (;;) {
    if (parts.closed()) return stopped();
    const auto progress = program.finish();
    if (!progress) return progress.error();
    if (*progress == Progress::ended) return {};
  }
}

// False when the program reads no more.
Result<bool> feed(PartPipe& parts, ChildProgram& program, ByteView bytes) {
  while (!bytes.empty()) {
    if (parts.closed()) return stopped();
    const auto progress = program.write(bytes);
    if (!progress) return progress.error();
    if (*progress == Progress::ended) return false;
  }
  return true;
}

// The whole sequence is there and within bounds, before a program is started that empties a state
// first and then finds half of one.
Result<> check_content(PartPipe& parts, const Digest& root, std::uint64_t bytes_max) {
  ContentReader content(parts, root, bytes_max);
  for (;;) {
    const auto bytes = content.next();
    if (!bytes) return bytes.error();
    if (bytes->empty()) return {};
  }
}

}  // namespace

Result<Digest> CommandState::snapshot(PartPipe& parts) {
  auto program =
      ChildProgram::start(settings_.dump, ChildProgram::Direction::output, deadline_of(settings_));
  if (!program) return program.error();
  PartSink sink(&parts);
  ContentWriter content(sink, settings_.bytes_max);
  Bytes room(64 * 1024);
  for (;;) {
    if (parts.closed()) return stopped();
    std::size_t size = 0;
    const auto progress = program->read(room, size);
    if (!progress) return progress.error();
    if (*progress == Progress::ended) break;
    if (auto added = content.add(ByteView(room).first(size)); !added) {
      if (added.error().kind != ErrorKind::limit) return added.error();
      return Error{ErrorKind::limit, settings_.dump.front() + ": " + added.error().message +
                                         " of output (state_bytes_max)"};
    }
  }
  if (auto ended = wait_for_end(parts, *program); !ended) return ended.error();
  auto root = content.finish();
  if (!root) return root;
  if (auto flushed = parts.flush(); !flushed) return flushed.error();
  return root;
}

Result<> CommandState::restore(PartPipe& parts, const Digest& root) {
  if (auto checked = check_content(parts, root, settings_.bytes_max); !checked) return checked;
  auto program =
      ChildProgram::start(settings_.load, ChildProgram::Direction::input, deadline_of(settings_));
  if (!program) return program.error();
  ContentReader content(parts, root, settings_.bytes_max);
  bool reads = true;
  while (reads) {
    const auto bytes = content.next();
    if (!bytes) return bytes.error();
    if (bytes->empty()) break;
    const auto fed = feed(parts, *program, *bytes);
    if (!fed) return fed.error();
    reads = *fed;
  }
  program->close_input();
  if (auto ended = wait_for_end(parts, *program); !ended) return ended;
  if (reads) return {};
  return Error{ErrorKind::unavailable,
               settings_.load.front() + ": ended well, but had not read its whole input"};
}

}  // namespace prophecy::pbft
