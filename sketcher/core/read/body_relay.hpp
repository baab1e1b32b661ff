// `BodyRelay` carries one answer's body from origins to a client, piece by piece: verified blocks
// of an agreed list, or unverified pieces of one origin. States:
//
//            +---------- parked <------- the client takes nothing for a while
//            v                                              |
//   idle -> fetching --> checked --> sending --> fetching --+--> idle
//            ^   |       the first block        |
//            |   +------------------------------+
//            +--- the rest comes from another origin (verified blocks only)
//
// Verified: no byte of a block goes on before the block's digest is the list's. When an origin
// fails, or brings another block than the list's, the rest comes from another one, by a range. A
// list that is remembered is judged like any fast read: the origin's head is the agreed one, and
// its first wanted block is the list's; anything else refutes the list or the origin, and the group
// has to say which. A list that the group agreed on for this very request is tried at every origin.
//
// The first origin of a remembered list is asked with the client's own request. It is accused of
// nothing before it has answered otherwise to the request with constants in place of the visible
// exceptions: so is every origin that is asked after it.
//
// Unverified: what an origin leaves out cannot be had from another one, since nobody knows that the
// other one's body is the same. The origin keeps its connection for as long as the client takes.
//
// Back-pressure: nothing is read from the origin while the client takes nothing. At most two pieces
// are held. A client of verified blocks that takes nothing for a second gives its origin's
// connection free, and the block that was read; once it takes more, an origin is asked for the
// rest.
//
// A part of ReadMachine. Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "canonical/answer_form.hpp"
#include "http/exchange_end.hpp"
#include "replica_client/core/call.hpp"
#include "sketcher/core/read/block_lists.hpp"
#include "sketcher/core/read/evidence.hpp"
#include "sketcher/core/read/read_action.hpp"
#include "sketcher/core/read/read_group.hpp"

namespace prophecy::sketcher {

class BodyRelay {
 public:
  static constexpr std::uint32_t kPieceBytes = 256 << 10;  // of an unverified body
  static constexpr std::uint32_t kStreamPieceBytes = 16 << 10;

  enum class Source : std::uint8_t { remembered, agreed, unverified };
  enum class Step : std::uint8_t {
    waits,
    verified,  // the first block is right, and nothing has been sent: release(), or abandon()
    refuted,   // remembered: an origin has answered otherwise: refutation()
    complete,
    failed,  // no origin has brought the first block; nothing has been sent
    broken,  // the rest cannot be had
  };

  BodyRelay(ReadActions& actions, LargeCounters& counters)
      : actions_(actions), counters_(counters) {}

  // `list` is a form in blocks. The client wants `size` bytes of its body, from `first` on; where
  // it wants none, one block is fetched to see whether the answer still holds. `wire` is the
  // client's request, `constant_wire` the same with constants in place of the visible exceptions;
  // both stay as they are until the end. Unless it `may_begin`, no origin is asked before
  // on_writable().
  [[nodiscard]] Step start_verified(ReadGroup& group, Source source, BlockLists::List list,
                                    std::uint64_t first, std::uint64_t size, std::string_view wire,
                                    std::string_view constant_wire, bool may_begin);
  // The head has come by the exchange of `slot`, and its body comes in pieces. Unless it
  // `may_begin`, nothing is sent before on_writable(). A `size` of sketch::kOpenEnded: the body
  // ends when the origin ends it.
  [[nodiscard]] Step start_unverified(ReadGroup& group, std::uint8_t slot, NodeId replica,
                                      std::uint64_t first, std::uint64_t size, bool may_begin);

  // Events of the origin's exchange.
  [[nodiscard]] Step on_progress(http::Response& response);
  [[nodiscard]] Step on_end(http::ExchangeEnd end, http::Response& response);
  // After Step::verified: the client's head has gone out.
  [[nodiscard]] Step release();
  // The bytes of ReadAction::send_body have been handed over; false: no more until on_writable().
  [[nodiscard]] Step on_sent(bool writable);
  [[nodiscard]] Step on_writable();
  // The client has taken nothing for a second.
  void on_untaken_time();
  // Ends it, whatever it waits for. Its origin's exchange is cancelled.
  void abandon();

  // Of the agreed answer. Requires start_verified().
  [[nodiscard]] const sketch::AnswerForm& form() const { return form_; }
  // After Step::refuted.
  [[nodiscard]] Evidence take_refutation() { return std::move(refutation_); }
  // A block that this origin has brought is another one than the list's, and another origin has
  // brought the list's since. Nothing: there is none.
  struct Suspect {
    NodeId replica = 0;
    std::size_t block = 0;
    Sha256::Digest digest{};  // of the origin's block
  };
  [[nodiscard]] std::optional<Suspect> take_divergence();

