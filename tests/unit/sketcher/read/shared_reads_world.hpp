// A group that answers when it is told to, and clients that read through the core of its reads.
#pragma once

#include <map>
#include <memory>

#ifndef REQUIRE  // tests/fuzz/expect.hpp
#include <catch2/catch.hpp>
#endif

#include "sketcher/core/policy/activity_layout.hpp"
#include "sketcher/core/read/group_core.hpp"

namespace prophecy::sketcher::shared_reads_test {

using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;

// A body of this kind comes with a Vary that names a field outside the key.
inline constexpr std::string_view kVarying = "varies";
// A body of this kind comes with a cookie.
inline constexpr std::string_view kCookie = "cookie";

inline Sketch key_of(char c) {
  Sketch key{};
  key[0] = static_cast<std::uint8_t>(c);
  return key;
}
inline const Sketch kKey = key_of('k');
inline const Partition kPartition = partition_of(table::tag_of(kKey));

class World : private Dice, private OriginReports {
 public:
  enum class Ring : std::uint8_t { none, of_others };

  explicit World(VolatilityLimits limits = VolatilityLimits::never(), Ring ring = Ring::none)
      : activity(activity_memory, {limits}), core(parts(ring)), reads(core.shared) {
    table.attach(0);
  }
  virtual ~World() = default;

  // The group answers call `number`; `is_strong`: n - f members alike.
  void answer(std::uint64_t number, const std::string& body, Sigma sigma,
              std::optional<Sigma> asked = std::nullopt, std::uint16_t status = 200,
              bool is_strong = true) {
    answer_in(number, encoded(body, status), sigma, asked, is_strong);
  }
  // By an answer's form, in its encoding.
  void answer_in(std::uint64_t number, Bytes encoded, Sigma sigma,
                 std::optional<Sigma> asked = std::nullopt, bool is_strong = true) {
    REQUIRE(calls.erase(number) == 1);
    if (is_strong) core.shared.on_strong_agreement(number, now);
    core.shared.on_answer(number, answer_of(std::move(encoded), sigma, asked), now);
    settle();
  }
  [[nodiscard]] static ReplicatedAnswer answer_of(Bytes encoded, Sigma sigma,
                                                  std::optional<Sigma> asked = std::nullopt) {
    ReplicatedAnswer answer;
    answer.sigma = sigma;
    answer.asked = asked;
    answer.storage = std::move(encoded);
    answer.form = *sketch::decode(answer.storage);
    answer.digest = digest(answer.form.body);
    return answer;
  }
  void fail(std::uint64_t number, ReplicatedFailure why = ReplicatedFailure::too_few_replicas) {
    REQUIRE(calls.erase(number) == 1);
    core.shared.on_failure(number, why);
    settle();
  }
  void leave(SharedReadWaiter& waiter) {
    reads.leave(waiter);
    perform();
  }
  // Carries out what the core asks for.
  void perform() {
    for (; !core.actions.empty(); core.actions.pop_front()) {
      const GroupAction& action = core.actions.front();
      if (action.kind == GroupAction::Kind::call) {
        calls.emplace(action.number, action.wire);
      } else if (action.kind == GroupAction::Kind::cancel) {
        calls.erase(action.number);
      } else {
        confirmations.push_back(action.number);
      }
    }
  }
  // And hands out the results.
  void settle() {
    perform();
    while (const auto result = reads.take_result()) {
      result->waiter->on_shared_result(*result);
      perform();
    }
  }
  void refute(std::uint64_t number, NodeId replica, std::uint16_t status = 200,
              std::string_view body = "a lie") {
    const Sha256::Digest voted = digest(body);
    replica_client::Refutation vote;
    vote.replica = replica;
    vote.vote_status = status;
    vote.vote_digest = voted;
    reads.on_refuted(number, vote);
  }
  void raise_floor(Sigma sigma) { floors.raise(floors.slot_of({}, {}), sigma); }
  [[nodiscard]] Bytes encoded(const std::string& body, std::uint16_t status) {
    http::Response response;
    response.status = status;
    response.body = body;
    if (body == kVarying) response.fields.add("vary", "User-Agent");
    if (body == kCookie) response.fields.add("set-cookie", "session=1");
    sketch::AnswerCanonicalizer canonicalizer(profile);
    sketch::AnswerForm form;
    REQUIRE(canonicalizer.canonicalize(response, false, form) == sketch::AnswerFault::none);
    return sketch::encode(form);
  }
  [[nodiscard]] Sketch sketch(const std::string& body) {
    const Bytes bytes = encoded(body, 200);
    return function.of(*sketch::decode(bytes));
  }
  [[nodiscard]] std::uint64_t noise() const {
    std::uint64_t noise = 0;
    for (const OriginCounters& origin : origins)
      noise += origin.noise.get();
    return noise;
  }
  // That votes have, in this world.
  [[nodiscard]] static Sha256::Digest digest(std::string_view body) {
    return sha256(as_bytes(body));
  }
  [[nodiscard]] std::uint64_t vindications(NodeId replica) const {
    return origins[replica].vindications.get();
  }

  // ---- With a ring: all partitions are ours at first, for `lease`, and for twice as long by the
  // group alone.
  static constexpr dht::Span lease = std::chrono::seconds(4);
  void set_word(dht::Stage stage, std::optional<Partition> partition = std::nullopt) {
    ++last_word;
    for (Partition each = 0; each < kPartitions; ++each) {
      if (each == partition.value_or(each)) permissions.set_owner(each, {last_word, stage, 1});
    }
  }
  void pass(dht::Span span) { timer.time += span; }

