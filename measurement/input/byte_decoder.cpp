#include "measurement/input/byte_decoder.hpp"

#include <algorithm>

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include "base/assert.hpp"
#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

// The window of zstd and zlib. Larger ones take more memory than an answer is worth: RFC 9659 has 8
// MiB as the bound for Content-Encoding.
constexpr int kZstdWindowLog = 23;
constexpr std::size_t kStepBytesMax = 1 << 30;

// Grows `out` by what a library writes there.
class Room {
 public:
  Room(std::string& out, std::size_t size) : out_(out), begin_(out.size()), size_(size) {
    out_.resize(begin_ + size_);
  }
  [[nodiscard]] std::uint8_t* data() {
    return reinterpret_cast<std::uint8_t*>(out_.data()) + begin_;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  // Requires that so much of it is unused.
  [[nodiscard]] bool keep_all_but(std::size_t unused) {
    out_.resize(begin_ + size_ - unused);
    return unused == 0;
  }

 private:
  std::string& out_;
  std::size_t begin_;
  std::size_t size_;
};

const std::uint8_t* bytes_of(std::string_view input) {
  return reinterpret_cast<const std::uint8_t*>(input.data());
}

// zlib's names for its wrappers: windowBits.
constexpr int kZlibWrapper = 15;
constexpr int kRawDeflate = -15;
constexpr int kGzipWrapper = 15 + 16;

class ZlibDecoder : public ByteDecoder {
 public:
  explicit ZlibDecoder(int window_bits) {
    const int result = ::inflateInit2(&stream_, window_bits);
    ASSERT(result == Z_OK);
  }
  ~ZlibDecoder() override { ::inflateEnd(&stream_); }

  DecodeProgress decode(std::string_view input, std::string& out, std::size_t room) override {
    input = input.substr(0, kStepBytesMax);
    Room space(out, std::min(room, kStepBytesMax));
    stream_.next_in = const_cast<Bytef*>(bytes_of(input));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = space.data();
    stream_.avail_out = static_cast<uInt>(space.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    DecodeProgress progress;
    progress.consumed = input.size() - stream_.avail_in;
    progress.full = space.keep_all_but(stream_.avail_out);
    if (result == Z_STREAM_END) {
      progress.state = DecodeState::end;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      progress.state = DecodeState::failed;
    }
    return progress;
  }
  void reset() override { ::inflateReset(&stream_); }
  void reset(int window_bits) { ::inflateReset2(&stream_, window_bits); }

 private:
  z_stream stream_{};
};

// "deflate" is zlib's format; some servers have always sent raw deflate instead, and browsers take
// both. The first byte tells them apart: zlib's has method 8 in its low bits and a window of at
// most 32 KiB, which a raw block that servers send does not begin with.
class DeflateDecoder : public ByteDecoder {
 public:
  DecodeProgress decode(std::string_view input, std::string& out, std::size_t room) override {
    if (!begun_ && !input.empty()) {
      const auto first = static_cast<std::uint8_t>(input.front());
      zlib_.reset((first & 0x0f) == 8 && first >> 4 <= 7 ? kZlibWrapper : kRawDeflate);
      begun_ = true;
    }
    if (!begun_) return {};
    return zlib_.decode(input, out, room);
  }
  void reset() override { begun_ = false; }

 private:
  ZlibDecoder zlib_{kZlibWrapper};
  bool begun_ = false;
};

class BrotliDecoder : public ByteDecoder {
 public:
  BrotliDecoder() { reset(); }

  DecodeProgress decode(std::string_view input, std::string& out, std::size_t room) override {
    Room space(out, std::min(room, kStepBytesMax));
    const std::uint8_t* next_in = bytes_of(input);
    std::size_t input_left = input.size();
    std::uint8_t* next_out = space.data();
    std::size_t room_left = space.size();
    const auto result = ::BrotliDecoderDecompressStream(state_.get(), &input_left, &next_in,
                                                        &room_left, &next_out, nullptr);
    DecodeProgress progress;
    progress.consumed = input.size() - input_left;
    progress.full = space.keep_all_but(room_left);
    if (result == BROTLI_DECODER_RESULT_SUCCESS) {
      progress.state = DecodeState::end;
    } else if (result == BROTLI_DECODER_RESULT_ERROR) {
      progress.state = DecodeState::failed;
    }
    return progress;
  }
  void reset() override {
    state_.reset(::BrotliDecoderCreateInstance(nullptr, nullptr, nullptr));
    ASSERT(state_ != nullptr);
  }

 private:
  struct Destroy {
    void operator()(BrotliDecoderState* state) const { ::BrotliDecoderDestroyInstance(state); }
  };
  std::unique_ptr<BrotliDecoderState, Destroy> state_;
};

class ZstdDecoder : public ByteDecoder {
 public:
  ZstdDecoder() : stream_(::ZSTD_createDStream()) {
    ASSERT(stream_ != nullptr);
    ::ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kZstdWindowLog);
  }

  DecodeProgress decode(std::string_view input, std::string& out, std::size_t room) override {
    Room space(out, std::min(room, kStepBytesMax));
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer to{space.data(), space.size(), 0};
    DecodeProgress progress;
    // A call takes one frame at most.
    const std::size_t result = ::ZSTD_decompressStream(stream_.get(), &to, &in);
    progress.consumed = in.pos;
    progress.full = space.keep_all_but(to.size - to.pos);
    if (::ZSTD_isError(result) != 0) {
      progress.state = DecodeState::failed;
    } else if (result == 0) {
      progress.state = DecodeState::end;
    }
    return progress;
  }
  void reset() override { ::ZSTD_DCtx_reset(stream_.get(), ZSTD_reset_session_only); }

 private:
  struct Destroy {
    void operator()(ZSTD_DStream* stream) const { ::ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Destroy> stream_;
};

Coding coding_named(std::string_view name) {
  for (const auto& [text, coding] : {std::pair{"gzip", Coding::gzip},
                                     {"x-gzip", Coding::gzip},
                                     {"deflate", Coding::deflate},
                                     {"br", Coding::brotli},
                                     {"zstd", Coding::zstd},
                                     {"identity", Coding::identity}}) {
    if (http::equal_ignoring_case(name, text)) return coding;
  }
  return Coding::unknown;
}

}  // namespace

Coding coding_of(std::string_view content_encoding) {
  Coding found = Coding::identity;
  std::string_view element;
  while (http::next_list_element(content_encoding, element)) {
    const Coding coding = coding_named(element);
    if (coding == Coding::identity) continue;
    if (found != Coding::identity) return Coding::unknown;
    found = coding;
  }
  return found;
}

std::unique_ptr<ByteDecoder> make_decoder(Coding coding) {
  switch (coding) {
    case Coding::gzip:
      return std::make_unique<ZlibDecoder>(kGzipWrapper);
    case Coding::deflate:
      return std::make_unique<DeflateDecoder>();
    case Coding::brotli:
      return std::make_unique<BrotliDecoder>();
    case Coding::zstd:
      return std::make_unique<ZstdDecoder>();
    case Coding::identity:
    case Coding::unknown:
      return nullptr;
  }
  UNREACHABLE();
}

}  // namespace prophecy::measurement
