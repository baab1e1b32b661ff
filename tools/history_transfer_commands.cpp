#include "tools/history_transfer_commands.hpp"

#include <array>
#include <cerrno>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/admin_socket.hpp"
#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"
#include "tools/new_file.hpp"
#include "tools/table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct TransferOptions {
  std::string socket;
  std::string file;
  bool force = false;
  bool marks = false;
  std::optional<std::uint64_t> made_after;
  bool json = false;
};

constexpr std::size_t kReportBytesMax = 4096;

// Until the other end is closed, which the sketcher sees to: it bounds the time. Of an import, one
// line comes as soon as the file was seen to be right, before anything is changed: it is shown. The
// other one is the result.
Result<std::string> read_report(const TransferOptions& options, int channel) {
  std::string report;
  char chunk[512];
  for (;;) {
    const ssize_t size = ::read(channel, chunk, sizeof chunk);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error("cannot read the sketcher's report");
    if (size == 0) return report;
    report.append(chunk, static_cast<std::size_t>(size));
    if (report.size() > kReportBytesMax) {
      return Error{ErrorKind::protocol, "the sketcher's report has no end"};
    }
    const std::size_t end = report.find('\n');
    if (end == std::string::npos) continue;
    const Json line = Json::parse(report.substr(0, end), nullptr, false);
    if (!line.is_object() || !line.contains("about_to_import")) continue;
    report.erase(0, end + 1);
    const Json& what = line["about_to_import"];
    if (auto right = expect_members(what, "about_to_import",
                                    {{"made_at", Shape::number}, {"entries", Shape::number}});
        !right) {
      return right.error();
    }
    std::cerr << fmt::format("prophecyctl: {}: {} entries, made at {} ({} seconds ago)\n",
                             options.file, what["entries"].get<std::uint64_t>(),
                             what["made_at"].get<std::uint64_t>(),
                             ::time(nullptr) - what["made_at"].get<std::int64_t>());
  }
}

// Has the sketcher do it with the file, and fills in its report.
Result<> transfer(const TransferOptions& options, const Json& request, int file, Json& report) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return io_error("cannot make a pipe");
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const std::array<int, 2> files{file, writing.get()};
  Json answer;
  if (auto asked = ask(options.socket, request, answer, files); !asked) {
    return asked;
  }
  writing.reset();
  auto line = read_report(options, reading.get());
  if (!line) return line.error();
  if (line->empty()) {
    return Error{ErrorKind::unavailable,
                 options.socket + ": it was ended before it was done; the log says more"};
  }
  report = Json::parse(*line, nullptr, false);
  if (report.is_object() && report.contains("error") && report["error"].is_string()) {
    return Error{ErrorKind::invalid, options.file + ": " + report["error"].get<std::string>()};
  }
  return expect_members(report, "", {{"made_at", Shape::number}, {"entries", Shape::number}});
}

int show_report(const TransferOptions& options, const Result<>& done, const Json& report) {
  if (!done) {
    std::cerr << "prophecyctl: " << done.error().message << '\n';
    return 1;
  }
  if (options.json) {
    std::cout << report.dump() << '\n';
    return 0;
  }
  for (const auto& [name, value] : report.items())
    std::cout << fmt::format("{:<16}{}\n", name, scalar_text(value));
  return 0;
}

Result<> export_to(const TransferOptions& options, Json& report) {
  struct stat status {};
  if (!options.force && ::lstat(options.file.c_str(), &status) == 0) {
    return Error{ErrorKind::invalid, options.file + ": exists already; --force replaces it"};
  }
  auto file = NewFile::create(options.file);
  if (!file) return file.error();
  if (auto done = transfer(options, {{"command", "history-export"}}, file->fd(), report); !done) {
    return done;
  }
  return file->keep(options.force);
}

Result<> import_from(const TransferOptions& options, Json& report) {
  // A pipe would make it wait.
  const UniqueFd file(::open(options.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return io_error(options.file);
  Json request{{"command", "history-import"}, {"marks", options.marks}};
  if (options.made_after) request["made_after"] = *options.made_after;
  return transfer(options, request, file.get(), report);
}

Command add_transfer(Command history, const char* name, const char* what,
                     const std::shared_ptr<TransferOptions>& options,
                     Result<> (*run)(const TransferOptions& options, Json& report)) {
  const Command command = history.add_command(name, what);
  command.add("--admin", options->socket, "Admin socket of the sketcher").required();
  command.add("file", options->file, "The export").required();
  command.flag("--json", options->json, "Print JSON");
  command.on_run([options, run] {
    Json report;
    const auto done = run(*options, report);
    return show_report(*options, done, report);
  });
  return command;
}

}  // namespace

void add_history_transfer_commands(Command history) {
  auto exporting = std::make_shared<TransferOptions>();
  add_transfer(history, "export", "Writes the history to a file that seeds another sketcher",
               exporting, export_to)
      .flag("--force", exporting->force, "Replace the file if it exists");
  auto importing = std::make_shared<TransferOptions>();
  const Command import =
      add_transfer(history, "import", "Seeds the history from another sketcher's export", importing,
                   import_from);
  import.flag("--marks", importing->marks, "Take what it has whitelisted and blacklisted, too");
  import.add("--made-after", importing->made_after,
             "Refuse an export that was not made after this (seconds since 1970)");
}

}  // namespace prophecy::tools
