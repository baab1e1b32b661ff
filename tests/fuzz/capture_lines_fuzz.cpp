// Lines of an index or of an access log: whatever they are, they tell the same however they are
// cut.
#include <algorithm>
#include <string>

#include "base/bytes.hpp"
#include "expect.hpp"
#include "measurement/analysis/line_answers.hpp"

using namespace prophecy;
using namespace prophecy::measurement;

namespace {

struct Seen : AnswerSink {
  std::string text;
  void on_answer(const Answer& answer) override {
    text.append(answer.url).append(as_text(answer.sketch)).push_back('\n');
  }
  void on_damage(Damage damage) override {
    text.append("!").append(std::to_string(damage.offset)).append(damage.problem).push_back('\n');
  }
  void on_other_method() override { text += "?\n"; }
};

std::string read(LineFormat format, std::string_view input, std::size_t piece) {
  Seen seen;
  LineAnswers answers(format, "http://a", seen);
  for (std::size_t begin = 0; begin < input.size(); begin += piece)
    answers.on_bytes(input.substr(begin, piece), begin, true);
  answers.finish();
  return seen.text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const LineFormat format = (data[0] & 0x80) != 0 ? LineFormat::cdx : LineFormat::combined_log;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  static_cast<void>(begins_like_log(input));
  REQUIRE(read(format, input, input.size() + 1) == read(format, input, 1 + data[0] % 32));
  return 0;
}
