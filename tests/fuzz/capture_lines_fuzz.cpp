// Lines of an index, of an access log or of a sketch log are read as the same answers, however they
// are cut. An answer out of a sketch log is written and read again.
#include <algorithm>
#include <string>

#include "expect.hpp"
#include "measurement/readers/access_log_answers.hpp"
#include "measurement/readers/line_answers.hpp"
#include "measurement/readers/sketch_log.hpp"
#include "seen_answers.hpp"

using namespace prophecy;
using namespace prophecy::measurement;

namespace {

struct Seen : fuzz::SeenAnswers {
  std::string log;
  void on_answer(const Answer& answer) override {
    SeenAnswers::on_answer(answer);
    append_sketch_line(answer, log);
  }
};

using fuzz::feed;

std::string read(LineFormat format, std::string_view input, std::size_t piece) {
  Seen seen;
  feed(LineAnswers(format, "http://a", seen), input, piece);
  return seen.text;
}

std::string read_sketchers_log(std::string_view input, std::size_t piece) {
  Seen seen;
  feed(AccessLogAnswers(seen), input, piece);
  return seen.text;
}

Seen read_log(std::string_view input, std::size_t piece) {
  static const sketch::Profile profile;
  Seen seen;
  feed(SketchLogAnswers(profile, seen), input, piece);
  return seen;
}

void check_sketch_log(std::string_view lines, std::size_t piece) {
  static const std::string header = sketch_log_header(sketch::Profile());
  const std::string input = header + std::string(lines);
  const Seen seen = read_log(input, input.size());
  REQUIRE(read_log(input, piece).text == seen.text);
  REQUIRE(read_log(header + seen.log, piece).log == seen.log);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 32;
  const unsigned choice = data[0] >> 6;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  static_cast<void>(begins_like_log(input));
  static_cast<void>(begins_like_cdxj(input));
  if (choice == 3 && (data[0] & 0x20) != 0) {
    static_cast<void>(begins_like_access_log(input));
    REQUIRE(read_sketchers_log(input, input.size() + 1) == read_sketchers_log(input, piece));
    return 0;
  }
  if (choice == 3) {
    check_sketch_log(input, piece);
    return 0;
  }
  const LineFormat format = choice == 2   ? LineFormat::cdx
                            : choice == 1 ? LineFormat::cdxj
                                          : LineFormat::access_log;
  REQUIRE(read(format, input, input.size() + 1) == read(format, input, piece));
  return 0;
}
