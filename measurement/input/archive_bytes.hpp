// `ArchiveBytes` expands a file of one or more gzip members, told by its first two bytes, and
// passes any other file through. Behind a damaged member it goes on with the next one that it
// finds.
//
// No I/O: the caller feeds the file's bytes in order. For one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "measurement/input/byte_decoder.hpp"
#include "measurement/input/damage.hpp"

namespace prophecy::measurement {

class ArchiveSink {
 public:
  virtual ~ArchiveSink() = default;
  // Bytes of the content, in order. `offset` is where their first lies in the file; of a gzip
  // member, where that begins (`moves` is false then: all of its bytes have the same offset).
  virtual void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) = 0;
  // Bytes are missing here; those that come next belong to something else.
  virtual void on_gap(Damage damage) = 0;
};

class ArchiveBytes {
 public:
  explicit ArchiveBytes(ArchiveSink& sink);

  void feed(std::string_view input);
  // The file is at its end.
  void finish();

 private:
  enum class State : std::uint8_t {
    kind,       // of the first two bytes
    plain,      // not compressed
    member,     // inside a member
    between,    // behind a member: another one, or the end
    searching,  // for the next member, behind damage
    stopped,    // it expands too much
  };

  // Takes the next part off pending_; false: more input is needed.
  [[nodiscard]] bool step();
  [[nodiscard]] bool inflate();
  [[nodiscard]] bool begin_member();
  [[nodiscard]] bool search();
  void take(std::size_t size);
  [[nodiscard]] bool expands_too_much() const;

  ArchiveSink& sink_;
  std::unique_ptr<ByteDecoder> decoder_;
  State state_ = State::kind;
  std::string_view pending_;  // of the input at hand
  std::string carried_;       // a few bytes that the last input ended with
  std::string out_;
  std::uint64_t position_ = 0;  // in the file, of pending_
  std::uint64_t member_ = 0;    // where it begins
  std::uint64_t expanded_ = 0;
};

}  // namespace prophecy::measurement
