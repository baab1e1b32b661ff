// A HAR's bytes: whatever they are, the reader tells the same however they are cut.
#include <string>

#include "expect.hpp"
#include "measurement/readers/har_answers.hpp"
#include "seen_answers.hpp"

using namespace prophecy;
using namespace prophecy::measurement;

namespace {

std::string read(std::string_view input, std::size_t piece) {
  static const sketch::Profile profile;
  fuzz::SeenAnswers seen;
  fuzz::feed(HarAnswers(profile, seen, 64), input, piece);
  return seen.text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  REQUIRE(read(input, input.size() + 1) == read(input, 1 + data[0] % 32));
  return 0;
}
