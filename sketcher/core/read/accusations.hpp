// `Accusations` decides which answers that differ from the group's count against their origins.
//
// Disagreement alone proves no lie: correct origins differ in clocks, host names and counters, and
// a faulty origin may repeat what one of them says, so that f+1 agree on it. An origin is accused
// only where n - f members gave the agreed answer alike, and the history held that answer before,
// during and after the origin's own. Where the read carried visible exceptions (User-Agent, the
// client's address and others, docs/canonical-form.md), the same origin is first asked again with
// constants in their place, within a budget for each origin. That confirming read is judged as any
// fast read: its origin is accused only if its answer differs as well, and the group, asked once
// more, still agrees on what the history holds. An answer that says that its origin is busy (5xx,
// 408, 425, 429) accuses nobody; where the group agreed on another one, and the origin answers so
// to constants, it counts as a failure. Every other difference counts as noise of its origin, which
// nothing is held against.
//
// Where a confirming read brings the agreed answer, its key depends on the exceptions. For a while
// its differences at that origin are noise, and take no budget from other keys.
//
// An origin that was accused, and on whose answer the group agrees later, is vindicated: it was
// early, not wrong. A worker vindicates for votes only at its own calls, since other workers' calls
// are known to it by the history's sketches alone.
//
// One object for each worker and group. Deterministic.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/digest.hpp"
#include "canonical/request_form.hpp"
#include "http/exchange_end.hpp"
#include "replica_client/core/call.hpp"
#include "sketcher/core/read/evidence.hpp"
#include "sketcher/core/read/read_group.hpp"
#include "sketcher/core/read/refuted_answers.hpp"

namespace prophecy::sketcher {

// A read whose answer may accuse. Views are valid during the call.
struct AccusedRead {
  const Sketch& key;
  WriteFloors::Slot slot = 0;
  std::string_view method;
  std::string_view target;
  std::string_view authority;
};

class Accusations {
 public:
  // Confirming reads of one origin: so many at once, then one in an interval.
  static constexpr std::uint32_t kConfirmationsAtOnce = 10;
  static constexpr Duration kConfirmationInterval = seconds(1);
  // Confirming reads of one origin that are under way.
  static constexpr std::uint32_t kUnderWayMax = 4;

  // The same origin is to be asked once more, with the text of `form`.
  struct Confirmation {
    std::uint64_t number = 0;
    NodeId replica = 0;
    sketch::RequestForm form;  // with constants in place of the visible exceptions
    std::string method;
    Sketch key{};
    WriteFloors::Slot slot = 0;
    Sketch expected{};  // the history's answer when the origin was asked
    Sigma floor = 0;    // Evidence::floor
    RequestCounters* counters = nullptr;
  };
  // Its origin has answered otherwise again: the group has to judge `evidence`.
  struct Confirmed {
    Confirmation confirmation;
    Evidence evidence;
  };

  explicit Accusations(ReadGroup& group);

  // The group's answer has refuted `evidence`, and the history held the group's answer all the
  // while. `constant_wire` is empty when the read carried no exceptions: then the origin is accused
  // at once. Else a confirmation that the shell carries out, or null: the budget is used up.
  [[nodiscard]] const Confirmation* on_refuted_read(const AccusedRead& read,
                                                    const Evidence& evidence,
                                                    const sketch::AnswerForm& agreed,
                                                    const Sketch& agreed_sketch, Sigma sigma,
                                                    std::string constant_wire,
                                                    RequestCounters& counters, TimePoint now);
  // A confirming read has ended. `response` is meaningful when it was answered.
  [[nodiscard]] std::optional<Confirmed> on_confirmed(std::uint64_t number, http::ExchangeEnd end,
                                                      const http::Response& response,
                                                      TimePoint now);
  // Whether the group may be asked about a block of this origin's. Takes the budget of a confirming
  // read: a faulty origin chooses how often its blocks differ.
  [[nodiscard]] bool may_ask_about_block(NodeId replica, TimePoint now) {
    return pay(budgets_[replica], now);
  }
  // A difference that proves nothing.
  void note_noise(NodeId replica) { group_.counters(replica).noise.add(); }
  // A replica's vote differs from the agreed answer of a call. `is_settled`: the history held the
  // agreed answer when the call began, and holds it now. `key` is meaningful then.
  void on_refuted_vote(const replica_client::Refutation& vote, const Sketch& key, bool is_settled);

  // The group agrees on this answer: an origin that was accused of it was early, not wrong.
  void on_agreed(const Sketch& key, const Sketch& answer) {
    if (!refuted_.empty()) vindicate(refuted_.take(key, answer));
  }
  // Likewise, with the digest that votes have.
  void on_agreed_votes(const Sketch& key, const Sha256::Digest& digest);
  // Confirming reads.
  [[nodiscard]] std::size_t under_way() const { return confirmations_.size(); }

 private:
  // Of one origin: keys whose answers depend on the exceptions.
  struct DependentKeys {
    static constexpr std::size_t kKept = 64;
    static constexpr Duration kTime = seconds(30);
    struct Entry {
      Sketch key{};
      TimePoint until{};
    };
    [[nodiscard]] bool has(const Sketch& key, TimePoint now) const;
    void add(const Sketch& key, TimePoint now);
    std::array<Entry, kKept> last{};
    std::size_t next = 0;
  };
  // A leaky bucket.
  struct Budget {
    TimePoint paid_until{};
    std::uint32_t under_way = 0;
  };

  [[nodiscard]] bool take_budget(NodeId replica, TimePoint now);
  // Whether the bucket has room for one more.
  [[nodiscard]] static bool pay(Budget& budget, TimePoint now);
  // Counts an answer of a status that says that its origin is busy, or in trouble.
  [[nodiscard]] bool is_busy(NodeId replica, std::uint16_t status, bool is_settled);
  void accuse(const AccusedRead& read, const Evidence& evidence, const sketch::AnswerForm& agreed,
              const Sketch& agreed_sketch, Sigma sigma);
  void vindicate(ReadGroup::ReplicaSet early);

  ReadGroup& group_;
  RefutedAnswers refuted_;
  RefutedAnswers refuted_votes_;          // by the first bytes of their digests
  std::vector<Budget> budgets_;           // by replica
  std::vector<DependentKeys> dependent_;  // likewise
  std::map<std::uint64_t, Confirmation> confirmations_;
  std::uint64_t last_number_ = 0;
};

}  // namespace prophecy::sketcher
