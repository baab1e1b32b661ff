// A capture of packets is read as the same answers, however it is cut. Random bytes make no TCP
// connection, so the second half of the inputs is a script of segments of one.
#include <algorithm>
#include <string>
#include <vector>

#include "expect.hpp"
#include "measurement/readers/packet_answers.hpp"
#include "seen_answers.hpp"

using namespace prophecy;
using namespace prophecy::measurement;

namespace {

std::string read(std::string_view input, std::size_t piece) {
  static const sketch::Profile profile;
  fuzz::SeenAnswers seen;
  fuzz::feed(PacketAnswers(profile, seen), input, piece);
  return seen.text;
}

void append32(std::uint32_t number, std::string& out) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(number >> shift));
}

void append16(std::uint32_t number, std::string& out) {
  out.push_back(static_cast<char>(number >> 8));
  out.push_back(static_cast<char>(number));
}

void append_segment(bool from_client, std::uint32_t sequence, std::uint8_t flags,
                    std::string_view bytes, std::string& out) {
  std::string ip;
  ip += "\x45";
  ip.push_back('\0');
  append16(static_cast<std::uint32_t>(40 + bytes.size()), ip);
  append32(0, ip);
  ip += "\x40\x06";
  append16(0, ip);
  append32(from_client ? 0x0a000001 : 0x0a000002, ip);
  append32(from_client ? 0x0a000002 : 0x0a000001, ip);
  append16(from_client ? 40000 : 80, ip);
  append16(from_client ? 80 : 40000, ip);
  append32(sequence, ip);
  append32(0, ip);
  ip.push_back('\x50');
  ip.push_back(static_cast<char>(flags));
  append16(0, ip);
  append32(0, ip);
  ip.append(bytes);
  append32(1, out);
  append32(0, out);
  append32(static_cast<std::uint32_t>(ip.size()), out);
  append32(static_cast<std::uint32_t>(ip.size()), out);
  out += ip;
}

// Segments of two streams, cut, repeated, exchanged and left out as the script says.
std::string capture_of(std::string_view script) {
  static const std::string requests =
      "GET /a HTTP/1.1\r\nHost: a\r\n\r\nHEAD /b HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /d HTTP/1.1\r\nHost: "
      "a\r\n\r\n";
  static const std::string answers =
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: "
      "9\r\n\r\n"
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil "
      "the end";
  std::string out;
  append32(0xa1b2c3d4, out);
  append32(0x00020004, out);
  append32(0, out);
  append32(0, out);
  append32(65535, out);
  append32(101, out);
  append_segment(true, 99, 2, "", out);
  append_segment(false, 199, 2, "", out);
  for (std::size_t i = 0; i + 2 < script.size(); i += 3) {
    const bool from_client = (script[i] & 1) != 0;
    const std::string& stream = from_client ? requests : answers;
    const std::size_t begin =
        std::min<std::size_t>(static_cast<std::uint8_t>(script[i + 1]), stream.size());
    const std::string_view bytes =
        std::string_view(stream).substr(begin, static_cast<std::uint8_t>(script[i + 2]));
    const auto flags = static_cast<std::uint8_t>(script[i] >> 2 & 0x05);
    append_segment(from_client, static_cast<std::uint32_t>((from_client ? 100 : 200) + begin),
                   flags, bytes, out);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string made;
  if ((data[0] & 0x80) != 0) input = made = capture_of(input);
  REQUIRE(read(input, input.size() + 1) == read(input, 1 + data[0] % 32));
  return 0;
}
