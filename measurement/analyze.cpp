#include "measurement/analyze.hpp"

#include <optional>
#include <string_view>

#include "canonical/profile.hpp"
#include "measurement/analysis/known_payloads.hpp"
#include "measurement/analysis/line_answers.hpp"
#include "measurement/analysis/warc_answers.hpp"
#include "measurement/file_pieces.hpp"
#include "measurement/input/warc_reader.hpp"
#include "measurement/observation_log.hpp"
#include "measurement/previous_bodies.hpp"

namespace prophecy::measurement {
namespace {

// An input's place among the others, and an answer's in it.
constexpr unsigned kInputShift = 40;

class Collector : public AnswerSink {
 public:
  // `bodies` may be null.
  Collector(UrlTable& urls, ObservationLog& log, PreviousBodies* bodies)
      : urls_(urls), log_(log), bodies_(bodies) {}

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
    note(log_.append(observation));
    if (bodies_ != nullptr && answer.kind == AnswerKind::sketched) {
      note(bodies_->add(observation.url, answer));
    }
  }
  void on_damage(Damage damage) override {
    ++input_->damage_count;
    if (input_->damage.size() < kDamageListedMax) input_->damage.push_back(std::move(damage));
  }
  void on_other_method() override { ++input_->other_methods; }
  // The first error of this machine.
  [[nodiscard]] Result<> outcome() { return std::move(outcome_); }

 private:
  void note(Result<> result) {
    if (!result && outcome_) outcome_ = std::move(result);
  }

  UrlTable& urls_;
  ObservationLog& log_;
  PreviousBodies* bodies_;
  InputFigures* input_ = nullptr;
  std::uint64_t sequence_ = 0;
  Result<> outcome_;
};

class WarcInput : public ArchiveSink {
 public:
  WarcInput(const sketch::Profile& profile, KnownPayloads& payloads, AnswerSink& sink)
      : answers_(profile, payloads, sink), warc_(answers_) {}

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override {
    warc_.on_bytes(bytes, offset, moves);
  }
  void on_gap(Damage damage) override { warc_.on_gap(std::move(damage)); }
  void finish() {
    warc_.finish();
    answers_.finish();
  }
  [[nodiscard]] std::uint64_t records() const { return warc_.records(); }

 private:
  WarcAnswers answers_;
  WarcReader warc_;
};

// Chooses the reader by the first bytes of the content.
class InputReader : public ArchiveSink {
 public:
  InputReader(const AnalyzeOptions& options, const sketch::Profile& profile,
              KnownPayloads& payloads, Collector& collector, InputFigures& input)
      : options_(options),
        profile_(profile),
        payloads_(payloads),
        collector_(collector),
        input_(input) {}

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override {
    if (input_.format.empty() && input_.usable) choose(bytes);
    if (warc_) warc_->on_bytes(bytes, offset, moves);
    if (lines_) lines_->on_bytes(bytes, offset, moves);
  }
  void on_gap(Damage damage) override {
    if (warc_) return warc_->on_gap(std::move(damage));
    if (lines_) return lines_->on_gap(std::move(damage));
    // Of a file whose beginning is damaged, the first whole member says what it is.
    collector_.on_damage(std::move(damage));
  }
  void finish() {
    if (input_.format.empty()) return reject();
    if (warc_) {
      warc_->finish();
      input_.records = warc_->records();
    }
    if (lines_) {
      lines_->finish();
      input_.records = lines_->records();
    }
  }

 private:
  void choose(std::string_view beginning) {
    if (beginning.starts_with("WARC/1.")) {
      input_.format = "WARC";
      warc_.emplace(profile_, payloads_, collector_);
    } else if (begins_like_cdx(beginning)) {
      input_.format = "CDX";
      lines_.emplace(LineFormat::cdx, "", collector_);
    } else if (begins_like_log(beginning)) {
      input_.format = "access log";
      lines_.emplace(LineFormat::combined_log, options_.log_origin, collector_);
    } else {
      reject();
    }
  }
  void reject() {
    if (input_.usable) {
      collector_.on_damage({0, "no format that is known: WARC, CDX, combined access log"});
    }
    input_.usable = false;
  }

  const AnalyzeOptions& options_;
  const sketch::Profile& profile_;
  KnownPayloads& payloads_;
  Collector& collector_;
  InputFigures& input_;
  std::optional<WarcInput> warc_;
  std::optional<LineAnswers> lines_;
};

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
  const sketch::Profile profile;
  KnownPayloads payloads;
  ObservationLog log(options.temporary_folder);
  PreviousBodies bodies(options.temporary_folder, options.spool_bytes);
  Collector collector(result.urls, log, options.spool_bytes > 0 ? &bodies : nullptr);
  result.inputs.resize(options.inputs.size());
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    InputFigures& input = result.inputs[i];
    input.file = options.inputs[i];
    collector.begin(input, i);
    FilePieces pieces(input.file);
    InputReader reader(options, profile, payloads, collector, input);
    if (auto outcome = pieces.for_each(reader); !outcome) {
      collector.on_damage({pieces.bytes_read(), outcome.error().message});
      input.usable = false;
    }
    reader.finish();
    input.bytes = pieces.bytes_read();
  }
  if (auto outcome = collector.outcome(); !outcome) return std::move(outcome.error());
  TransitionCounter counter;
  const auto count = [&](const Observation& observation) { counter.add(observation); };
  if (auto outcome = log.for_each(count); !outcome) return std::move(outcome.error());
  result.figures = counter.finish();
  result.dynamic_data = bodies.figures();
  return result;
}

}  // namespace prophecy::measurement
