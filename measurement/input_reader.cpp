#include "measurement/input_reader.hpp"

#include <utility>

#include "measurement/input/warc_reader.hpp"
#include "measurement/readers/access_log_answers.hpp"
#include "measurement/readers/har_answers.hpp"
#include "measurement/readers/line_answers.hpp"
#include "measurement/readers/packet_answers.hpp"
#include "measurement/readers/sketch_log.hpp"
#include "measurement/readers/warc_answers.hpp"

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

constexpr std::string_view kUnknown =
    "no format that is known: WARC, HAR, CDX, CDXJ, packets, access log, sketch log";

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
  if (begins_like_access_log(beginning)) {
    input_.format = "sketcher's access log";
    if (takes(SketchKey::sketchers)) {
      reader_ = std::make_unique<AccessLogAnswers>(context_.sink);
    }
  } else if (is_log_) {
    input_.format = "access log";
    lines(LineFormat::access_log);
  } else if (beginning.starts_with("WARC/1.")) {
    input_.format = "WARC";
    if (!takes(SketchKey::ours)) return;
    reader_ = std::make_unique<WarcInput>(context_);
  } else if (begins_like_packets(beginning)) {
    input_.format = "packets";
    if (!takes(SketchKey::ours)) return;
    reader_ = std::make_unique<PacketAnswers>(context_.profile, context_.sink);
  } else if (begins_like_sketch_log(beginning)) {
    input_.format = "sketch log";
    if (!takes(SketchKey::ours)) return;
    reader_ = std::make_unique<SketchLogAnswers>(context_.profile, context_.sink);
  } else if (begins_like_har(beginning)) {
    input_.format = "HAR";
    if (!takes(SketchKey::ours)) return;
    reader_ = std::make_unique<HarAnswers>(context_.profile, context_.sink);
  } else if (begins_like_cdx(beginning)) {
    input_.format = "CDX";
    lines(LineFormat::cdx);
  } else if (begins_like_cdxj(beginning)) {
    input_.format = "CDXJ";
    lines(LineFormat::cdxj);
  } else if (begins_like_log(beginning)) {
    input_.format = "access log";
    lines(LineFormat::access_log);
  } else {
    reject(kUnknown);
  }
}

bool InputReader::takes(SketchKey key) {
  if (context_.key == SketchKey::none) context_.key = key;
  if (context_.key == key) return true;
  reject("a sketcher's sketches cannot be compared with those of captures; analyse them alone");
  return false;
}

void InputReader::reject(std::string_view problem) {
  if (input_.usable) context_.sink.on_damage({0, std::string(problem)});
  input_.usable = false;
}

void InputReader::on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) {
  if (!reader_ && input_.usable) choose(bytes);
  if (reader_) reader_->on_bytes(bytes, offset, moves);
}

void InputReader::on_gap(Damage damage) {
  if (reader_) return reader_->on_gap(std::move(damage));
  // In a file whose beginning is damaged, the first whole member decides the format.
  context_.sink.on_damage(std::move(damage));
}

void InputReader::finish() {
  if (!reader_) return reject(kUnknown);
  reader_->finish();
  input_.records = reader_->records();
}

}  // namespace prophecy::measurement
