// The delay-once property (paper, section 4.1) of Algorithm 1 with the real history table, over
// seeded interleavings of concurrent reads, writes that bypass the sketcher, and origins that
// answer with any state they ever had. A replicated read never gets an older state than was
// answered to anybody before it began; a fast read, since it takes its place in the history where
// it is accepted (section 4.2), none older than was answered before that. The same check has to
// find broken variants.
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "history_table/history_table.hpp"
#include "sketcher/core/read_algorithm.hpp"

namespace prophecy::sketcher {
namespace {

enum class Variant {
  correct,
  one_lookup,
  update_ignores_sigma,
  // A group without an order: its answer is of any state between question and answer.
  votes,
  votes_numbered_when_asked,
};

// State number n of the service, as a sketch and as a sigma.
Sketch sketch_of(std::uint32_t state) {
  Sketch sketch{};
  sketch[0] = static_cast<std::uint8_t>(state >> 8);
  sketch[1] = static_cast<std::uint8_t>(state);
  sketch[19] = 1;
  return sketch;
}

struct Read {
  enum class Waits { for_origin, for_group, for_delivery, nothing };
  ReadAlgorithm algorithm;
  ReadAlgorithm::Lookup first;
  Waits waits = Waits::nothing;
  std::uint32_t answer = 0;  // a state
  std::uint32_t floor = 0;   // no older state than this may be delivered
  Sigma sigma = 0;
  bool answers_late = false;  // a vote, with the state at its end
};

class World {
 public:
  World(std::uint64_t seed, Variant variant)
      : random_(seed), variant_(variant), table_(*HistoryTable::create(1 << 16, seed)) {
    table_.attach(0);
  }

  // True when no read got an older state than it may.
  bool run() {
    std::vector<Read> reads(4);
    for (int step = 0; step < 400; ++step) {
      if (below(6) == 0) ++state_;
      if (!advance(reads[below(reads.size())])) return false;
    }
    return true;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  bool advance(Read& read) {
    switch (read.waits) {
      case Read::Waits::nothing:
        start(read);
        return true;
      case Read::Waits::for_origin:
        on_fast_answer(read);
        return true;
      case Read::Waits::for_group:
        on_group_answer(read);
        return true;
      case Read::Waits::for_delivery:
        read.waits = Read::Waits::nothing;
        if (read.answer < read.floor) return false;
        delivered_ = std::max(delivered_, read.answer);
        return true;
    }
    return false;
  }

  void start(Read& read) {
    read = Read{};
    read.floor = delivered_;
    read.first = table_.lookup(kKey);
    if (read.algorithm.on_request(read.first) == ReadStep::ask_group) return ask_group(read);
    // A faulty or lagging origin: any state up to the present.
    read.answer = 1 + static_cast<std::uint32_t>(below(state_));
    read.waits = Read::Waits::for_origin;
  }

  void on_fast_answer(Read& read) {
    const auto second = variant_ == Variant::one_lookup ? read.first : table_.lookup(kKey);
    const ReadStep step = read.algorithm.on_fast_answer(sketch_of(read.answer), second, false);
    if (step == ReadStep::ask_group) return ask_group(read);
    read.floor = delivered_;
    read.waits = Read::Waits::for_delivery;
  }

  // The group executes at this instant; its answer arrives whenever the read is next advanced.
  void ask_group(Read& read) {
    read.answer = state_;
    read.answers_late = is_vote() && below(2) == 0;
    // A vote is numbered when it ends.
    read.sigma = variant_ == Variant::votes ? Sigma{sequence_} : Sigma{++sequence_};
    read.waits = Read::Waits::for_group;
  }

  [[nodiscard]] bool is_vote() const {
    return variant_ == Variant::votes || variant_ == Variant::votes_numbered_when_asked;
  }

  void on_group_answer(Read& read) {
    if (read.answers_late) read.answer = state_;
    const Verdict verdict = read.algorithm.on_replicated_answer(sketch_of(read.answer));
    if (variant_ == Variant::votes) {
      static_cast<void>(
          table_.update_unordered(kKey, verdict.update, read.sigma, Sigma{++sequence_}));
    } else {
      const bool ignores = variant_ == Variant::update_ignores_sigma;
      static_cast<void>(
          table_.update(kKey, verdict.update, ignores ? Sigma{++sequence_} : read.sigma));
    }
    read.waits = Read::Waits::for_delivery;
  }

  static constexpr Sketch kKey{1, 2, 3};

  std::mt19937_64 random_;
  Variant variant_;
  HistoryTable table_;
  std::uint32_t state_ = 1;
  std::uint32_t delivered_ = 0;
  std::uint64_t sequence_ = 0;
};

int violations(Variant variant, std::uint64_t seeds) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (World(seed, variant).run()) continue;
    ++found;
    if (variant == Variant::correct || variant == Variant::votes) UNSCOPED_INFO("seed " << seed);
  }
  return found;
}

}  // namespace

TEST_CASE("Reads are delay-once consistent over seeded interleavings") {
  CHECK(violations(Variant::correct, 5000) == 0);
}

TEST_CASE("So they are with a group without an order") {
  CHECK(violations(Variant::votes, 5000) == 0);
}

TEST_CASE("Votes whose number says when they were asked for are found out") {
  CHECK(violations(Variant::votes_numbered_when_asked, 200) > 0);
}

TEST_CASE("One lookup instead of two is found out") {
  CHECK(violations(Variant::one_lookup, 200) > 0);
}

TEST_CASE("An update without comparing sigma is found out") {
  CHECK(violations(Variant::update_ignores_sigma, 200) > 0);
}

}  // namespace prophecy::sketcher
