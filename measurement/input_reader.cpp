#include "measurement/input_reader.hpp"

#include <utility>

#include "measurement/analysis/har_answers.hpp"
#include "measurement/analysis/line_answers.hpp"
#include "measurement/analysis/sketch_log.hpp"
#include "measurement/analysis/warc_answers.hpp"
#include "measurement/input/warc_reader.hpp"

namespace prophecy::measurement {
namespace {

class WarcInput : public ContentReader {
 public:
  explicit WarcInput(const InputContext& context)
      : answers_(context.profile, context.payloads, context.sink), warc_(answers_) {}

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override {
    warc_.on_bytes(bytes, offset, moves);
  }
  void on_gap(Damage damage) override { warc_.on_gap(std::move(damage)); }
  void finish() override {
    warc_.finish();
    answers_.finish();
  }
  [[nodiscard]] std::uint64_t records() const override { return warc_.records(); }

 private:
  WarcAnswers answers_;
  WarcReader warc_;
};

// A JSON object, which a HAR is.
bool begins_like_har(std::string_view beginning) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (beginning.starts_with(kMark)) beginning.remove_prefix(kMark.size());
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && beginning[first] == '{';
}

}  // namespace

void InputReader::choose(std::string_view beginning) {
  const auto lines = [&](LineFormat format) {
    reader_ = std::make_unique<LineAnswers>(format, context_.log_origin, context_.sink);
  };
  if (beginning.starts_with("WARC/1.")) {
    input_.format = "WARC";
    reader_ = std::make_unique<WarcInput>(context_);
  } else if (begins_like_sketch_log(beginning)) {
    input_.format = "sketch log";
    reader_ = std::make_unique<SketchLogAnswers>(context_.profile, context_.sink);
  } else if (begins_like_har(beginning)) {
    input_.format = "HAR";
    reader_ = std::make_unique<HarAnswers>(context_.profile, context_.sink);
  } else if (begins_like_cdx(beginning)) {
    input_.format = "CDX";
    lines(LineFormat::cdx);
  } else if (begins_like_cdxj(beginning)) {
    input_.format = "CDXJ";
    lines(LineFormat::cdxj);
  } else if (begins_like_log(beginning)) {
    input_.format = "access log";
    lines(LineFormat::combined_log);
  } else {
    reject();
  }
}

void InputReader::reject() {
  if (input_.usable) {
    context_.sink.on_damage(
        {0, "no format that is known: WARC, HAR, CDX, CDXJ, combined access log, sketch log"});
  }
  input_.usable = false;
}

void InputReader::on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) {
  if (input_.format.empty() && input_.usable) choose(bytes);
  if (reader_) reader_->on_bytes(bytes, offset, moves);
}

void InputReader::on_gap(Damage damage) {
  if (reader_) return reader_->on_gap(std::move(damage));
  // Of a file whose beginning is damaged, the first whole member says what it is.
  context_.sink.on_damage(std::move(damage));
}

void InputReader::finish() {
  if (!reader_) return reject();
  reader_->finish();
  input_.records = reader_->records();
}

}  // namespace prophecy::measurement
