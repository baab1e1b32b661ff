#include "measurement/live/follow_command.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/clock.hpp"
#include "canonical/profile.hpp"
#include "measurement/complaint.hpp"
#include "measurement/figures.hpp"
#include "measurement/input/url.hpp"
#include "measurement/input_reader.hpp"
#include "measurement/json_report.hpp"
#include "measurement/live/live_figures.hpp"
#include "measurement/live/log_follower.hpp"
#include "measurement/stop_signals.hpp"
#include "measurement/totals.hpp"

namespace prophecy::measurement {
namespace {

constexpr Duration kFollowPause = milliseconds(200);

// Each content of the log has a reader of its own; all of them count together.
class Followed : public LogFollowerSink {
 public:
  explicit Followed(const FollowOptions& options)
      : live_(result_), context_{profile_, payloads_, live_, options.log_origin, key_} {
    result_.inputs.resize(1);
    input().file = options.log;
    live_.begin(input());
  }

  void on_begin() override { reader_ = std::make_unique<InputReader>(context_, input()); }
  void on_lines(std::string_view lines, std::uint64_t offset) override {
    last_lines_ = std::chrono::steady_clock::now();
    reader_->on_bytes(lines, offset, true);
    input().bytes += lines.size();
  }
  // Counts what waits, once the log has been silent for so long that nothing earlier can come.
  void settle(TimePoint now) {
    if (now - last_lines_ >= microseconds(LiveFigures::kReorder)) live_.finish();
  }
  // No end for the reader: the rest of a line that is being written is no damage.
  void finish() { live_.finish(); }

  [[nodiscard]] MeasurementResult& result() { return result_; }
  [[nodiscard]] InputFigures& input() { return result_.inputs.front(); }
  [[nodiscard]] std::uint64_t late() const { return live_.late(); }

 private:
  MeasurementResult result_;
  sketch::Profile profile_;
  KnownPayloads payloads_;
  SketchKey key_ = SketchKey::none;
  LiveFigures live_;
  InputContext context_;
  std::unique_ptr<InputReader> reader_;
  TimePoint last_lines_ = std::chrono::steady_clock::now();
};

std::string now_text() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%H:%M:%S}", fmt::localtime(now));
}

// A line for what has come so far, and since the last one.
void show(const Totals& totals, const Totals& last) {
  std::cout << fmt::format(
                   "{} {} URLs, {} answers, {} transitions in {} pairs: {:.1f} %; of late: {} "
                   "answers, {} transitions",
                   now_text(), totals.urls, totals.answers, totals.sketched.transitions,
                   totals.sketched.pairs, 100 * totals.sketched.ratio(),
                   totals.answers - last.answers,
                   totals.sketched.transitions - last.sketched.transitions)
            << std::endl;
}

void show_urls(const MeasurementResult& result, std::uint64_t top) {
  std::vector<const UrlFigures*> urls;
  for (const UrlFigures& figures : result.figures)
    urls.push_back(&figures);
  std::stable_sort(urls.begin(), urls.end(), [](const UrlFigures* one, const UrlFigures* other) {
    if (one->sketched.transitions != other->sketched.transitions) {
      return one->sketched.transitions > other->sketched.transitions;
    }
    return one->all_answers() > other->all_answers();
  });
  if (urls.size() > top) urls.resize(top);
  if (!urls.empty()) std::cout << "  ratio  transitions     pairs   answers  URL\n";
  for (const UrlFigures* figures : urls) {
    std::cout << fmt::format("{:6.1f}% {:12} {:9} {:9}  {}\n", 100 * figures->sketched.ratio(),
                             figures->sketched.transitions, figures->sketched.pairs,
                             figures->all_answers(), result.urls.text_of(figures->url));
  }
}

int end(Followed& followed, const FollowOptions& options) {
  followed.finish();
  MeasurementResult& result = followed.result();
  for (const Damage& damage : followed.input().damage) {
    std::cerr << "prophecy-measure: " << options.log << ": offset " << damage.offset << ": "
              << damage.problem << '\n';
  }
  FigureOptions figure_options;
  figure_options.minimum = options.minimum;
  const Figures figures = figures_of(result, figure_options);
  if (options.json == "-") {
    write_json(result, figures, std::cout);
  } else if (!options.json.empty()) {
    std::ofstream file(options.json, std::ios::binary);
    write_json(result, figures, file);
    file.close();
    if (!file) return fail(io_error(options.json).message);
  }
  if (options.json != "-") {
    show(totals_of(result), {});
    show_urls(result, options.top);
    if (followed.late() > 0) {
      std::cout << fmt::format("{} answers came too late to be in a pair\n", followed.late());
    }
  }
  std::cout.flush();
  if (!std::cout) return fail(io_error("standard output").message);
  return exit_status(result);
}

int follow(const FollowOptions& options) {
  StopSignals stop;
  Followed followed(options);
  LogFollower follower(options.log, followed);
  const TimePoint started = std::chrono::steady_clock::now();
  TimePoint shown = started;
  Totals last;
  for (;;) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (auto polled = follower.poll(now); !polled) return fail(polled.error().message);
    followed.settle(now);
    if (!followed.input().usable) return end(followed, options);
    if (options.once && !follower.has_file()) return fail(options.log + ": no such file");
    const bool is_over = options.duration_s > 0 && now - started >= seconds(options.duration_s);
    if (options.once || is_over) return end(followed, options);
    if (options.json != "-" && now - shown >= seconds(options.interval_s)) {
      shown = now;
      const Totals totals = totals_of(followed.result());
      show(totals, last);
      last = totals;
    }
    if (stop.wait(kFollowPause)) return end(followed, options);
  }
}

}  // namespace

void add_follow(const Command& program, FollowOptions& options) {
  const Command command = program.add_command(
      "follow", "Counts transitions in an access log while it is written, until it is stopped.");
  command.add("ACCESS_LOG", options.log, "of prophecy-sketcher, Apache, nginx or HAProxy")
      .required();
  command.add("--interval", options.interval_s, "seconds between two lines of output (10)")
      .between(1, 86'400);
  command.add("--for", options.duration_s, "ends after so many seconds").between(0, 1'000'000'000);
  command.flag("--once", options.once, "ends where the log ends now");
  command.add("--top", options.top, "URLs to list in the end, by transitions (20)");
  command.add("--minimum", options.minimum, "requests that a URL needs to count in figures (0)");
  command.add("--json", options.json, "write the result as JSON in the end; -: to standard output");
  command.add("--log-origin", options.log_origin,
              "scheme and authority of the targets in a web server's log (http://localhost)");
  command.on_run([&options] {
    auto origin = origin_of(options.log_origin);
    if (!origin) return fail("--log-origin: " + origin.error().message);
    options.log_origin = std::move(*origin);
    return follow(options);
  });
}

}  // namespace prophecy::measurement
