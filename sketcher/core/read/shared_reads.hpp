// `SharedReads` holds the replicated reads of one worker and one group that are under way. Each
// call brings the history up to date (Algorithm 1, paper, section 3.3.1) before any client sees its
// answer, judges the fast answers that led to it, and answers the reads that wait for it.
//
// Equal reads share one call: the group is asked with constants in place of everything that is not
// in the key, so the text that it is asked with is the same for all of them. A read that joins a
// call may be given an answer of a state before it came, as a fast read may. It is never given an
// answer older than what a client has seen by way of the history: the late read is given the call's
// answer if the history takes it, or holds an equal one by then. Otherwise the late read asks
// again. So it does if a write of the URI was answered meanwhile, by any worker. No read joins a
// call that was begun before such a write was answered, or before any write of this worker.
//
// An answer that was made for one request alone (Set-Cookie, or a Vary that names a field outside
// the key) goes to the read that began the call; the others ask for themselves.
//
// Reads that ask again share one call as well. It was begun after all of them came, so its answer
// is as much theirs as the first one's, whatever the history holds: no read asks a third time.
//
// In a ring, a call has the claim of the read that began it (acceptance.hpp). Reads of another
// claim do not join it. Its answer is recorded and given only if it may be accepted when it comes.
//
// Events come in, GroupActions go out. Deterministic; single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "canonical/request_form.hpp"
#include "replica_client/core/call.hpp"
#include "sketcher/core/read/accusations.hpp"
#include "sketcher/core/read/read_algorithm.hpp"
#include "sketcher/core/read/read_group.hpp"

namespace prophecy::sketcher {

// What the shell of one group is to do, in this order.
struct GroupAction {
  enum class Kind : std::uint8_t {
    call,     // ask the group for `form`, by the text `wire`: on_answer() or on_failure()
    cancel,   // a call
    confirm,  // ask one origin: on_confirmed()
  };
  Kind kind{};
  std::uint64_t number = 0;                   // of the call, or of the confirmation
  const sketch::RequestForm* form = nullptr;  // valid until the next event
  std::string wire{};                         // with constants in place of the visible exceptions
  std::string_view method{};                  // likewise
  const Accusations::Confirmation* confirmation = nullptr;
};
using GroupActions = std::deque<GroupAction>;

struct SharedResult;

class SharedReadWaiter {
 public:
  // The last call of each ask().
  virtual void on_shared_result(const SharedResult& result) = 0;

 protected:
  ~SharedReadWaiter() = default;
};

struct SharedResult {
  enum class Kind : std::uint8_t {
    answered,
    failed,
    outdated,     // the history may hold a newer answer: ask again
    is_anothers,  // the answer was made for another request: ask alone
    moved,        // it may not be accepted here: ask the owner of now, from the beginning
  };
  Kind kind{};
  SharedReadWaiter* waiter = nullptr;
  const sketch::AnswerForm* form = nullptr;  // answered; valid during the call
  std::optional<Sketch> sketch{};
  replica_client::ReplicatedFailure failure{};
};

class SharedReads {
 public:
  // Reads that go on although no client waits for them.
  static constexpr std::size_t kUnwaitedMax = 256;
  // Likewise, about an origin that has answered otherwise twice. They have places of their own: no
  // client keeps an origin from being judged.
  static constexpr std::size_t kJudgingMax = 64;

  SharedReads(ReadGroup& group, Accusations& accusations, GroupActions& actions);
  ~SharedReads();
  SharedReads(const SharedReads&) = delete;
  SharedReads& operator=(const SharedReads&) = delete;

  // One client's read, as far as it has come.
  struct Asker {
    ReadAlgorithm algorithm;
    std::optional<Evidence> evidence;
    // Null: its client has been answered, and only the history and the judgement are wanted.
    SharedReadWaiter* waiter = nullptr;
    RequestCounters* counters = nullptr;  // of its route
    bool may_share = true;
    bool asks_again = false;  // it was told that an answer is outdated
    Claim claim{};
  };
  // `key` is s(q) of `form`. False for a read without a waiter when there are too many of them:
  // then it is not done.
  [[nodiscard]] bool ask(const Sketch& key, const sketch::RequestForm& form,
                         std::string_view method, Asker asker);
  // An equal read is under way that this one would share.
  [[nodiscard]] bool would_share(const Sketch& key, const Claim& claim) {
    return find_joinable(key, claim) != nullptr;
  }
  // The waiter's client has left. A call that no client waits for any more is cancelled, unless it
  // brings up what is out of date.
  void leave(SharedReadWaiter& waiter);
  // A write has been answered: later reads share no call that is under way.
  void on_write() { ++writes_; }

