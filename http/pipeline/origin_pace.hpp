// `OriginPace` decides which reads of one origin may share a connection, for an OriginPool.
//
// Paths fall into classes by a keyed hash, so that clients cannot choose whose class they are in.
// Two times are kept apart for each class. An answer to a read alone takes what the network, the
// origin's queue and its processors take: a read on a connection to itself would wait as long. An
// answer behind others takes what it costs those behind it. A class is quick while a high quantile
// of the latter is small. Only reads of quick classes are put behind others, or have others behind
// them; what is expected in front of a read is bounded in time and in bytes. Behind an answer to a
// read alone goes a read that would wait about as long on a connection to itself. A class whose
// answers behind others are not known is tried: one read behind one other. Trials that do not go
// well are bounded by the number of answers.
//
// Losses decide in the end. A read loses when the answer in front of it is late, or when it waits
// behind others for too long. A class, and the origin as a whole, may cost one read in
// `kAnswersPerLoss`, and in addition as many as the origin's answers to reads alone are late, up to
// one in a hundred; one that costs more is asked one at a time for a quarter of a second, then for
// half, and so on. While an answer is late just now, no read is put behind another at this origin.
//
// Time that this process sleeps through is not the origin's: awake() is a clock that stands still
// meanwhile, and waited() takes an instant of that clock.
//
// An origin that closes its connections after so many answers is found out likewise: no more reads
// are sent on a connection than it will answer.
//
// Deterministic; single-threaded. `now` never runs backwards.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "http/pipeline/path_class.hpp"

namespace prophecy::http {

class OriginPace {
 public:
  static constexpr std::size_t kClasses = 512;  // a power of two
  // Expected in front of a read.
  static constexpr std::size_t kFrontBytesMax = 256 << 10;
  static constexpr Duration kFrontTimeMax = milliseconds(10);
  // A class is quick up to this quantile of its answers behind others.
  static constexpr Duration kQuick = milliseconds(10);
  // An answer at the front of a connection that takes longer costs those behind it. Where the
  // origin's answers to reads alone often take longer, an answer to a read alone has up to
  // `kLateMax`.
  static constexpr Duration kLate = milliseconds(30);
  static constexpr Duration kLateMax = milliseconds(60);
  // A class whose answers to reads alone take longer is not tried.
  static constexpr Duration kTriedMax = milliseconds(30);
  // A read may wait behind an answer to a read alone that takes up to so many times what the read
  // itself would take alone, or up to kFrontTimeMax.
  static constexpr float kFrontOverOwn = 1.5F;
  // A read that waits behind others for longer is asked elsewhere.
  static constexpr Duration kWaitMax = milliseconds(80);
  // How often an answer in time has to come for each read that loses.
  static constexpr std::int32_t kAnswersPerLoss = 400;
  // Saved up at most.
  static constexpr std::int32_t kLossesSaved = 32;
  static constexpr Duration kBackOffMin = milliseconds(250);
  static constexpr Duration kBackOffMax = seconds(64);
  // While connections are shared, on_tick() is called so often.
  static constexpr Duration kTick = milliseconds(5);
  // Answers of a class before it is known, and the time after which it is not known any more.
  static constexpr std::uint16_t kKnownAnswers = 3;
  static constexpr Duration kKnownFor = seconds(10);

  struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
  };
  // The cost of one answer to those behind it.
  struct Expected {
    Duration time{};
    std::size_t bytes = 0;
  };
  // A read was sent alone on its connection, or behind others.
  enum class Place : std::uint8_t { alone, behind };
  // The depth_max() of a class that is tried.
  static constexpr std::size_t kTriedDepth = 2;

  explicit OriginPace(const Key& key) : key_(key) {}

