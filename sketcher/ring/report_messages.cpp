#include "sketcher/ring/report_messages.hpp"

#include <utility>

#include "base/codec.hpp"
#include "dht/wire/hand_over_frames.hpp"

namespace prophecy::sketcher {
namespace {

constexpr char kTag = 'R';
constexpr std::size_t kFrameLengthBytes = 4;
constexpr std::size_t kNameBytesMax = 255;

}  // namespace

std::string report_message_text(const ReportMessage& message) {
  Bytes bytes{static_cast<std::uint8_t>(kTag)};
  Writer(bytes).sized(as_bytes(message.member));
  Bytes frame;
  if (const auto* const ask = std::get_if<dht::ReportAsk>(&message.content)) {
    frame = dht::encode_frame(*ask);
  } else if (const auto* const part = std::get_if<dht::ReportPart>(&message.content)) {
    frame = dht::encode_frame(*part);
  }
  // (The channel keeps messages apart.)
  if (!frame.empty()) Writer(bytes).raw(ByteView(frame).subspan(kFrameLengthBytes));
  return std::string(as_text(bytes));
}

bool is_report_message(std::string_view text) {
  return !text.empty() && text.front() == kTag;
}

std::optional<ReportMessage> parse_report_message(std::string_view text) {
  if (!is_report_message(text)) return std::nullopt;
  Reader in(as_bytes(text.substr(1)));
  ReportMessage message;
  message.member = as_text(in.sized(kNameBytesMax));
  if (in.failed() || message.member.empty()) return std::nullopt;
  if (in.remaining() == 0) {
    message.content = ReportLost{};
    return message;
  }
  auto read = dht::decode_frame(in.raw(in.remaining()));
  if (!read) return std::nullopt;
  if (const auto* const ask = std::get_if<dht::ReportAsk>(&*read)) {
    message.content = *ask;
  } else if (auto* const part = std::get_if<dht::ReportPart>(&*read)) {
    message.content = std::move(*part);
  } else {
    return std::nullopt;
  }
  return message;
}

}  // namespace prophecy::sketcher