  HistoryTable table = *HistoryTable::create(HistoryTable::kBytesMin, 1);
  WriteFloors floors = table.floors(0);
  SigmaOrder order;
  TimePoint now{};
  std::uint32_t roll = 0;  // of the dice
  sketch::Profile profile;
  sketch::SketchFunction function{sketch::DigestKind::sha1,
                                  as_bytes("0123456789abcdef0123456789abcdef"), profile, "group"};
  std::array<OriginCounters, 4> origins{};
  alignas(64) std::array<std::byte, ActivityParts::kBytesMin> activity_memory{};
  ActivityTable activity;
  HealthView health;
  RequestCounters counters{};
  std::map<std::uint64_t, std::string> calls;  // under way: their texts
  std::vector<std::uint64_t> confirmations;    // that were asked for
  struct Accused {
    NodeId replica;
    std::string answer_digest;
  };
  std::vector<Accused> accused;
  struct Timer final : BootTimer {
    dht::BootTime time{};
    [[nodiscard]] dht::BootTime now() override { return time; }
  };
  std::vector<std::uint64_t> words =
      std::vector<std::uint64_t>(kPartitions + dht::Permissions::kExtraWords);
  dht::Permissions permissions{words};
  Timer timer;
  Acceptance acceptance{permissions, timer};
  std::uint64_t last_word = 0;
  GroupCore core;
  SharedReads& reads;

 private:
  [[nodiscard]] ReadGroupParts parts(Ring ring) {
    if (ring == Ring::of_others) {
      set_word(dht::Stage::taken);
      permissions.extend(timer.time + lease, timer.time + 2 * lease);
    }
    return {.table = table,
            .floors = floors,
            .order = order,
            .activity = activity,
            .profile = profile,
            .sketch = function,
            .health = health,
            .origins = origins,
            .faults = 1,
            .dice = *this,
            .reports = *this,
            .acceptance = ring == Ring::of_others ? &acceptance : nullptr};
  }
  std::uint32_t below(std::uint32_t bound) override { return roll % bound; }
  void report(Divergence& divergence) override {
    accused.push_back({divergence.replica, divergence.answer_digest});
  }
  void on_leak(NodeId, std::string_view) override {}
};

inline ReadAlgorithm read_of_unknown() {
  ReadAlgorithm algorithm;
  REQUIRE(algorithm.on_request(std::nullopt) == ReadStep::ask_group);
  return algorithm;
}

struct Client final : SharedReadWaiter {
  explicit Client(World& in) : world(in) {}
  ~Client() { world.leave(*this); }

  void ask(bool may_share = true) {
    REQUIRE(ask_with(kKey, read_of_unknown(), std::nullopt, may_share));
  }
  // After a fast answer that differed from `expected`.
  void ask_about(const std::string& answered, const std::string& expected) {
    Evidence evidence;
    evidence.replica = 2;
    evidence.status = 200;
    evidence.body = answered;
    evidence.sketch = world.sketch(answered);
    ask_with_evidence(std::move(evidence), world.sketch(expected));
  }
  void ask_with_evidence(Evidence evidence, const Sketch& expected) {
    ReadAlgorithm algorithm;
    const HistoryEntry entry{.answer = expected, .sigma = 1, .mark = Mark::none};
    REQUIRE(algorithm.on_request(entry) == ReadStep::ask_one);
    REQUIRE(algorithm.on_fast_answer(evidence.sketch, entry, false) == ReadStep::ask_group);
    const bool is_asked = ask_with(kKey, algorithm, std::move(evidence), true);
    REQUIRE(is_asked);
  }
  bool ask_with(const Sketch& key, ReadAlgorithm algorithm, std::optional<Evidence> evidence,
                bool may_share) {
    const bool is_asked = world.reads.ask(key, form, "GET",
                                          {.algorithm = algorithm,
                                           .evidence = std::move(evidence),
                                           .waiter = this,
                                           .counters = &world.counters,
                                           .may_share = may_share,
                                           .asks_again = is_told,
                                           .claim = world.core.group.claim(kPartition)});
    world.perform();
    return is_asked;
  }

  void on_shared_result(const SharedResult& result) override {
    switch (result.kind) {
      case SharedResult::Kind::answered:
        got.emplace_back(result.form->body);
        break;
      case SharedResult::Kind::failed:
        got.emplace_back("failed");
        break;
      case SharedResult::Kind::is_anothers:
        got.emplace_back("another's");
        break;
      case SharedResult::Kind::moved:
        got.emplace_back("moved");
        break;
      case SharedResult::Kind::outdated:
        got.emplace_back("outdated");
        is_told = true;
        if (asks_again) ask();
        break;
    }
  }

  World& world;
  sketch::RequestForm form;
  std::vector<std::string> got;
  bool asks_again = false;
  bool is_told = false;  // that an answer was outdated
};

using Got = std::vector<std::string>;

inline bool ask_unwaited(World& world, const Sketch& key) {
  const sketch::RequestForm form;
  const bool is_asked = world.reads.ask(key, form, "GET",
                                        {.algorithm = read_of_unknown(),
                                         .evidence = {},
                                         .waiter = nullptr,
                                         .counters = &world.counters,
                                         .may_share = true});
  world.perform();
  return is_asked;
}

}  // namespace prophecy::sketcher::shared_reads_test
