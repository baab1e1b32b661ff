// A group that answers when it is told to, and clients that read through it.
#pragma once

#include <map>
#include <memory>

#include <catch2/catch.hpp>

#include "sketcher/group_reads.hpp"

namespace prophecy::sketcher::group_reads_test {

using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;
using replica_client::ReplicatedHandler;
using replica_client::ReplicatedKind;

// What a Vary has that names a field outside the key, here.
inline constexpr std::string_view kVarying = "varies";

// A group that answers when it is told to. The sketch of an answer is its body's first byte.
class World final : private replica_client::ReplicaGroup, private GroupReadHost {
 public:
  World() : reads(loop, static_cast<GroupReadHost&>(*this), table) { table.attach(0); }

  void answer(std::uint64_t call, const std::string& body, Sigma sigma,
              std::optional<Sigma> asked = std::nullopt, std::uint16_t status = 200) {
    ReplicatedHandler& handler = *calls.at(call);
    calls.erase(call);
    ReplicatedAnswer answer;
    answer.sigma = sigma;
    answer.asked = asked;
    answer.form.status = status;
    answer.form.body = body;
    handler.on_replicated_answer(std::move(answer));
    loop.restart();
    loop.poll();
  }
  void fail(std::uint64_t call, ReplicatedFailure why = ReplicatedFailure::too_few_replicas) {
    ReplicatedHandler& handler = *calls.at(call);
    calls.erase(call);
    handler.on_replicated_failure(why);
    loop.restart();
    loop.poll();
  }

  boost::asio::io_context loop;
  HistoryTable table = std::move(*HistoryTable::create(HistoryTable::kBytesMin, 1));
  std::map<std::uint64_t, ReplicatedHandler*> calls;  // under way
  std::vector<Divergence> divergences;
  std::vector<NodeId> vindicated;
  std::vector<bool> compared;  // each: with a transition
  RequestCounters counters;
  GroupReads reads;
  SigmaOrder order_;
  std::function<void()> meanwhile;  // after an answer was numbered, and before it is stored

 private:
  void start() override {}
  [[nodiscard]] std::uint32_t size() const override { return 4; }
  [[nodiscard]] std::uint32_t faults() const override { return 1; }
  void fast(http::OriginExchange&, NodeId, std::string_view,
            const replica_client::FastForm&) override {}
  std::uint64_t replicated(ReplicatedKind, std::string_view, const ByteSourcePtr&,
                           ReplicatedHandler& handler) override {
    calls[++last_call_] = &handler;
    return last_call_;
  }
  void cancel_replicated(std::uint64_t call) override { calls.erase(call); }

  ReplicaGroup& group() override { return *this; }
  SigmaOrder& order() override { return order_; }
  [[nodiscard]] const WriteFloors& floors() const override { return floors_; }
  [[nodiscard]] std::optional<Sketch> sketch_of(const sketch::AnswerForm& form) const override {
    if (meanwhile) meanwhile();
    if (!sketch::has_sketchable_status(form) || form.body == kVarying) return std::nullopt;
    return sketch(form.body[0]);
  }
  void report(Divergence& divergence) override { divergences.push_back(divergence); }
  void on_vindicated(NodeId replica) override { vindicated.push_back(replica); }
  void on_compared(const Sketch&, bool transition) override { compared.push_back(transition); }

 public:
  // Of what every read here asks for.
  void raise_floor(Sigma sigma) { floors_.raise(floors_.slot_of({}, {}), sigma); }

  static Sketch sketch(char c) {
    Sketch sketch{};
    sketch[0] = static_cast<std::uint8_t>(c);
    return sketch;
  }

 private:
  WriteFloors floors_ = table.floors(0);
  std::uint64_t last_call_ = 0;
};

inline const Sketch kKey = World::sketch('k');

struct Client final : GroupReadWaiter {
  explicit Client(World& in) : world(in) {}
  ~Client() { world.reads.leave(*this); }

  void ask(bool may_share = true) { REQUIRE(ask_with(read_of_unknown(), {}, may_share)); }
  // After a fast answer that differed from `expected`.
  void ask_about(char answered, char expected) {
    ReadAlgorithm algorithm;
    const HistoryEntry entry{.answer = World::sketch(expected), .sigma = 1};
    REQUIRE(algorithm.on_request(entry) == ReadStep::ask_one);
    REQUIRE(algorithm.on_fast_answer(World::sketch(answered), entry, false) == ReadStep::ask_group);
    Evidence evidence;
    evidence.replica = 2;
    evidence.status = 200;
    evidence.body.assign(1, answered);
    evidence.sketch = World::sketch(answered);
    const bool asked = ask_with(algorithm, std::move(evidence), true);
    REQUIRE(asked);
  }

  void on_group_answer(const sketch::AnswerForm& form, const std::optional<Sketch>&) override {
    got.emplace_back(form.body);
  }
  void on_group_failure(ReplicatedFailure) override { got.emplace_back("failed"); }
  void on_group_answer_outdated() override {
    got.emplace_back("outdated");
    is_told = true;
    if (asks_again) ask();
  }

  static ReadAlgorithm read_of_unknown() {
    ReadAlgorithm algorithm;
    REQUIRE(algorithm.on_request(std::nullopt) == ReadStep::ask_group);
    return algorithm;
  }

  World& world;
  std::vector<std::string> got;
  bool asks_again = false;
  bool is_told = false;  // that an answer was outdated

 private:
  bool ask_with(ReadAlgorithm algorithm, std::optional<Evidence> evidence, bool may_share) {
    return world.reads.ask(kKey, {}, "GET",
                           {.algorithm = algorithm,
                            .evidence = std::move(evidence),
                            .waiter = this,
                            .counters = &world.counters,
                            .may_share = may_share,
                            .asks_again = is_told});
  }
};

using Got = std::vector<std::string>;

inline bool ask_unwaited(World& world, const Sketch& key) {
  return world.reads.ask(key, {}, "GET",
                         {.algorithm = Client::read_of_unknown(),
                          .evidence = {},
                          .waiter = nullptr,
                          .counters = &world.counters,
                          .may_share = true});
}

}  // namespace prophecy::sketcher::group_reads_test
