// `HarAnswers` turns the entries of a HAR file (version 1.2) into answers, as the file arrives. An
// entry is held until it ends, with its body up to a limit; nothing of a file is held beyond that.
//
// A HAR has bodies without their codings: an entry's sketch is that of the same answer in a WARC
// file. A body that the HAR leaves out, or that is larger than the limit, makes the answer weak.
// An entry without an answer (blocked, aborted) or from the browser's cache is no answer.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measurement/analysis/answer_sink.hpp"
#include "measurement/analysis/answer_sketcher.hpp"
#include "measurement/input/content_reader.hpp"
#include "measurement/input/json_reader.hpp"

namespace prophecy::measurement {

class HarAnswers : public ContentReader, private JsonHandler {
 public:
  // Both must outlive it. `text_bytes_max` is of a body's text, as it lies in the file.
  HarAnswers(const sketch::Profile& profile, AnswerSink& sink,
             std::size_t text_bytes_max = 64 << 20);

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override;
  void on_gap(Damage damage) override;
  void finish() override;
  [[nodiscard]] std::uint64_t records() const override { return records_; }

 private:
  // Where in a HAR an object or an array lies.
  enum class Place : std::uint8_t {
    other,
    root,
    log,
    entries,
    entry,
    request,
    response,
    fields,  // `headers` of the response
    field,
    content,
  };
  struct Field {
    std::string name;
    std::string value;
  };
  struct Entry {
    std::string time;
    std::string address;
    std::string from_cache;
    std::string method;
    std::string url;
    std::string status;
    std::string size;
    std::string encoding;
    std::string text;
    bool has_text = false;
    bool text_too_large = false;
    bool has_response = false;
    std::vector<Field> fields;
    std::uint64_t offset = 0;
  };

  void on_begin(bool object) override;
  void on_end(bool object) override;
  void on_key(std::string_view key) override;
  void on_text(std::string_view piece) override;
  void on_text_end() override;
  void on_scalar(std::string_view text) override;

  [[nodiscard]] Place place_of_child(bool object) const;
  // Where a member's value goes; null: it does not matter.
  [[nodiscard]] std::string* value_of(std::string_view key);
  [[nodiscard]] std::string* entry_value_of(std::string_view key);
  void end_entry();
  void hand_on_weak(Answer& answer, std::uint64_t status);
  [[nodiscard]] std::string_view sketch(Answer& answer, std::uint64_t status);
  [[nodiscard]] std::string_view take_body();
  void write_head(std::uint64_t status, bool has_body);
  [[nodiscard]] std::string_view field(std::string_view name) const;
  void stop(Damage damage);

  AnswerSink& sink_;
  AnswerSketcher sketcher_;
  std::size_t text_bytes_max_;
  JsonReader json_;
  std::vector<Place> places_;
  std::string key_;
  std::string* value_ = nullptr;  // of the text at hand
  Entry entry_;
  std::string head_;
  std::string body_;
  std::string url_;
  std::uint64_t records_ = 0;
  std::uint64_t piece_offset_ = 0;
  std::uint64_t end_offset_ = 0;  // of what came so far
  bool piece_moves_ = false;
  bool has_entries_ = false;
  bool stopped_ = false;
};

}  // namespace prophecy::measurement
