#include "measurement/analyze.hpp"

#include <algorithm>
#include <deque>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "canonical/profile.hpp"
#include "measurement/analysis/known_payloads.hpp"
#include "measurement/file_pieces.hpp"
#include "measurement/input_reader.hpp"
#include "measurement/observation_log.hpp"
#include "measurement/previous_bodies.hpp"
#include "measurement/progress.hpp"
#include "measurement/readers/sketch_log.hpp"

namespace prophecy::measurement {
namespace {

// An input's place among the others, and an answer's in it.
constexpr unsigned kInputShift = 40;
constexpr unsigned kFilesAheadMax = 8;  // each holds up to 8 MiB

class Collector : public AnswerSink {
 public:
  // `bodies` and `written` may be null.
  Collector(MeasurementResult& result, ObservationLog& log, PreviousBodies* bodies,
            std::ostream* written)
      : result_(result),
        urls_(result.urls),
        sites_(result.sites),
        log_(log),
        bodies_(bodies),
        written_(written) {}

  void begin(InputFigures& input, std::size_t number) {
    input_ = &input;
    sequence_ = static_cast<std::uint64_t>(number) << kInputShift;
  }
  void on_answer(const Answer& answer) override {
    Observation observation;
    observation.time = answer.time;
    observation.sequence = sequence_++;
    observation.body_bytes = answer.body_bytes;
    observation.url = urls_.number_of(answer.url);
    observation.sketch = answer.sketch;
    observation.kind = answer.kind;
    ++input_->answers;
    sites_.note(observation.url, answer.address);
    note(log_.append(observation));
    if (written_ != nullptr) {
      line_.clear();
      append_sketch_line(answer, line_);
      *written_ << line_;
    }
    if (answer.kind == AnswerKind::sets_cookie || answer.kind == AnswerKind::varies)
      result_.rules.add_unsketched(answer.kind, answer.fields);
    if (answer.kind != AnswerKind::sketched) return;
    declared_.add(observation.url, answer);
    shared_.add(observation.url, answer);
    if (bodies_ != nullptr) {
      note(bodies_->add(observation.url, answer));
    }
  }
  void on_damage(Damage damage) override {
    ++input_->damage_count;
    if (input_->damage.size() < kDamageListedMax) input_->damage.push_back(std::move(damage));
  }
  void on_other_method() override { ++input_->other_methods; }
  // Into the result, in the end.
  void finish() {
    result_.declared = declared_.figures();
    result_.shared = shared_.finish(urls_);
  }
  // The first error of this machine.
  [[nodiscard]] Result<> outcome() { return std::move(outcome_); }

 private:
  void note(Result<> result) {
    if (!result && outcome_) outcome_ = std::move(result);
  }

  MeasurementResult& result_;
  UrlTable& urls_;
  UrlSites& sites_;
  DeclaredCaching declared_;
  SharedAnswers shared_;
  ObservationLog& log_;
  PreviousBodies* bodies_;
  std::ostream* written_;  // the sketch log
  std::string line_;
  InputFigures* input_ = nullptr;
  std::uint64_t sequence_ = 0;
  Result<> outcome_;
};

// Hands an input on to its reader, and shows how far that is among all inputs.
class Watched : public ArchiveSink {
 public:
  Watched(ArchiveSink& reader, Progress& progress, const FilePieces& pieces, std::uint64_t before)
      : reader_(reader), progress_(progress), pieces_(pieces), before_(before) {}
  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override {
    reader_.on_bytes(bytes, offset, moves);
    // A file of one gzip member has one offset.
    progress_.update(before_ + (moves ? offset : pieces_.bytes_read()));
  }
  void on_gap(Damage damage) override { reader_.on_gap(std::move(damage)); }

 private:
  ArchiveSink& reader_;
  Progress& progress_;
  const FilePieces& pieces_;
  std::uint64_t before_;  // bytes of the inputs before this one
};

// Reads files in their order. The next ones are read and expanded meanwhile, on the other cores.
class FilesAhead {
 public:
  explicit FilesAhead(const std::vector<std::string>& files) : files_(files) {}
  [[nodiscard]] std::unique_ptr<FilePieces> next() {
    while (opened_ < files_.size() && ahead_.size() < ahead_max_)
      ahead_.push_back(std::make_unique<FilePieces>(files_[opened_++]));
    auto pieces = std::move(ahead_.front());
    ahead_.pop_front();
    return pieces;
  }

 private:
  const std::vector<std::string>& files_;
  std::size_t ahead_max_ = std::clamp(std::thread::hardware_concurrency(), 1U, kFilesAheadMax);
  std::size_t opened_ = 0;
  std::deque<std::unique_ptr<FilePieces>> ahead_;
};

// A file that cannot be looked at counts nothing.
std::uint64_t bytes_of(const std::string& file) {
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(file, problem);
  return problem ? 0 : size;
}

}  // namespace

int exit_status(const MeasurementResult& result) {
  int status = 0;
  for (const InputFigures& input : result.inputs) {
    if (!input.usable) return 2;
    if (input.damage_count > 0) status = 3;
  }
  return status;
}

Result<MeasurementResult> analyze(const AnalyzeOptions& options) {
  MeasurementResult result;
  const sketch::Profile& profile = options.profile;
  result.rules = RuleCandidates(profile);
  KnownPayloads payloads;
  ObservationLog log(options.temporary_folder);
  PreviousBodies bodies(options.temporary_folder, options.spool_bytes, result.rules);
  std::ofstream written;
  if (!options.sketch_log.empty()) {
    written.open(options.sketch_log, std::ios::binary);
    written << sketch_log_header(profile);
  }
  if (!options.prefixes.empty()) {
    if (auto outcome = result.sites.read(options.prefixes); !outcome) {
      return std::move(outcome.error());
    }
  }
  Collector collector(result, log, options.spool_bytes > 0 ? &bodies : nullptr,
                      written.is_open() ? &written : nullptr);
  SketchKey key = SketchKey::none;
  const InputContext context{profile, payloads, collector, options.log_origin, key};
  std::vector<std::string> files = options.inputs;
  files.insert(files.end(), options.access_logs.begin(), options.access_logs.end());
  std::uint64_t all = 0;
  for (const std::string& file : files)
    all += bytes_of(file);
  Progress progress(all);
  std::uint64_t before = 0;
  result.inputs.resize(files.size());
  FilesAhead ahead(files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    InputFigures& input = result.inputs[i];
    input.file = files[i];
    collector.begin(input, i);
    const auto pieces = ahead.next();
    InputReader reader(context, input, i >= options.inputs.size());
    Watched watched(reader, progress, *pieces, before);
    if (auto outcome = pieces->for_each(watched, [&] { return !input.usable; }); !outcome) {
      collector.on_damage({pieces->bytes_read(), outcome.error().message});
      input.usable = false;
    }
    reader.finish();
    input.bytes = pieces->bytes_read();
    before += input.bytes;
  }
  collector.finish();
  if (auto outcome = collector.outcome(); !outcome) return std::move(outcome.error());
  if (!options.sketch_log.empty()) {
    written.close();
    if (!written) return io_error(options.sketch_log.string());
  }
  TransitionCounter counter(result.urls.size());
  const auto count = [&](const Observation& observation) { counter.add(observation); };
  if (auto outcome = log.for_each(count); !outcome) return std::move(outcome.error());
  result.figures = counter.finish();
  result.dynamic_data = bodies.figures();
  result.causes = bodies.take_causes();
  return result;
}

}  // namespace prophecy::measurement
