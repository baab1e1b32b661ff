// One answer in blocks on its way to a client: the list of blocks is agreed on, the body comes from
// one origin after another, and no byte of a block goes on before the block's digest is the list's.
// States:
//
//   idle --start--> fetching <--(another origin)--+
//                      |                          |
//                      +---- the next block ------+--> idle
//
// When an origin fails, or brings another block than the list's, the rest comes from another one,
// by a range. When the client is slow, nothing is read from the origin: no more is held than a
// block that is read, and one that is sent. When it has not taken that one within a second, the
// origin's connection is let go, and the block that was read: others may need them. Once it takes
// more, an origin is asked for the rest.
//
// A list that is remembered is judged like any fast read: the origin's head is the agreed one, and
// what it says first is the first block that is wanted; anything else refutes it, and it is for the
// group to say what holds. A list that the group has agreed on for this very request is tried at
// every origin.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/client/origin_exchange.hpp"
#include "sketch/answer_form.hpp"
#include "sketcher/worker_context.hpp"

namespace prophecy::sketcher {

enum class LargeEnd : std::uint8_t {
  complete,
  outdated,  // the owner would not release it
  failed,    // no origin has brought the first block; nothing has been released
  broken,    // no origin has the rest
};

class LargeAnswerOwner {
 public:
  // An origin has answered a fast read otherwise than remembered. The last call.
  virtual void on_large_refuted(NodeId replica, const sketch::AnswerForm& answer) = 0;
  // The first block is right. False: it may not be released. May abandon.
  virtual bool on_large_verified(const sketch::AnswerForm& form) = 0;
  // Bytes for the client, in `storage`, which may be swapped out. False: no more until
  // on_writable(). May abandon.
  virtual bool on_large_bytes(std::string& storage, std::size_t begin, std::size_t size) = 0;
  // A block that this origin has brought is another one than the list's and another origin's.
  virtual void on_large_divergence(NodeId replica, std::uint64_t offset) = 0;
  // The last call. May start the next.
  virtual void on_large_end(LargeEnd end) = 0;

 protected:
  ~LargeAnswerOwner() = default;
};

class LargeAnswer final : private http::OriginHandler, private TimeoutEntry {
 public:
  enum class Source : std::uint8_t { remembered, agreed };

  LargeAnswer(WorkerContext& context, LargeAnswerOwner& owner)
      : context_(context), owner_(owner), exchange_(*this) {}

  // `list` is a form in blocks; the client wants `size` bytes of its body, from `first` on. Where
  // it wants none, one block is fetched to see whether the answer still holds. `wire` is the
  // request for the origin, a GET, and stays as it is until the end. Unless it `may_begin`, no
  // origin is asked before on_writable().
  void start(GroupContext& group, Source source, BlockLists::List list, std::uint64_t first,
             std::uint64_t size, std::string_view wire, bool may_begin);
  // The client takes more.
  void on_writable();
  void abandon();
  // Of the request for a range.
  [[nodiscard]] std::size_t request_bytes() const { return ranged_wire_.capacity(); }

 private:
  // What the head of an origin's answer is worth.
  // `useless`: no lie, and nothing to go on with.
  enum class Head : std::uint8_t { unseen, expected, other, useless };
  struct Suspect {
    NodeId replica;
    std::size_t block;
  };

  void on_exchange_progress(http::OriginExchange& exchange, http::Response& response) override;
  void on_exchange_end(http::OriginExchange& exchange, http::ExchangeEnd end,
                       http::Response& response) override;

  // The client has not taken what it has.
  void on_timeout() override;
  void wait_for_client();
  void ask_another();
  void ask(NodeId replica);
  [[nodiscard]] Head judge(const http::Response& response);
  [[nodiscard]] bool has_agreed_head(const http::Response& response);
  void on_other_head(const http::Response& response);
  void take(http::Response& response);
  // As many blocks as there are, and as the client takes. False: the exchange is not ours any more.
  [[nodiscard]] bool deliver();
  [[nodiscard]] bool deliver_block();
  void on_bad_block(std::string_view bytes);
  void release();
  void finish(LargeEnd end);
  [[nodiscard]] bool must_match_head() const { return source_ == Source::remembered && !released_; }
  [[nodiscard]] std::uint64_t fetch_begin() const { return form_.blocks.begin_of(block_); }
  [[nodiscard]] std::uint64_t fetch_end() const;

  WorkerContext& context_;
  LargeAnswerOwner& owner_;
  GroupContext* group_ = nullptr;
  http::OriginExchange exchange_;
  bool fetching_ = false;
  Source source_ = Source::remembered;
  BlockLists::List list_;
  sketch::AnswerForm form_;  // into list_
  std::uint64_t first_ = 0;  // of the body, for the client
  std::uint64_t end_ = 0;
  std::string_view wire_;
  std::string ranged_wire_;

  std::size_t block_ = 0;  // the next one
  std::size_t block_end_ = 0;
  bool released_ = false;  // the client has some of it
  bool writable_ = true;   // the client takes more
  bool parked_ = false;    // before it does, no origin is asked

  NodeId replica_ = 0;
  bool ranged_ = false;                    // it was asked for a range
  Head head_ = Head::unseen;               // of its answer
  std::uint64_t skip_ = 0;                 // bytes of its body before the block
  std::string body_;                       // what it has brought, from the block on
  std::string block_bytes_;                // a block on its way to the client
  replica_client::ReplicaSet failed_ = 0;  // since the last good block
  replica_client::ReplicaSet refuted_ = 0;
  std::vector<Suspect> suspects_;
};

}  // namespace prophecy::sketcher
