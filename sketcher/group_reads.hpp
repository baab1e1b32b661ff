// The replicated reads of one worker and one group that are under way. Each brings the history up
// to date (Algorithm 1, paper, 3.3.1) before any client sees its answer, judges the fast answers
// that led to it, and answers all that wait for it.
//
// Equal reads share one: a read that comes while an equal one is under way waits for the same
// answer. That answer may be of a state before the late one came, as a fast read's may. Never,
// though, older than what a client has seen by way of the history: it is given to the late read if
// the history takes it, or holds an equal one by then, that is, if it would validate as a fast
// read's. Otherwise the late read is told to ask again. So it is if a write of the URI was answered
// meanwhile, by any worker, and the answer may be of a state before. Nothing joins a read that was
// begun before such a write was answered, or before any write of this worker. And a late one
// accuses nobody: the state may have changed behind the shared answer.
//
// Those that ask again share one call as well. That was begun after all of them came, so it is as
// much theirs as that of the one who began it, and each gets its answer, whatever the history
// holds: nobody asks a third time.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <boost/asio/io_context.hpp>

#include "history_table/history_table.hpp"
#include "replica_client/group.hpp"
#include "sketch/request_form.hpp"
#include "sketcher/core/read_algorithm.hpp"
#include "sketcher/core/refuted_answers.hpp"
#include "sketcher/core/sigma_order.hpp"
#include "sketcher/counters.hpp"
#include "sketcher/divergence.hpp"

namespace prophecy::sketcher {

// An answer of one origin that did not validate, until the group has judged it.
struct Evidence {
  NodeId replica = 0;
  // Of a body that is kept: a lying origin chooses how long its answers are.
  static constexpr std::size_t kBodyBytesMax = 64 << 10;

  std::uint16_t status = 0;
  Bytes head;
  std::string body;  // its beginning
  std::size_t body_bytes = 0;
  sketch::BlockList blocks{};  // of an answer in blocks; into block_digests
  Bytes block_digests;
  std::optional<Sketch> sketch;

  [[nodiscard]] sketch::AnswerForm form() const {
    return {.status = status, .head = head, .body = body, .blocks = blocks};
  }
};

class GroupReadWaiter {
 public:
  // The last call of each. Views are valid during it.
  virtual void on_group_answer(const sketch::AnswerForm& form,
                               const std::optional<Sketch>& sketch) = 0;
  virtual void on_group_failure(replica_client::ReplicatedFailure failure) = 0;
  // The history may hold a newer answer than the one that this read has waited for. It is to ask
  // again, at once or later.
  virtual void on_group_answer_outdated() = 0;

 protected:
  ~GroupReadWaiter() = default;
};

// The group whose reads they are.
class GroupReadHost {
 public:
  [[nodiscard]] virtual replica_client::ReplicaGroup& group() = 0;
  [[nodiscard]] virtual SigmaOrder& order() = 0;
  [[nodiscard]] virtual const WriteFloors& floors() const = 0;
  // s(r), of an answer that the history may hold.
  [[nodiscard]] virtual std::optional<Sketch> sketch_of(const sketch::AnswerForm& form) const = 0;
  // Counts and reports. Group and origin are filled in.
  virtual void report(Divergence& divergence) = 0;
  // An answer of this replica that was refuted is the group's by now.
  virtual void on_vindicated(NodeId replica) = 0;
  // The group's answer to this request was compared with what the history held.
  virtual void on_compared(const Sketch& key, bool transition) = 0;

 protected:
  ~GroupReadHost() = default;
};

class GroupReads {
 public:
  // Reads that go on although nobody waits for them.
  static constexpr std::size_t kUnwaitedMax = 256;

  GroupReads(boost::asio::io_context& loop, GroupReadHost& group, HistoryTable& table);
  ~GroupReads();
  GroupReads(const GroupReads&) = delete;
  GroupReads& operator=(const GroupReads&) = delete;

  // One client's read, as far as it has come.
  struct Asker {
    ReadAlgorithm algorithm;
    std::optional<Evidence> evidence;
    // Null: its client has been answered, and only the history and the judgement are wanted.
    GroupReadWaiter* waiter = nullptr;
    RequestCounters* counters = nullptr;  // of its route
    bool may_share = true;
    bool asks_again = false;  // it was told that an answer is outdated
  };
  // `key` is s(q) of `form`. The waiter is called later. False for a read without a waiter when
  // there are too many of them: then it is not done.
  bool ask(const Sketch& key, const sketch::RequestForm& form, std::string_view method,
           Asker asker);
  // An equal read is under way that this one would share.
  [[nodiscard]] bool would_share(const Sketch& key) { return find_joinable(key) != nullptr; }
  // Its client has left. What nobody waits for any more is cancelled, unless it brings up what is
  // out of date.
  void leave(GroupReadWaiter& waiter);
  // A write has been answered: later reads share nothing that is under way.
  void on_write() { ++writes_; }
  // The group agrees on this answer: now, or by what a fast read has found in the history.
  void on_agreed(const Sketch& key, const Sketch& answer) {
    if (!refuted_.empty()) vindicate(key, answer);
  }

 private:
  class Read;
  struct Place {
    std::uint64_t read;  // its number
    std::size_t asker;   // of those that share it
  };
  struct KeyHash {
    // s(q) is keyed: no client chooses it.
    std::size_t operator()(const Sketch& key) const;
  };

  [[nodiscard]] Read* find_joinable(const Sketch& key);
  void vindicate(const Sketch& key, const Sketch& answer);
  // It is destroyed once the call that is on the stack has returned.
  void remove(Read& read);

  boost::asio::io_context& loop_;
  GroupReadHost& group_;
  HistoryTable& table_;
  RefutedAnswers refuted_;
  std::uint64_t writes_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Read>> reads_;  // by number
  std::unordered_map<Sketch, std::uint64_t, KeyHash> joinable_;     // the newest of each key
  std::unordered_map<GroupReadWaiter*, Place> waiting_;
  std::uint64_t last_number_ = 0;
  std::size_t unwaited_ = 0;
};

}  // namespace prophecy::sketcher
