#include "http/pipeline/origin_pace.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace prophecy::http {
namespace {

// The quantile that is followed, and how fast: a step up weighs as much as 49 down.
constexpr float kQuantile = 0.98F;
constexpr float kQuantileStep = 0.5F;
constexpr float kQuantileMinUs = 20;
constexpr float kMeanShare = 1.0F / 16;
// A head, beside the body.
constexpr std::size_t kHeadBytes = 256;
constexpr std::uint32_t kBytesForgottenPart = 16;
// A close that fewer answers went before is no habit of the origin that is worth to be learned.
constexpr std::size_t kAnswersLearned = 2;

// SipHash-1-3.
class PathHash {
 public:
  explicit PathHash(const OriginPace::Key& key)
      : v0_(0x736f6d6570736575U ^ key.low),
        v1_(0x646f72616e646f6dU ^ key.high),
        v2_(0x6c7967656e657261U ^ key.low),
        v3_(0x7465646279746573U ^ key.high) {}

  std::uint64_t of(std::string_view text) {
    const std::uint64_t size = text.size();
    for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t)))
      add(word(text));
    add(word(text) | size << 56U);
    v2_ ^= 0xffU;
    for (int i = 0; i < 3; ++i)
      round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  static std::uint64_t word(std::string_view text) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), std::min(text.size(), sizeof word));
    return word;
  }
  void add(std::uint64_t word) {
    v3_ ^= word;
    round();
    v0_ ^= word;
  }
  void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

float microseconds_of(Duration duration) {
  return std::chrono::duration<float, std::micro>(duration).count();
}

}  // namespace

PathClass OriginPace::class_of(std::string_view wire) const {
  const std::size_t begin = std::min(wire.find(' '), wire.size() - 1) + 1;
  const std::size_t end = std::min(wire.find_first_of("? \r", begin), wire.size());
  return static_cast<PathClass>(PathHash(key_).of(wire.substr(begin, end - begin)) % kClasses);
}

bool OriginPace::may_share(PathClass of, TimePoint now) const {
  if (now < calm_from_ || credit_.is_paused(now)) return false;
  const Class& known = classes_[of];
  return known.answers >= kKnownAnswers && now - known.last <= kKnownFor &&
         !known.credit.is_paused(now) && known.quantile_us <= microseconds_of(kQuick);
}

OriginPace::Expected OriginPace::expected(PathClass of) const {
  const Class& known = classes_[of];
  const std::chrono::duration<float, std::micro> mean(known.mean_us);
  return {.time = std::chrono::duration_cast<Duration>(mean), .bytes = known.bytes};
}

Duration OriginPace::waited(TimePoint since, TimePoint now) const {
  Duration waited = now - since;
  if (now > tick_due_) waited -= now - tick_due_;
  if (since < slept_until_) waited -= slept_;
  return std::max(waited, Duration{});
}

void OriginPace::on_answer(PathClass of, Duration took, std::size_t bytes, TimePoint now) {
  Class& known = classes_[of];
  const float took_us = microseconds_of(took);
  bytes += kHeadBytes;
  known.last = now;
  if (known.answers == 0) {
    known.quantile_us = 2 * took_us;
    known.mean_us = took_us;
  }
  // The first answers count for more.
  if (known.answers < UINT16_MAX) ++known.answers;
  const float step = std::max(kQuantileStep * (1 - kQuantile), kQuantileStep / known.answers);
  known.quantile_us *= took_us > known.quantile_us ? 1 + kQuantileStep * kQuantile : 1 - step;
  known.quantile_us = std::max(known.quantile_us, kQuantileMinUs);
  known.mean_us += (took_us - known.mean_us) * kMeanShare;
  if (bytes >= known.bytes) {
    known.bytes = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, UINT32_MAX));
  } else {
    known.bytes -= (known.bytes - static_cast<std::uint32_t>(bytes)) / kBytesForgottenPart;
  }
  if (took > kLate) return;
  known.credit.earn();
  credit_.earn();
}

void OriginPace::on_late(PathClass of, std::size_t behind, TimePoint now) {
  on_still_late(now);
  if (behind > 0) lose(of, behind, now);
}

void OriginPace::on_closed(std::size_t answers, std::size_t unanswered, TimePoint now) {
  const bool is_learned = answers == answers_max_;
  answers_max_ = std::max(answers, kAnswersLearned);
  // They are asked again at once: it is the repetition that costs, and not how many there are.
  if (unanswered > 0 && !is_learned) credit_.lose(1, now);
}

bool OriginPace::on_tick(TimePoint now) {
  const Duration late = now - tick_due_;
  tick_due_ = now + kTick;
  if (late < kTick) {
    skipped_ = false;
    return true;
  }
  slept_ = late;
  slept_until_ = now;
  // Where each is late, every other one looks all the same.
  skipped_ = !skipped_;
  return !skipped_;
}

void OriginPace::lose(PathClass of, std::size_t reads, TimePoint now) {
  classes_[of].credit.lose(reads, now);
  credit_.lose(reads, now);
}

void OriginPace::Credit::earn() {
  constexpr std::int32_t kAnswersMax = kAnswersPerLoss * kLossesSaved;
  if (answers < kAnswersMax) ++answers;
  if (answers >= kAnswersMax / 4) backed_off = 0;
}

void OriginPace::Credit::lose(std::size_t reads, TimePoint now) {
  const auto lost = static_cast<std::int32_t>(std::min<std::size_t>(reads, kLossesSaved));
  answers -= lost * kAnswersPerLoss;
  if (answers >= 0) return;
  answers = 0;
  // Reads that were on their way when the origin turned slow are of the same time.
  if (is_paused(now)) return;
  paused_until = now + std::min(kBackOffMin * (1U << backed_off), kBackOffMax);
  if (kBackOffMin * (1U << backed_off) < kBackOffMax) ++backed_off;
}

}  // namespace prophecy::http