  [[nodiscard]] std::string_view wire() const {
    return is_ranged_ ? std::string_view(ranged_wire_) : base_wire();
  }
  [[nodiscard]] replica_client::FastForm asked() const {
    return {.piece_bytes = form_.blocks.block_bytes};
  }
  // The request for a range takes so much memory.
  [[nodiscard]] std::size_t request_bytes() const { return ranged_wire_.capacity(); }
  // The client has the head.
  [[nodiscard]] bool is_released() const { return is_released_; }

 private:
  enum class State : std::uint8_t {
    idle,
    parked,    // no origin is asked before the client takes more
    fetching,  // a piece is awaited, or the client
    checked,   // the first block is the list's: release() is due
    sending,   // on_sent() is due
  };
  // The exchange with the origin.
  enum class Origin : std::uint8_t { none, active, paused };
  // The worth of an answer's head. `useless`: no lie, and nothing to go on with.
  enum class Head : std::uint8_t { unseen, expected, other, useless };

  void begin(ReadGroup& group, Source source, bool may_begin);
  [[nodiscard]] Step ask_another();
  void ask(NodeId replica);
  void cancel_origin();
  [[nodiscard]] Head judge(const http::Response& response);
  [[nodiscard]] bool has_agreed_head(const http::Response& response);
  [[nodiscard]] Step on_other_head(const http::Response& response);
  [[nodiscard]] Step on_bad_block(std::string_view bytes);
  // The same origin is asked again, with constants. False: it was, or it is not owed that.
  [[nodiscard]] bool asks_with_constants();
  void take(http::Response& response);
  // Sends the next piece, if it is there and the client takes it.
  [[nodiscard]] Step advance();
  [[nodiscard]] Step send_block();
  [[nodiscard]] Step send_piece();
  [[nodiscard]] Step send(std::size_t size, std::size_t begin, std::size_t wanted);
  // The origin's exchange has ended, and what it brought is used up.
  [[nodiscard]] Step on_origin_exhausted();
  void wait_for_client();
  [[nodiscard]] Step finish(Step step);

  [[nodiscard]] bool has_origin() const { return origin_ != Origin::none; }
  [[nodiscard]] bool is_verified() const { return source_ != Source::unverified; }
  [[nodiscard]] bool must_match_head() const {
    return source_ == Source::remembered && !is_released_;
  }
  [[nodiscard]] std::string_view base_wire() const { return is_constant_ ? constant_wire_ : wire_; }
  [[nodiscard]] std::uint64_t fetch_begin() const { return form_.blocks.begin_of(block_); }
  [[nodiscard]] std::uint64_t fetch_end() const;
  [[nodiscard]] bool is_done() const {
    if (is_verified()) return block_ >= block_end_;
    if (!is_open_ended_) return left_ == 0;
    return has_ended_ && body_.empty() && state_ != State::sending;
  }

  ReadActions& actions_;
  LargeCounters& counters_;
  ReadGroup* group_ = nullptr;
  State state_ = State::idle;
  Source source_ = Source::remembered;
  BlockLists::List list_;
  sketch::AnswerForm form_;  // into list_
  std::string_view wire_;
  std::string_view constant_wire_;
  bool is_constant_ = false;  // the origin was, or will be, asked with constants
  std::string ranged_wire_;

  std::uint64_t first_ = 0;  // of the body, for the client
  std::uint64_t end_ = 0;    // likewise
  std::uint64_t left_ = 0;   // unverified: bytes that the client still wants
  bool is_open_ended_ = false;
  bool has_ended_ = false;     // of these: the origin has ended it in order
  std::size_t block_ = 0;      // verified: the next one
  std::size_t block_end_ = 0;  // verified
  bool is_released_ = false;   // the client has the head
  bool writable_ = true;
  bool untaken_armed_ = false;

  std::uint8_t slot_ = 0;
  NodeId replica_ = 0;
  Origin origin_ = Origin::none;
  bool is_ranged_ = false;
  Head head_ = Head::unseen;
  std::uint64_t skip_ = 0;            // bytes of the body before the wanted ones
  std::string body_;                  // brought by the origin, from the next piece on
  std::string piece_;                 // on its way to the client
  ReadGroup::ReplicaSet failed_ = 0;  // since the last good block
  ReadGroup::ReplicaSet refuted_ = 0;
  std::vector<Suspect> suspects_;
  std::vector<Suspect> divergent_;
  Evidence refutation_;
};

}  // namespace prophecy::sketcher
