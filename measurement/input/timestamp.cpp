#include "measurement/input/timestamp.hpp"

#include <chrono>

namespace prophecy::measurement {
namespace {

constexpr Microseconds kSecond = 1'000'000;

// Takes exactly `digits` digits off the text.
bool take(std::string_view& text, std::size_t digits, int& value) {
  if (text.size() < digits) return false;
  value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

struct CivilTime {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

std::optional<Microseconds> since_epoch(const CivilTime& time) {
  const std::chrono::year_month_day date{std::chrono::year(time.year),
                                         std::chrono::month(static_cast<unsigned>(time.month)),
                                         std::chrono::day(static_cast<unsigned>(time.day))};
  // A leap second is the second after it.
  if (!date.ok() || time.hour > 23 || time.minute > 59 || time.second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + time.hour) * 60 + time.minute) * 60 * kSecond + time.second * kSecond;
}

bool take_fraction(std::string_view& text, Microseconds& micros) {
  Microseconds unit = kSecond / 10;
  std::size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++digits) {
    micros += (text.front() - '0') * unit;
    unit /= 10;
    text.remove_prefix(1);
  }
  return digits > 0;
}

}  // namespace

std::optional<Microseconds> parse_iso_time(std::string_view text) {
  CivilTime time;
  if (!take(text, 4, time.year) || !take(text, '-') || !take(text, 2, time.month) ||
      !take(text, '-') || !take(text, 2, time.day) || !take(text, 'T') ||
      !take(text, 2, time.hour) || !take(text, ':') || !take(text, 2, time.minute) ||
      !take(text, ':') || !take(text, 2, time.second)) {
    return std::nullopt;
  }
  auto micros = since_epoch(time);
  if (!micros) return std::nullopt;
  if (take(text, '.') && !take_fraction(text, *micros)) return std::nullopt;
  if (text == "Z") return micros;
  const bool west = take(text, '-');
  int hours = 0;
  int minutes = 0;
  if ((!west && !take(text, '+')) || !take(text, 2, hours)) return std::nullopt;
  take(text, ':');
  if (!take(text, 2, minutes) || !text.empty()) return std::nullopt;
  const Microseconds offset = (hours * 60 + minutes) * 60 * kSecond;
  return west ? *micros + offset : *micros - offset;
}

std::optional<Microseconds> parse_digits_time(std::string_view text) {
  CivilTime time;
  if (!take(text, 4, time.year) || !take(text, 2, time.month) || !take(text, 2, time.day) ||
      !take(text, 2, time.hour) || !take(text, 2, time.minute) || !take(text, 2, time.second) ||
      !text.empty()) {
    return std::nullopt;
  }
  return since_epoch(time);
}

std::string iso_time(Microseconds time) {
  const std::chrono::sys_time<std::chrono::microseconds> point{std::chrono::microseconds(time)};
  const auto day = std::chrono::floor<std::chrono::days>(point);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(point - day);
  std::string text;
  const auto add = [&](std::int64_t number, std::size_t digits, std::string_view behind) {
    const std::string written = std::to_string(number);
    text.append(digits > written.size() ? digits - written.size() : 0, '0');
    text.append(written).append(behind);
  };
  add(int{date.year()}, 4, "-");
  add(unsigned{date.month()}, 2, "-");
  add(unsigned{date.day()}, 2, "T");
  add(clock.hours().count(), 2, ":");
  add(clock.minutes().count(), 2, ":");
  add(clock.seconds().count(), 2, ".");
  add(clock.subseconds().count(), 6, "Z");
  return text;
}

}  // namespace prophecy::measurement
