// `WarcAnswers` turns WARC records into answers: response records by their HTTP answer, revisit
// records by the payload that they refer to. Payload digests are computed again; an answer whose
// record says another one is damage, and so is one that its capture or its file has cut.
//
// An answer is handed on when the record behind it begins: a request record there may say that its
// method is not GET, and a gzip member is known to be right only behind its end.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "measurement/analysis/answer_sink.hpp"
#include "measurement/analysis/answer_sketcher.hpp"
#include "measurement/analysis/known_payloads.hpp"
#include "measurement/input/warc_reader.hpp"

namespace prophecy::measurement {

class WarcAnswers : public WarcHandler {
 public:
  // All must outlive it. Inputs of one run share the payloads: a revisit may lie in another file.
  WarcAnswers(const sketch::Profile& profile, KnownPayloads& payloads, AnswerSink& sink);

  bool on_head(const WarcHead& head) override;
  void on_block(std::string_view piece) override;
  void on_end() override;
  void on_damage(Damage damage) override;
  // The input is at its end.
  void finish();

 private:
  enum class Kind : std::uint8_t { none, response, revisit, request };
  struct Request {
    std::string id;
    std::string concurrent_to;
    std::string method;
  };
  struct Pending {
    std::string id;
    std::uint64_t offset = 0;  // of its record
    std::string method;
    std::string url;  // SCHEME://AUTHORITY TARGET, without the space
    std::string address;
    Answer answer;
  };

  [[nodiscard]] bool begin_answer();
  void end_response();
  void end_revisit();
  void end_request();
  void hold(const AnswerSketch& sketch);
  void hand_on();
  void reject(std::string problem);
  // Whether a declared digest is that of the answer at hand; true if it cannot be told.
  [[nodiscard]] bool digest_holds() const;

  AnswerSink& sink_;
  KnownPayloads& payloads_;
  AnswerSketcher sketcher_;
  Kind kind_ = Kind::none;
  WarcHead head_;
  std::string url_;
  std::string method_;
  Microseconds time_ = 0;
  std::optional<Request> request_;  // the last one
  std::optional<Pending> pending_;
  std::string key_;
};

}  // namespace prophecy::measurement
