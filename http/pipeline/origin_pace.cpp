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
// An answer to a read alone is late beyond so many times its quantile.
constexpr float kLateOverQuantile = 1.5F;
constexpr float kLateStep = 1.0F / 512;
// One client can make the answers of a whole class late, and so raise this share for every class.
constexpr float kLateShareMax = 0.01F;
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

bool OriginPace::Class::is_quick(TimePoint now) const {
  return behind.are_known(now) && behind.quantile_us <= microseconds_of(kQuick);
}

std::size_t OriginPace::depth_max(PathClass of, TimePoint now) const {
  if (now < calm_from_ || credit_.is_paused(now)) return 1;
  const Class& known = classes_[of];
  if (known.credit.is_paused(now)) return 1;
  if (known.is_quick(now)) return SIZE_MAX;
  const bool is_tried = !known.behind.are_known(now) && known.alone.are_known(now) &&
                        known.alone.mean_us <= microseconds_of(kTriedMax) &&
                        trials_ >= kAnswersPerLoss;
  return is_tried ? kTriedDepth : 1;
}

bool OriginPace::may_follow(PathClass of, PathClass front, Place place, TimePoint now) const {
  const Class& own = classes_[of];
  const Class& first = classes_[front];
  // A trial is for the class that is not known: a known one would learn nothing by it.
  if (own.behind.are_known(now) && !first.behind.are_known(now)) return false;
  if (place == Place::behind) return true;
  if (!first.alone.are_known(now)) return false;
  if (first.alone.mean_us <= microseconds_of(kFrontTimeMax)) return true;
  return own.alone.are_known(now) && first.alone.mean_us <= own.alone.mean_us * kFrontOverOwn;
}

OriginPace::Expected OriginPace::expected(PathClass of, TimePoint now) const {
  const Class& known = classes_[of];
  const float time_us = known.behind.are_known(now) ? known.behind.mean_us : 0;
  const std::chrono::duration<float, std::micro> mean(time_us);
  return {.time = std::chrono::duration_cast<Duration>(mean), .bytes = known.bytes};
}

Duration OriginPace::late_after(Place place, TimePoint now) const {
  if (place == Place::behind || !alone_.are_known(now)) return kLate;
  const std::chrono::duration<float, std::micro> usual(alone_.quantile_us * kLateOverQuantile);
  if (usual >= kLateMax) return kLateMax;
  return std::max(std::chrono::duration_cast<Duration>(usual), kLate);
}

void OriginPace::Times::note(Duration took, TimePoint now) {
  const float took_us = microseconds_of(took);
  // Times that are not known any more say nothing of those to come.
  if (answers == 0 || now - last > kKnownFor) {
    answers = 0;
    quantile_us = 2 * took_us;
    mean_us = took_us;
  }
  last = now;
  // The first answers count for more.
  if (answers < UINT16_MAX) ++answers;
  const float step = std::max(kQuantileStep * (1 - kQuantile), kQuantileStep / answers);
  quantile_us *= took_us > quantile_us ? 1 + kQuantileStep * kQuantile : 1 - step;
  quantile_us = std::max(quantile_us, kQuantileMinUs);
  mean_us += (took_us - mean_us) * kMeanShare;
}

void OriginPace::on_answer(PathClass of, Place place, Duration took, std::size_t bytes,
                           TimePoint now) {
  Class& known = classes_[of];
  bytes += kHeadBytes;
  const bool is_late = took > late_after(place, now);
  if (place == Place::alone) {
    if (known.is_quick(now)) late_share_ += ((is_late ? 1.0F : 0.0F) - late_share_) * kLateStep;
    known.alone.note(took, now);
    // Slow pages say nothing of how long others wait.
    if (known.alone.mean_us <= microseconds_of(kTriedMax)) alone_.note(took, now);
  } else {
    if (!known.behind.are_known(now) && took <= kQuick) trials_ += kAnswersPerLoss;
    known.behind.note(took, now);
  }
  if (bytes >= known.bytes) {
    known.bytes = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, UINT32_MAX));
  } else {
    known.bytes -= (known.bytes - static_cast<std::uint32_t>(bytes)) / kBytesForgottenPart;
  }
  trials_ = std::min(trials_ + 1, kAnswersPerLoss * kLossesSaved);
  if (is_late) return;
  const float share = std::min(late_share_, kLateShareMax);
  const auto earned = 1 + static_cast<std::int32_t>(share * kAnswersPerLoss);
  known.credit.earn(earned);
  credit_.earn(earned);
}

void OriginPace::on_late(PathClass of, std::size_t behind, TimePoint now) {
  // A class that is slow by itself, and costs nobody, says nothing of the others.
  if (behind == 0 && !classes_[of].is_quick(now)) return;
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
  const Duration late = std::max(now - tick_due_, Duration{});
  slept_ += late;
  tick_due_ = now + kTick;
  // Where each is late, every other one looks all the same.
  skipped_ = late >= kTick && !skipped_;
  return !skipped_;
}

void OriginPace::lose(PathClass of, std::size_t reads, TimePoint now) {
  classes_[of].credit.lose(reads, now);
  credit_.lose(reads, now);
}

void OriginPace::Credit::earn(std::int32_t earned) {
  constexpr std::int32_t kAnswersMax = kAnswersPerLoss * kLossesSaved;
  answers = std::min(answers + earned, kAnswersMax);
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
