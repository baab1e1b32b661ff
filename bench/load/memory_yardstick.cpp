#include "bench/load/memory_yardstick.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>

#include "history_table/memory.hpp"

namespace prophecy::tools {
namespace {

constexpr std::size_t kLineBytes = 64;
// Between two looks at the clock.
constexpr std::size_t kLooksAtOnce = 4096;

class Walk {
 public:
  explicit Walk(const table::Memory& memory)
      : lines_(memory.address()), count_(memory.size() / kLineBytes) {}

  // Of loads. Where they are dependent, each line's number takes what the one before holds:
  // nothing.
  template <bool kDependent>
  double rate(double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    const double began = processor_seconds();
    std::size_t done = 0;
    do {
      for (std::size_t i = 0; i < kLooksAtOnce; ++i)
        step<kDependent>();
      done += kLooksAtOnce;
    } while (std::chrono::steady_clock::now() < end);
    return static_cast<double>(done) / (processor_seconds() - began);
  }

 private:
  template <bool kDependent>
  void step() {
    random_ += 0x9e3779b97f4a7c15ULL + (kDependent ? seen_ : 0);
    std::uint64_t mixed = (random_ ^ random_ >> 30) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
    __extension__ using Wide = unsigned __int128;
    const auto line = static_cast<std::size_t>(static_cast<Wide>(mixed) * count_ >> 64);
    seen_ |= *reinterpret_cast<const volatile std::uint64_t*>(lines_ + line * kLineBytes);
  }

  const std::byte* lines_;
  std::size_t count_;
  std::uint64_t random_ = 1;
  std::uint64_t seen_ = 0;
};

}  // namespace

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

Result<MemoryYardstick> measure_memory(std::size_t bytes, double seconds) {
  const auto memory = table::Memory::anonymous(bytes);
  if (!memory) return memory.error();
  Walk walk(*memory);
  const double loads = walk.rate<false>(seconds);
  return MemoryYardstick{loads, 1e9 / walk.rate<true>(seconds)};
}

}  // namespace prophecy::tools
