// A HAR's bytes: whatever they are, the reader tells the same however they are cut.
#include <string>

#include "base/bytes.hpp"
#include "expect.hpp"
#include "measurement/readers/har_answers.hpp"

using namespace prophecy;
using namespace prophecy::measurement;

namespace {

struct Seen : AnswerSink {
  std::string text;
  void on_answer(const Answer& answer) override {
    text.append(answer.url).append(as_text(answer.sketch)).append(answer.address).push_back('\n');
  }
  void on_damage(Damage damage) override {
    text.append("!").append(std::to_string(damage.offset)).append(damage.problem).push_back('\n');
  }
  void on_other_method() override { text += "?\n"; }
};

std::string read(std::string_view input, std::size_t piece) {
  static const sketch::Profile profile;
  Seen seen;
  HarAnswers answers(profile, seen, 64);
  for (std::size_t begin = 0; begin < input.size(); begin += piece)
    answers.on_bytes(input.substr(begin, piece), begin, true);
  answers.finish();
  return seen.text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  REQUIRE(read(input, input.size() + 1) == read(input, 1 + data[0] % 32));
  return 0;
}
