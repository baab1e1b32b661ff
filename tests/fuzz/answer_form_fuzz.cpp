// A replica's result: whatever decodes is the encoding of what it decodes to.
#include <cstdint>
#include <cstdlib>

#include "canonical/answer_form.hpp"

using namespace prophecy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(data, size);
  const auto decoded = sketch::decode(input);
  if (!decoded) return 0;
  const Bytes encoded = sketch::encode(*decoded);
  if (as_text(encoded) != as_text(input)) std::abort();

  sketch::AnswerFields fields(*decoded);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name.empty()) std::abort();
  }
  if (!sketch::compare(*decoded, *decoded).empty()) std::abort();
  return 0;
}
