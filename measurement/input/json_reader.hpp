// `JsonReader` takes JSON (RFC 8259) apart as it arrives, for one handler: HAR files, lines of CDXJ
// and of sketch logs. It holds a key, a number, and the places of brackets, never a text. A leading
// byte order mark is passed over. Bytes in texts are not checked for being UTF-8; a surrogate
// without its other half becomes three bytes, so different texts stay different.
//
// No I/O. For one thread at a time. The handler is told the same, however the input was cut; only
// the pieces of texts differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prophecy::measurement {

class JsonHandler {
 public:
  virtual ~JsonHandler() = default;
  virtual void on_begin(bool object) = 0;  // else an array
  virtual void on_end(bool object) = 0;
  // Valid for the call alone.
  virtual void on_key(std::string_view key) = 0;
  // A text: any number of pieces, and its end.
  virtual void on_text(std::string_view piece) = 0;
  virtual void on_text_end() = 0;
  // A number as it is written, or true, false, null.
  virtual void on_scalar(std::string_view text) = 0;
};

constexpr std::size_t kJsonDepthMax = 64;
constexpr std::size_t kJsonKeyBytesMax = 1024;
constexpr std::size_t kJsonScalarBytesMax = 64;

class JsonReader {
 public:
  explicit JsonReader(JsonHandler& handler);

  // Starts on another value.
  void reset();
  // Nothing more is taken once there is a problem.
  void feed(std::string_view bytes);
  // The input is at its end.
  void finish();
  // Empty, or what is wrong with the input: a static text.
  [[nodiscard]] std::string_view problem() const { return problem_; }
  // Within feed(): how many of its bytes lie before what the handler is told of.
  [[nodiscard]] std::size_t taken() const { return position_; }

 private:
  enum class State : std::uint8_t {
    mark,          // a byte order mark, or the value
    value,         // has to begin
    value_or_end,  // of an array that has begun
    key_or_end,    // of an object that has begun
    key,           // behind a comma
    colon,
    comma_or_end,
    text,
    escape,   // behind a backslash
    unicode,  // four digits
    scalar,
    done,
  };

  void step(char c);
  void begin_value(char c);
  void begin(bool object);
  void end(bool object);
  void begin_text(bool is_key);
  void take_text();
  void add_text(std::string_view piece);
  void end_text();
  void take_escape(char c);
  void take_unicode(char c);
  void add_code_point(std::uint32_t code);
  void flush_surrogate();
  void take_scalar();
  void end_scalar();
  void value_ended();
  void fail(std::string_view problem);

  JsonHandler& handler_;
  State state_ = State::mark;
  std::string_view input_;
  std::size_t position_ = 0;  // in the input
  std::vector<bool> open_;    // brackets; true: of an object
  bool is_key_ = false;       // the text at hand
  std::string key_;
  std::string scalar_;
  std::uint32_t code_ = 0;  // of \uXXXX so far
  int digits_ = 0;
  std::uint32_t surrogate_ = 0;  // the first half of a pair; 0: none
  int mark_bytes_ = 0;
  std::string_view problem_;
};

}  // namespace prophecy::measurement
