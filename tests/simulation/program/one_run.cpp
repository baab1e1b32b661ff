#include "simulation/program/one_run.hpp"

#include <array>

#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "simulation/program/child.hpp"
#include "simulation/world.hpp"

namespace prophecy::simulation {
namespace {

void write_all(int pipe, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(pipe, text.data() + done, text.size() - done);
    if (written <= 0) _exit(1);
    done += static_cast<std::size_t>(written);
  }
}

std::string read_all(int pipe) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t size = read(pipe, buffer.data(), buffer.size());
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

std::string run_apart(const Scenario& scenario, bool trace) {
  std::array<int, 2> ends{};
  ASSERT(pipe(ends.data()) == 0);
  const pid_t child = start_child([&] {
    close(ends[0]);
    write_all(ends[1], World(scenario, trace).run().violation);
  });
  close(ends[1]);
  std::string violation = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  ASSERT(waitpid(child, &status, 0) == child);
  const std::string end = describe_end(status);
  return end.empty() ? violation : "the run " + end;
}

}  // namespace prophecy::simulation
