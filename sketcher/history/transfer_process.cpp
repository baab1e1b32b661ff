#include "sketcher/history/transfer_process.hpp"

#include <chrono>
#include <csignal>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sketcher/history/history_transfer.hpp"
#include "sketcher/shared/child_process.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

static_assert(kTransferWriter <= kWriterSlotMax);

// The master's handlers are none for a child, nor is what it may have blocked; and what a file
// cannot take is an error.
void set_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD})
    ::signal(signal, SIG_DFL);
  for (const int signal : {SIGHUP, SIGPIPE, SIGXFSZ})
    ::signal(signal, SIG_IGN);
}

bool is_read(int channel) {
  pollfd poll{channel, 0, 0};
  return ::poll(&poll, 1, 0) <= 0;
}

std::uint64_t seconds_since_1970() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

Json json_of(const ExportReport& report, std::uint64_t made_at) {
  return {{"made_at", made_at},
          {"entries", report.totals.entries},
          {"buckets_skipped", report.buckets_skipped}};
}

Json json_of(const ImportReport& report) {
  return {{"made_at", report.made_at},
          {"entries", report.entries},
          {"marks", report.marks},
          {"taken", report.taken},
          {"known", report.known},
          {"contradicted", report.contradicted},
          {"forgotten", report.forgotten},
          {"full", report.full},
          {"floors_raised", report.floors_raised}};
}

std::string as_text(const Json& json) {
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

bool write_line(int channel, const Json& json) {
  const std::string line = as_text(json) + '\n';
  return ::write(channel, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

Result<> TransferProcess::start(const TransferRequest& request, UniqueFd file, UniqueFd report) {
  if (stopping_) return Error{ErrorKind::unavailable, "the sketcher is stopping"};
  if (is_running()) {
    return Error{ErrorKind::unavailable, "another export or import of the history is under way"};
  }
  auto child = start_child(installation_.settings, {file.get(), report.get()},
                           [&](const UniqueFd&) { return run(request, file, report); });
  if (!child) return child.error();
  pid_ = child->pid;
  timer_.expires_after(kTransferTimeMax);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || !is_running()) return;
    log_.error("history-transfer-killed", {{"reason", "it took too long"}});
    ::kill(pid_, SIGKILL);
  });
  return {};
}

void TransferProcess::on_child_ended(int pid, int wait_status) {
  if (!is_running() || pid != pid_) return;
  pid_ = -1;
  timer_.cancel();
  table_.declare_dead(kTransferWriter);
  if (WIFSIGNALED(wait_status)) {
    log_.error("history-transfer-died", {{"signal", WTERMSIG(wait_status)}});
  }
}

void TransferProcess::stop() {
  stopping_ = true;
  timer_.cancel();
  if (is_running()) ::kill(pid_, SIGKILL);
}

void TransferProcess::abandon() {
  if (!is_running()) return;
  log_.error("history-transfer-abandoned", {{"reason", "it was killed, and has not ended"}});
  pid_ = -1;
  table_.declare_dead(kTransferWriter);
}

// In the child.
int TransferProcess::run(const TransferRequest& request, const UniqueFd& file,
                         const UniqueFd& report) {
  const bool exports = request.kind == Transfer::export_;
  set_signals();
  log_.rename("transfer");
  const IsWanted is_wanted = [&] { return is_read(report.get()); };
  Json answer;
  const auto take = [&](const auto& done, auto... more) {
    answer = done ? json_of(*done, more...) : Json{{"error", done.error().message}};
  };
  if (exports) {
    const std::uint64_t now = seconds_since_1970();
    take(export_history(file.get(), installation_, table_, now, is_wanted), now);
  } else {
    table_.attach(kTransferWriter);
    ImportOptions options{.takes_marks = request.takes_marks, .made_after = request.made_after};
    // How old it is, for somebody who may still stop it.
    options.on_checked = [&](std::uint64_t made_at, std::uint64_t entries) {
      (void)write_line(report.get(),
                       {{"about_to_import", {{"made_at", made_at}, {"entries", entries}}}});
    };
    take(import_history(file.get(), options, installation_, table_, shared_, is_wanted));
  }
  log_.info(exports ? "history-export-ended" : "history-import-ended",
            {{"report", std::string_view(as_text(answer))}});
  const bool told = write_line(report.get(), answer);
  return told && !answer.contains("error") ? 0 : 1;
}

}  // namespace prophecy::sketcher
