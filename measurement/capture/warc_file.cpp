#include "measurement/capture/warc_file.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

constexpr int kGzip = 15 + 16;  // zlib's window bits for a gzip member
constexpr int kMemoryLevel = 8;

std::string part_of(const std::filesystem::path& path) {
  return path.string() + ".part";
}

std::string compress(std::string_view first, std::string_view second) {
  z_stream stream{};
  int status = ::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemoryLevel,
                              Z_DEFAULT_STRATEGY);
  ASSERT(status == Z_OK);
  std::string out;
  out.resize(::deflateBound(&stream, first.size() + second.size()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  for (const std::string_view piece : {first, second}) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    status = ::deflate(&stream, piece.data() == second.data() ? Z_FINISH : Z_NO_FLUSH);
  }
  ASSERT(status == Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

// The head as HTTP/1.1 has it. The length is that of the body at hand.
std::string head_of(const CapturedAnswer& answer) {
  std::string head = fmt::format("HTTP/1.1 {} \r\n", answer.status);
  for (const auto& [name, value] : answer.fields) {
    if (http::equal_ignoring_case(name, "transfer-encoding") ||
        http::equal_ignoring_case(name, "content-length")) {
      continue;
    }
    head.append(name).append(": ").append(value).append("\r\n");
  }
  const bool has_no_body = answer.method == "HEAD" || answer.status == 204 || answer.status == 304;
  if (!has_no_body) head += fmt::format("Content-Length: {}\r\n", answer.body.size());
  return head.append("\r\n");
}

}  // namespace

Result<WarcFile> WarcFile::create(const std::filesystem::path& path, Microseconds now) {
  WarcFile made(path);
  made.file_.reset(
      ::open(part_of(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!made.file_) return io_error(part_of(path));
  const std::string info =
      "software: prophecy-measure " PROPHECY_VERSION "\r\nformat: WARC 1.1\r\n";
  const std::string head = fmt::format(
      "WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: {}\r\nWARC-Date: {}\r\n"
      "Content-Type: application/warc-fields\r\nContent-Length: {}\r\n\r\n",
      made.new_id(), iso_time(now), info.size());
  if (auto written = made.write(head, info + "\r\n\r\n"); !written) {
    return std::move(written.error());
  }
  return made;
}

Result<> WarcFile::add(const CapturedAnswer& answer) {
  Sha1 digest;
  digest.update(as_bytes(answer.body));
  const std::string id = new_id();
  std::string block = head_of(answer);
  std::string head = fmt::format(
      "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: {}\r\nWARC-Target-URI: {}\r\n"
      "WARC-Date: {}\r\n",
      id, answer.url, iso_time(answer.time));
  if (!answer.address.empty()) head += fmt::format("WARC-IP-Address: {}\r\n", answer.address);
  head += fmt::format(
      "WARC-Payload-Digest: sha1:{}\r\nContent-Type: application/http;msgtype=response\r\n"
      "Content-Length: {}\r\n\r\n",
      to_hex(digest.finish()), block.size() + answer.body.size());
  block.append(answer.body).append("\r\n\r\n");
  if (auto written = write(head, block); !written || answer.method == "GET") return written;
  const std::string request = answer.method + " / HTTP/1.1\r\n\r\n";
  return write(fmt::format("WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: {}\r\n"
                           "WARC-Target-URI: {}\r\nWARC-Date: {}\r\nWARC-Concurrent-To: {}\r\n"
                           "Content-Type: application/http;msgtype=request\r\n"
                           "Content-Length: {}\r\n\r\n",
                           new_id(), answer.url, iso_time(answer.time), id, request.size()),
               request + "\r\n\r\n");
}

Result<> WarcFile::finish() {
  if (::fsync(file_.get()) != 0) return io_error(part_of(path_));
  file_.reset();
  if (::rename(part_of(path_).c_str(), path_.c_str()) != 0) return io_error(path_.string());
  return {};
}

Result<> WarcFile::write(std::string_view head, std::string_view block) {
  const std::string member = compress(head, block);
  std::string_view left = member;
  while (!left.empty()) {
    const ssize_t size = ::write(file_.get(), left.data(), left.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error(part_of(path_));
    left.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

// A random UUID, RFC 9562.
std::string WarcFile::new_id() {
  std::array<std::uint8_t, 16> bytes{};
  random_.fill(bytes);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  const std::string hex = to_hex(bytes);
  return fmt::format("<urn:uuid:{}-{}-{}-{}-{}>", hex.substr(0, 8), hex.substr(8, 4),
                     hex.substr(12, 4), hex.substr(16, 4), hex.substr(20));
}

}  // namespace prophecy::measurement
