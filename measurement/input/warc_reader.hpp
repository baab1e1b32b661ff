// `WarcReader` takes WARC 1.0 and 1.1 apart (ISO 28500) for one handler: the head of each record,
// its block in pieces, and its end. It holds one record's head, never a block. Behind a record
// whose length is wrong it searches for the next one.
//
// No I/O. For one thread at a time. The handler hears the same, however the input was cut.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "measurement/input/archive_bytes.hpp"
#include "measurement/input/damage.hpp"

namespace prophecy::measurement {

// The named fields that matter here; empty where a record has none.
struct WarcHead {
  std::string type;
  std::string id;
  std::string concurrent_to;
  std::string target_uri;
  std::string date;
  std::string content_type;
  std::string payload_digest;
  std::string profile;
  std::string truncated;
  std::string address;
  std::uint64_t length = 0;
  std::uint64_t offset = 0;  // of the record, as in Damage

  void clear() { *this = {}; }
};

class WarcHandler {
 public:
  virtual ~WarcHandler() = default;
  // False: the handler wants neither the block nor its end.
  virtual bool on_head(const WarcHead& head) = 0;
  virtual void on_block(std::string_view piece) = 0;
  // The block was whole, and what follows it is what has to.
  virtual void on_end() = 0;
  // Damage. Records from this offset on are to be forgotten, even if their ends were told: the
  // bytes of a gzip member are known to be right only behind it.
  virtual void on_damage(Damage damage) = 0;
};

class WarcReader : public ArchiveSink {
 public:
  explicit WarcReader(WarcHandler& handler);

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override;
  void on_gap(Damage damage) override;
  // The input is at its end.
  void finish();
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  enum class State : std::uint8_t { between, head, block, tail, searching };

  void take(std::string_view bytes);
  // For a gzip member that begins inside a record: whether a record begins there instead, since
  // that record's length is wrong. False: more of its bytes are needed.
  [[nodiscard]] bool settle_member();
  // Each takes bytes off the input.
  void pass_line_ends(std::string_view& input);
  void take_head(std::string_view& input);
  void take_block(std::string_view& input);
  void take_tail(std::string_view& input);
  void search(std::string_view& input);
  void begin_record();
  void fail(std::string problem);
  void start_search();
  [[nodiscard]] std::uint64_t offset_of(std::string_view input) const;

  WarcHandler& handler_;
  State state_ = State::between;
  std::string text_;  // of the head so far, or of the end of what was searched
  WarcHead head_;
  bool wanted_ = false;
  std::uint64_t remaining_ = 0;  // of the block
  std::size_t tail_ = 0;         // bytes of CR LF CR LF so far
  std::uint64_t records_ = 0;
  std::string_view piece_;  // the input at hand, from its beginning
  std::uint64_t piece_offset_ = 0;
  bool piece_moves_ = false;
  std::uint64_t member_ = 0;  // the gzip member at hand
  bool member_unsettled_ = false;
  std::string member_text_;  // its beginning, until it is settled
};

}  // namespace prophecy::measurement
