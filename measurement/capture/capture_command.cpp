#include "measurement/capture/capture_command.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "http/text.hpp"
#include "measurement/capture/capture_folder.hpp"
#include "measurement/capture/profile_folder.hpp"
#include "measurement/capture/wall_clock.hpp"
#include "measurement/capture/warc_file.hpp"
#include "measurement/complaint.hpp"
#include "measurement/progress.hpp"

namespace prophecy::measurement {
namespace {

constexpr int kDamaged = 3;
constexpr std::size_t kProblemsShown = 20;

// A number of seconds, or with a unit: 20s, 5m, 24h, 7d. Nothing: it is none, or 0.
std::optional<std::uint64_t> seconds_of(std::string_view text) {
  constexpr std::string_view kUnits = "smhd";
  constexpr std::uint64_t kSeconds[] = {1, 60, 3600, 86'400};
  std::uint64_t factor = 1;
  if (!text.empty()) {
    if (const std::size_t unit = kUnits.find(text.back()); unit != std::string_view::npos) {
      factor = kSeconds[unit];
      text.remove_suffix(1);
    }
  }
  std::uint64_t number = 0;
  if (text.size() > 9 || !http::parse_decimal(text, number) || number == 0) return std::nullopt;
  return number * factor;
}

// A line on a terminal that is written over again and again.
class StatusLine {
 public:
  ~StatusLine() { clear(); }
  void show(const std::string& text) {
    if (!is_terminal_) return;
    std::cerr << "\r\x1b[K" << text << std::flush;
    is_shown_ = true;
  }
  void clear() {
    if (is_shown_) std::cerr << "\r\x1b[K" << std::flush;
    is_shown_ = false;
  }

 private:
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool is_shown_ = false;
};

class Capture {
 public:
  Capture(const CaptureOptions& options, CapturePlan plan, std::vector<ListedUrl> list,
          CaptureFolder folder, std::filesystem::path profile)
      : options_(options),
        plan_(std::move(plan)),
        list_(std::move(list)),
        folder_(std::move(folder)),
        fetcher_(options.fetch) {
    BrowserOptions browser = options.browser;
    browser.profile = std::move(profile);
    PageOptions pages = options.pages;
    pages.body_bytes_max = options.body_bytes_max;
    browser_.emplace(std::move(browser), pages);
  }

  int run() {
    const std::uint64_t first = folder_.next_round();
    if (first > plan_.rounds) return finish();
    if (first > 1) std::cout << fmt::format("goes on with round {}\n", first) << std::flush;
    TimePoint next = std::chrono::steady_clock::now();
    for (std::uint64_t round = first; round <= plan_.rounds; ++round) {
      while (wait_until(next, round)) {
      }
      if (stop_.has_come()) break;
      if (auto made = make(round); !made) return fail(made.error().message);
      if (stop_.has_come()) break;
      // A round that took longer than the interval has the next one begin at a later multiple.
      const TimePoint now = std::chrono::steady_clock::now();
      do {
        next += seconds(plan_.interval_s);
      } while (next < now);
    }
    return finish();
  }

 private:
  // False: it is time, or the program is to stop.
  bool wait_until(TimePoint next, std::uint64_t round) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (now >= next) return false;
    const auto left = std::chrono::ceil<seconds>(next - now);
    line_.show(fmt::format("round {} of {} in {} s; {} answers, {} failures so far", round,
                           plan_.rounds, left.count(), sum_.answers, sum_.failures));
    return !stop_.wait(std::min<Duration>(next - now, seconds(1)));
  }

  Result<> make(std::uint64_t round) {
    line_.show(fmt::format("round {} of {}: {} {}", round, plan_.rounds, list_.size(),
                           plan_.kind == "plain" ? "URLs" : "sites"));
    const std::filesystem::path path = folder_.warc_of(round);
    auto file = WarcFile::create(path, wall_clock());
    if (!file) return std::move(file.error());
    const AnswerTaker take = [&](const CapturedAnswer& answer) { return file->add(answer); };
    std::vector<std::string> problems;
    auto made = plan_.kind == "plain" ? fetcher_.fetch(list_, take, stop_, problems)
                                      : browser_->load(list_, take, stop_, problems);
    if (!made) return std::move(made.error());
    if (stop_.has_come()) return {};  // a part of a round is made again
    if (auto finished = file->finish(); !finished) return finished;
    const auto damage = write_sketches(path, options_.temporary_folder);
    if (!damage) return damage.error();
    for (const Damage& each : *damage)
      problems.push_back(
          fmt::format("{}: offset {}: {}", path.string(), each.offset, each.problem));
    show(round, problems);
    sum_.answers += made->answers - std::min<std::uint64_t>(made->answers, damage->size());
    sum_.failures += made->failures + damage->size();
    sum_.skipped += made->skipped;
    return {};
  }

  void show(std::uint64_t round, const std::vector<std::string>& problems) {
    if (problems.empty()) return;
    line_.clear();
    for (std::size_t i = 0; i < std::min(problems.size(), kProblemsShown); ++i)
      std::cerr << fmt::format("prophecy-measure: round {}: {}\n", round, problems[i]);
    if (problems.size() > kProblemsShown) {
      std::cerr << fmt::format("prophecy-measure: round {}: {} more\n", round,
                               problems.size() - kProblemsShown);
    }
  }

  int finish() {
    line_.clear();
    const std::uint64_t made = folder_.next_round() - 1;
    std::cout << fmt::format("{} of {} rounds; this run: {} answers, {} failures, {} skipped\n",
                             made, plan_.rounds, sum_.answers, sum_.failures, sum_.skipped);
    if (made < plan_.rounds) std::cout << "the same command goes on with it\n";
    std::cout.flush();
    return sum_.failures + sum_.skipped > 0 ? kDamaged : 0;
  }

  const CaptureOptions& options_;
  CapturePlan plan_;
  std::vector<ListedUrl> list_;
  CaptureFolder folder_;
  StopSignals stop_;
  PlainFetcher fetcher_;
  std::optional<BrowserCapture> browser_;
  StatusLine line_;
  RoundFigures sum_;
};

int replay(const CaptureOptions& options) {
  const std::vector<std::string> rounds = rounds_in(options.replay);
  if (rounds.empty()) return fail(options.replay + ": holds no round of a capture");
  Progress progress(rounds.size());
  std::size_t damaged = 0;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const auto written = write_sketches(rounds[i], options.temporary_folder);
    if (!written) return fail(written.error().message);
    damaged += written->size();
    progress.update(i + 1);
  }
  std::cout << fmt::format("{} rounds: their sketch logs are written anew\n", rounds.size());
  if (damaged > 0) std::cout << fmt::format("{} damaged records are left out\n", damaged);
  return damaged > 0 ? kDamaged : 0;
}

// Rounds that were interrupted between their two files.
Result<> complete(const CaptureOptions& options) {
  for (const std::string& round : rounds_in(options.output)) {
    if (std::filesystem::exists(sketches_of(round))) continue;
    const auto written = write_sketches(round, options.temporary_folder);
    if (!written) return written.error();
  }
  return {};
}

int capture(const CaptureOptions& options) {
  if (!options.replay.empty()) return replay(options);
  if (options.urls.empty() == options.sites.empty()) {
    return fail(
        "name one list: --plain FILE (of URLs) or --sites FILE; nothing is captured that"
        " is not in it");
  }
  if (options.output.empty()) return fail("--output is required");
  const auto interval = seconds_of(options.interval);
  const auto duration = options.duration.empty() ? interval : seconds_of(options.duration);
  if (!interval || !duration) {
    return fail("--interval, --duration: expected a number with s, m, h or d, such as 20s");
  }
  for (const std::string& rule : options.browser.resolve) {
    const std::size_t split = rule.find('=');
    if (split == std::string::npos || split == 0 || split + 1 == rule.size())
      return fail("--resolve: expected HOST=ADDRESS");
  }
  auto list = read_url_list(options.urls.empty() ? options.sites : options.urls);
  if (!list) return fail(list.error().message);
  CapturePlan plan{options.urls.empty() ? "sites" : "plain", *interval,
                   std::max<std::uint64_t>(1, *duration / *interval)};
  auto folder = CaptureFolder::open(options.output, plan);
  if (!folder) return fail(folder.error().message);
  if (auto completed = complete(options); !completed) return fail(completed.error().message);
  const ProfileFolder profile(options.temporary_folder);
  if (profile.path().empty()) return fail(io_error(options.temporary_folder).message);
  CaptureOptions all = options;
  all.fetch.resolve = all.browser.resolve;
  all.fetch.body_bytes_max = all.body_bytes_max;
  Capture work(all, std::move(plan), std::move(*list), std::move(*folder), profile.path());
  return work.run();
}

}  // namespace