  // Events of the calls. Afterwards the shell takes the results, one by one.
  void on_answer(std::uint64_t number, replica_client::ReplicatedAnswer answer, TimePoint now);
  void on_failure(std::uint64_t number, replica_client::ReplicatedFailure failure);
  // A confirming read has ended.
  void on_confirmed(std::uint64_t number, http::ExchangeEnd end, const http::Response& response,
                    TimePoint now);
  // An origin's block differs from that of a list which the history held when the read of `key`
  // began, and another origin has brought the list's. The group is asked once more, since the list
  // itself may be of a few members that a faulty one has joined. `evidence` has the wrong block.
  void on_refuted_block(const Sketch& key, const sketch::RequestForm& form, std::string_view method,
                        const Sketch& list, Evidence evidence, RequestCounters& counters,
                        TimePoint now);
  // A replica's vote differs from the agreed one. It may come before the call's answer, or later.
  // `number` is 0 for a call that is none of these reads.
  void on_refuted(std::uint64_t number, const replica_client::Refutation& vote);
  // n - f members have given the call's answer: before it is known, or later.
  void on_strong_agreement(std::uint64_t number, TimePoint now);
  // The next result that is due. Between two calls any waiter may leave, or ask again.
  [[nodiscard]] std::optional<SharedResult> take_result();

  // Calls under way, and what waits for them.
  [[nodiscard]] std::size_t calls() const { return reads_.size(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Read;
  struct Place {
    Read* read;
    std::size_t asker;  // of those that share it
  };
  struct Judgement;
  struct KeyHash {
    // s(q) is keyed: no client chooses it.
    std::size_t operator()(const Sketch& key) const;
  };
  // Judgements that wait for strong agreement, or late votes. Each holds two answers at most, of
  // Evidence::kBodyBytesMax.
  static constexpr std::size_t kJudgementsKept = 128;

  [[nodiscard]] Read* find_joinable(const Sketch& key, const Claim& claim);
  [[nodiscard]] bool has_place(bool is_judgement) const;
  [[nodiscard]] Read& begin(const Sketch& key, const sketch::RequestForm& form,
                            std::string_view method, Asker& asker);
  // Asks the group to judge `evidence`, which differs from what the history holds. False: too many
  // such calls are under way.
  [[nodiscard]] bool ask_about(const Sketch& key, const sketch::RequestForm& form,
                               std::string_view method, const Sketch& held, Evidence evidence,
                               RequestCounters& counters);
  // Whether the answer may be accepted. Then the history is brought up to date in the same turn.
  [[nodiscard]] bool accept(Read& read, const replica_client::ReplicatedAnswer& answer);
  void update_history(Read& read, const replica_client::ReplicatedAnswer& answer);
  [[nodiscard]] bool is_behind_write(const Read& read,
                                     const replica_client::ReplicatedAnswer& answer,
                                     Sigma placed) const;
  [[nodiscard]] bool is_out_of_date(const Read& read);
  void judge(Read& read, const sketch::AnswerForm& form, Sigma sigma, TimePoint now);
  void carry_out(Judgement& judgement, TimePoint now);
  void give_up(const Judgement& judgement);
  void judge_vote(const Judgement& judgement, const replica_client::Refutation& vote);
  // The judgement on a call that has ended; null: it is too old, or none.
  [[nodiscard]] Judgement* find_judgement(std::uint64_t number);
  // The call is over: no read joins it. Its waiters get their results.
  void end(std::unordered_map<std::uint64_t, std::unique_ptr<Read>>::iterator found);
  [[nodiscard]] SharedResult result_for(const Read& read, const Asker& asker, bool is_late) const;

  ReadGroup& group_;
  Accusations& accusations_;
  GroupActions& actions_;
  std::uint64_t writes_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Read>> reads_;  // by number
  std::unordered_map<Sketch, Read*, KeyHash> joinable_;             // the newest of each key
  std::unordered_map<SharedReadWaiter*, Place> waiting_;
  std::deque<std::unique_ptr<Read>> ended_;  // whose waiters have not all got their results
  std::array<std::unique_ptr<Judgement>, kJudgementsKept> judgements_;  // by number
  std::uint64_t last_number_ = 0;
  std::size_t unwaited_ = 0;
  std::size_t judging_ = 0;
  Accusations::Confirmation confirmed_;  // the last one; a call action refers to it
};

}  // namespace prophecy::sketcher
