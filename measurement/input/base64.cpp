#include "measurement/input/base64.hpp"

#include <array>

namespace prophecy::measurement {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xff;
constexpr std::uint8_t kPassed = 0xfe;
constexpr std::uint8_t kPadding = 0xfd;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  values['-'] = values['+'];
  values['_'] = values['/'];
  values['='] = kPadding;
  for (const char c : {' ', '\t', '\r', '\n'})
    values[static_cast<std::uint8_t>(c)] = kPassed;
  return values;
}
constexpr auto kValues = make_values();

}  // namespace

bool Base64Decoder::decode(std::string_view text, std::string& out) {
  for (const char c : text) {
    const std::uint8_t value = kValues[static_cast<std::uint8_t>(c)];
    if (value == kPassed) continue;
    if (value == kPadding) {
      if (++padding_ > 2) return false;
      continue;
    }
    if (value == kNone || padding_ > 0) return false;
    bits_ = bits_ << 6 | value;
    count_ += 6;
    ++digits_;
    if (count_ < 8) continue;
    count_ -= 8;
    out.push_back(static_cast<char>(bits_ >> count_ & 0xff));
  }
  return true;
}

bool Base64Decoder::finish() const {
  return digits_ % 4 != 1 && (padding_ == 0 || (digits_ + padding_) % 4 == 0);
}

void append_base64(std::string_view bytes, std::string& out) {
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<std::uint8_t>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      out.push_back(kAlphabet[bits >> count & 0x3f]);
    }
  }
  if (count > 0) out.push_back(kAlphabet[bits << (6 - count) & 0x3f]);
}

}  // namespace prophecy::measurement
