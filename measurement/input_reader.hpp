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

// What all inputs of a run share.
struct InputContext {
  const sketch::Profile& profile;
  KnownPayloads& payloads;
  AnswerSink& sink;
  std::string log_origin;  // scheme and authority of the targets in access logs
};

class InputReader : public ArchiveSink {
 public:
  // Both must outlive it. It notes format, records and usability of the input.
  InputReader(const InputContext& context, InputFigures& input)
      : context_(context), input_(input) {}

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override;
  void on_gap(Damage damage) override;
  void finish();

 private:
  void choose(std::string_view beginning);
  void reject();

  const InputContext& context_;
  InputFigures& input_;
  std::unique_ptr<ContentReader> reader_;
};

}  // namespace prophecy::measurement