  // The class of the path in the first line of a request. Its query does not count.
  [[nodiscard]] PathClass class_of(std::string_view wire) const;
  // Requests that may be on a connection which such a read is on: 1, kTriedDepth, or any number.
  [[nodiscard]] std::size_t depth_max(PathClass of, TimePoint now) const;
  // Such a read may be put on a connection with this answer at its front, as far as the two
  // classes' times say.
  [[nodiscard]] bool may_follow(PathClass of, PathClass front, Place place, TimePoint now) const;
  [[nodiscard]] Expected expected(PathClass of, TimePoint now) const;
  // An answer at the front is late when it takes longer.
  [[nodiscard]] Duration late_after(Place place, TimePoint now) const;
  // Requests that one connection may carry from its first to its last.
  [[nodiscard]] std::size_t answers_max() const { return answers_max_; }
  // The clock that stands still while this process sleeps.
  [[nodiscard]] TimePoint awake(TimePoint now) const {
    return now - slept_ - std::max(now - tick_due_, Duration{});
  }
  [[nodiscard]] Duration waited(TimePoint since, TimePoint now) const { return awake(now) - since; }

  // A read is put behind another on a connection that may carry kTriedDepth.
  void on_tried() { trials_ -= kAnswersPerLoss; }
  // A read has been answered, that was at the front for this long.
  void on_answer(PathClass of, Place place, Duration took, std::size_t bytes, TimePoint now);
  // An answer at the front is late, or was; so many reads wait behind it. Once for each answer.
  void on_late(PathClass of, std::size_t behind, TimePoint now);
  // It still is.
  void on_still_late(TimePoint now) { calm_from_ = now + kLate; }
  // So many reads have waited for too long behind answers none of which was late by itself.
  void on_waited(PathClass front, std::size_t reads, TimePoint now) { lose(front, reads, now); }
  // A connection was closed by the origin after so many answers, with so many reads on it that it
  // has not answered.
  void on_closed(std::size_t answers, std::size_t unanswered, TimePoint now);
  // A connection stays open after so many answers.
  void on_kept(std::size_t answers) {
    if (answers >= answers_max_) answers_max_ = SIZE_MAX;
  }

  // The first tick is due.
  void begin_ticks(TimePoint now) { tick_due_ = now + kTick; }
  // False: it comes so late that answers may lie unread; it says nothing of the origin. Not twice
  // in a row: a process that is always late has to look as well.
  [[nodiscard]] bool on_tick(TimePoint now);
  void end_ticks() { tick_due_ = TimePoint::max(); }

 private:
  // The losses that a class, or the origin, may cost yet.
  struct Credit {
    std::int32_t answers = kAnswersPerLoss * kLossesSaved / 2;
    std::uint8_t backed_off = 0;  // times in a row
    TimePoint paused_until{};

    void earn(std::int32_t earned);
    void lose(std::size_t reads, TimePoint now);
    [[nodiscard]] bool is_paused(TimePoint now) const { return now < paused_until; }
  };
  struct Times {
    float quantile_us = 0;
    float mean_us = 0;
    std::uint16_t answers = 0;  // saturates
    TimePoint last{};

    [[nodiscard]] bool are_known(TimePoint now) const {
      return answers >= kKnownAnswers && now - last <= kKnownFor;
    }
    void note(Duration took, TimePoint now);
  };
  struct Class {
    Times alone;
    Times behind;
    std::uint32_t bytes = 0;
    Credit credit;

    [[nodiscard]] bool is_quick(TimePoint now) const;
  };

  void lose(PathClass of, std::size_t reads, TimePoint now);

  Key key_;
  Credit credit_;
  Times alone_;                                           // of classes that may be shared
  std::int32_t trials_ = kAnswersPerLoss * kLossesSaved;  // in answers
  float late_share_ = 0;   // of the answers to reads alone, of quick classes
  TimePoint calm_from_{};  // until then an answer is late, or was a moment ago
  std::size_t answers_max_ = SIZE_MAX;
  TimePoint tick_due_ = TimePoint::max();
  Duration slept_{};      // in all
  bool skipped_ = false;  // the last tick came too late
  std::array<Class, kClasses> classes_{};
};

}  // namespace prophecy::http
