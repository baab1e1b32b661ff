// A capture's bytes: whatever they are, the reader tells the same however they are cut, and answers
// come of it or damage, and neither a crash nor an endless loop.
#include <algorithm>
#include <string>

#include "expect.hpp"
#include "measurement/input/archive_bytes.hpp"
#include "measurement/readers/warc_answers.hpp"
#include "seen_answers.hpp"

using namespace prophecy;
using namespace prophecy::measurement;

namespace {

std::string read(std::string_view input, std::size_t piece) {
  static const sketch::Profile profile;
  fuzz::SeenAnswers seen;
  seen.names_problems = false;
  KnownPayloads payloads(4);
  WarcAnswers answers(profile, payloads, seen);
  WarcReader reader(answers);
  ArchiveBytes archive(reader);
  for (; !input.empty(); input.remove_prefix(std::min(piece, input.size())))
    archive.feed(input.substr(0, piece));
  archive.finish();
  reader.finish();
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
