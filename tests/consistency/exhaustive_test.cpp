// The search against its simple twin, over random histories.
#include "consistency/exhaustive.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "consistency/delay_once.hpp"
#include "simulation/random.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::uint64_t kHistories = 100000;

// Some operations whose times are drawn close together, and whose values are mostly possible ones.
History draw(std::uint64_t seed) {
  simulation::Random random(seed);
  History history;
  const std::uint64_t count = random.between(2, 6);
  for (std::uint64_t i = 0; i < count; ++i) {
    Operation operation;
    operation.kind = random.chance(45) ? Kind::write : random.chance(15) ? Kind::audit : Kind::read;
    operation.invoked = static_cast<Instant>(random.below(16));
    operation.answered = operation.invoked + static_cast<Instant>(random.below(8));
    if (operation.kind == Kind::write && random.chance(40)) operation.kind = Kind::publish;
    if (is_write(operation.kind)) {
      operation.value = history.number_of("w" + std::to_string(i));
      if (random.chance(20)) {
        operation.answered = kNever;
      } else if (operation.kind == Kind::publish && random.chance(40)) {
        operation.acceptable =
            static_cast<Instant>(random.between(operation.invoked, operation.answered));
      }
    } else if (operation.kind == Kind::audit || random.chance(85)) {
      if (operation.kind == Kind::read && random.chance(40)) {
        operation.acceptable =
            static_cast<Instant>(random.between(operation.invoked, operation.answered));
      }
      const std::uint64_t written = random.below(count + 1);
      operation.value =
          written == count ? kInitial : history.number_of("w" + std::to_string(written));
    } else if (random.chance(50)) {
      operation.answered = kNever;
    }
    history.operations.push_back(operation);
  }
  return history;
}

}  // namespace

TEST_CASE("The search says what trying all instants says") {
  std::uint64_t valid = 0;
  std::uint64_t stricter = 0;
  std::uint64_t by_publishing = 0;  // would be right if publishes were only writes
  std::uint64_t by_acceptance = 0;  // would be right if it were not known when reads were accepted
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    History history = draw(seed);
    const bool expected = holds_by_trying_all(history);
    INFO("seed " << seed << "\n" << to_text({{"x", history}}));
    REQUIRE((decide(history).verdict == Verdict::holds) == expected);
    valid += expected ? 1 : 0;
    const bool holds_strictly = holds_by_trying_all(history, Instants::one);
    REQUIRE((expected || !holds_strictly));
    stricter += expected != holds_strictly ? 1 : 0;
    for (Operation& operation : history.operations)
      operation.acceptable = 0;
    by_acceptance += expected != holds_by_trying_all(history) ? 1 : 0;
    for (Operation& operation : history.operations) {
      if (operation.kind == Kind::publish) operation.kind = Kind::write;
    }
    by_publishing += !expected && holds_by_trying_all(history) ? 1 : 0;
  }
  // The comparison is worth something only where both kinds are frequent.
  CHECK(valid > kHistories / 20);
  CHECK(valid < kHistories / 20 * 19);
  CHECK(stricter > 0);
  CHECK(by_acceptance > 0);
  CHECK(by_publishing > 0);
}

}  // namespace prophecy::consistency