void add_capture(const Command& program, CaptureOptions& options) {
  const Command command = program.add_command(
      "capture", "Asks for listed pages again and again, and keeps the answers as WARC files.");
  command.add("--plain", options.urls, "a file of URLs, which are asked for without a browser");
  command.add("--sites", options.sites, "a file of pages, which a headless Chromium loads");
  command.add("--output", options.output,
              "the folder; the same command goes on with what it holds");
  command.add("--interval", options.interval, "between the beginnings of two rounds (20s)");
  command.add("--duration", options.duration, "of all rounds, such as 24h (one round)");
  command.add("--replay", options.replay, "writes the sketch logs of this capture anew");
  command.add("--parallel", options.fetch.parallel, "plain: hosts that are asked at a time (8)")
      .between(1, 1000);
  command
      .add("--delay", options.fetch.delay_ms,
           "plain: milliseconds between two requests to one host (200)")
      .between(0, 3'600'000);
  command.add("--timeout", options.fetch.timeout_s, "plain: seconds for an answer (60)")
      .between(1, 86'400);
  command.add("--ca-file", options.fetch.ca_file, "plain: certificates to trust (the system's)");
  command.add("--body-max", options.body_bytes_max, "larger bodies are failures (64MiB)").size();
  command.add("--resolve", options.browser.resolve, "HOST=ADDRESS: asks this address for the host")
      .one_each();
  command.flag("--keep-cookies", options.pages.keeps_cookies,
               "sites: from page to page; else each page starts without any");
  command.add("--page-timeout", options.pages.page_timeout_s, "sites: seconds for a page (30)")
      .between(1, 3600);
  command.add("--browser", options.browser.program, "sites: the program (chromium)");
  command.add("--browser-option", options.browser.arguments, "sites: one more option for it")
      .one_each();
  command.add("--temporary-folder", options.temporary_folder,
              "for temporary files ($TMPDIR, /tmp)");
  command.on_run([&options] { return capture(options); });
}

}  // namespace prophecy::measurement
