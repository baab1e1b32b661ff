#include "bench/load/history_load.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "base/random.hpp"
#include "base/unique_fd.hpp"
#include "history_table/history_table.hpp"
#include "sketch/sketch.hpp"

namespace prophecy::tools {
namespace {

constexpr std::size_t kAnswerBytes = 1024;
// How many keys are known ahead, where any are: their buckets are fetched, and half as many lookups
// later what lies there.
constexpr std::uint64_t kAhead = 16;
// Between two looks at the clock.
constexpr std::uint64_t kBatch = 1024;

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

// As if it were a digest. Word by word: a copy of words that were just stored would wait for all
// lookups before it, and none would overlap.
Sketch sketch_number(std::uint64_t number) {
  const std::uint64_t first = mixed(number * 0x9e3779b97f4a7c15ULL + 1);
  const std::uint64_t second = number * 0xd6e8feb86659fd93ULL;
  const auto third = static_cast<std::uint32_t>(first + number);
  Sketch sketch;
  static_assert(sizeof sketch == sizeof first + sizeof second + sizeof third);
  std::memcpy(sketch.data(), &first, sizeof first);
  std::memcpy(sketch.data() + sizeof first, &second, sizeof second);
  std::memcpy(sketch.data() + sizeof first + sizeof second, &third, sizeof third);
  return sketch;
}

class Load {
 public:
  Load(const HistoryLoadSettings& settings, HistoryTable& table)
      : settings_(settings), table_(table) {
    table_.attach(0);
  }

  double fill() {
    const double began = processor_seconds();
    for (std::uint64_t key = 0; key < settings_.entries; ++key)
      table_.update(sketch_number(key), sketch_number(~key), ++sigma_);
    const double used = processor_seconds() - began;
    // Everything was read lately, as in a table that is in use.
    for (std::uint64_t key = 0; key < settings_.entries; ++key)
      found_ += table_.lookup(sketch_number(key)).has_value();
    return static_cast<double>(settings_.entries) / used;
  }

  double lookups() {
    return rate(
        [&](std::uint64_t key) { found_ += table_.lookup(sketch_number(key)).has_value(); });
  }
  double lookups_ahead() {
    std::array<std::uint64_t, kAhead> window{};
    std::uint64_t turn = 0;
    return rate([&](std::uint64_t key) {
      table_.prefetch(sketch_number(key));
      table_.prefetch_entry(sketch_number(window[(turn + kAhead / 2) % kAhead]));
      const std::uint64_t due = std::exchange(window[turn++ % kAhead], key);
      found_ += table_.lookup(sketch_number(due)).has_value();
    });
  }
  double updates() {
    return rate([&](std::uint64_t key) {
      ++sigma_;
      table_.update(sketch_number(key), sketch_number(sigma_), sigma_);
    });
  }
  // While another process does `other`: the rates of both.
  template <class Mine, class Other>
  Result<std::array<double, 2>> at_once(Mine mine, Other other);

  double sketch_micros() {
    const sketch::Profile profile;
    const std::array<std::uint8_t, sketch::kSecretSize> secret{};
    const sketch::SketchFunction function(sketch::DigestKind::gmac, secret, profile, "group");
    const std::array<std::uint8_t, 100> head{};
    std::string body(kAnswerBytes, 'x');
    const sketch::AnswerForm form{200, head, body};
    return 1e6 / rate([&](std::uint64_t key) {
             const Sketch sketch = sketch_number(key);
             const auto first = table_.lookup(sketch);
             body[0] = static_cast<char>(key);
             table_.prefetch_entry(sketch);
             const Sketch answer = function.of(form);
             const auto second = table_.lookup(sketch);
             found_ += first && second && second->answer == answer;
           });
  }

 private:
  // Calls of `act` with keys at random, a second of processor time.
  template <class Act>
  double rate(Act act) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(settings_.seconds);
    const double began = processor_seconds();
    std::uint64_t done = 0;
    do {
      for (std::uint64_t i = 0; i < kBatch; ++i) {
        random_ += 0x9e3779b97f4a7c15ULL;
        __extension__ using Wide = unsigned __int128;
        act(static_cast<std::uint64_t>(Wide{mixed(random_)} * settings_.entries >> 64));
      }
      done += kBatch;
    } while (std::chrono::steady_clock::now() < end);
    return static_cast<double>(done) / (processor_seconds() - began);
  }

  const HistoryLoadSettings& settings_;
  HistoryTable& table_;
  Sigma sigma_ = 0;
  std::uint64_t random_ = 1;
  std::uint64_t found_ = 0;  // makes lookups be of use
};

template <class Mine, class Other>
Result<std::array<double, 2>> Load::at_once(Mine mine, Other other) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return io_error("cannot make a pipe");
  const UniqueFd result(ends[0]);
  UniqueFd report(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return io_error("cannot fork");
  double rate = 0;
  if (child == 0) {
    table_.attach(1);
    random_ = 2;
    sigma_ += Sigma{1} << 40;
    rate = other();
    ::_exit(::write(report.get(), &rate, sizeof rate) == sizeof rate ? 0 : 1);
  }
  report.reset();
  const double own = mine();
  const bool told = ::read(result.get(), &rate, sizeof rate) == sizeof rate;
  ::waitpid(child, nullptr, 0);
  table_.declare_dead(1);
  if (!told) return Error{ErrorKind::unavailable, "the other process has failed"};
  return std::array<double, 2>{own, rate};
}

Result<HistoryTable> make_table(const HistoryLoadSettings& settings) {
  std::uint64_t seed = 0;
  SecureRandom().fill({reinterpret_cast<std::uint8_t*>(&seed), sizeof seed});
  if (!settings.file) return HistoryTable::create(settings.bytes, seed);
  return HistoryTable::open(*settings.file, settings.bytes, {}, seed, BlockStore::kBytesMin);
}

}  // namespace

Result<HistoryLoadReport> run_history_load(const HistoryLoadSettings& settings) {
  const auto memory = measure_memory(settings.bytes, settings.seconds);
  if (!memory) return memory.error();
  auto table = make_table(settings);
  if (!table) return table.error();
  HistoryLoadReport report;
  report.memory = *memory;
  report.bytes = table->bytes();
  report.huge_bytes = table->huge_bytes();
  Load load(settings, *table);
  report.inserts = load.fill();
  report.stats = table->stats();
  report.lookups = load.lookups();
  report.lookups_ahead = load.lookups_ahead();
  report.sketch_micros = load.sketch_micros();
  const auto two = load.at_once([&] { return load.lookups(); }, [&] { return load.lookups(); });
  if (!two) return two.error();
  report.lookups_of_two = (*two)[0] + (*two)[1];
  const auto mixed = load.at_once([&] { return load.lookups(); }, [&] { return load.updates(); });
  if (!mixed) return mixed.error();
  report.lookups_beside_updates = (*mixed)[0];
  report.updates = load.updates();
  return report;
}

}  // namespace prophecy::tools
