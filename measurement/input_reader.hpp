// `InputReader` reads one input, whatever its format: the first bytes of the content choose the
// reader.
//
// For one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "canonical/profile.hpp"
#include "measurement/analysis/answer_sink.hpp"
#include "measurement/analysis/known_payloads.hpp"
#include "measurement/input/content_reader.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

// The key of an input's sketches: those under different keys cannot be compared.
enum class SketchKey : std::uint8_t { none, ours, sketchers };

// Shared by all inputs of a run.
struct InputContext {
  const sketch::Profile& profile;
  KnownPayloads& payloads;
  AnswerSink& sink;
  std::string log_origin;  // scheme and authority of the targets in access logs
  SketchKey& key;          // of the inputs so far
};

class InputReader : public ArchiveSink {
 public:
  // Both must outlive it. It notes format, records and usability of the input. In a log all lines
  // are lines of an access log, whatever the first one looks like.
  InputReader(const InputContext& context, InputFigures& input, bool is_log = false)
      : context_(context), input_(input), is_log_(is_log) {}

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override;
  void on_gap(Damage damage) override;
  void finish();

 private:
  void choose(std::string_view beginning);
  // False: the inputs before have sketches under another key, and this one is not read.
  [[nodiscard]] bool takes(SketchKey key);
  void reject(std::string_view problem);

  const InputContext& context_;
  InputFigures& input_;
  bool is_log_;
  std::unique_ptr<ContentReader> reader_;
};

}  // namespace prophecy::measurement
