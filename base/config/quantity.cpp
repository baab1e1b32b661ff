#include "base/config/quantity.hpp"

#include <charconv>
#include <span>

namespace prophecy {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr Unit kByteUnits[] = {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
constexpr Unit kTimeUnits[] = {
    {"us", 1}, {"ms", 1000}, {"s", 1'000'000}, {"m", 60'000'000}, {"h", 3'600'000'000}};

std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (text != unit.name) continue;
    if (number > UINT64_MAX / unit.factor) return std::nullopt;
    return number * unit.factor;
  }
  return std::nullopt;
}

std::string format_quantity(std::uint64_t value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) best = &unit;
  }
  return std::to_string(value / best->factor) + std::string(best->name);
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  return parse_quantity(text, kByteUnits);
}

std::string format_size(std::uint64_t bytes) {
  return format_quantity(bytes, kByteUnits);
}

std::optional<Duration> parse_time(std::string_view text) {
  const auto micros = parse_quantity(text, kTimeUnits);
  constexpr auto kMax = std::chrono::duration_cast<std::chrono::microseconds>(Duration::max());
  if (!micros || *micros > static_cast<std::uint64_t>(kMax.count())) return std::nullopt;
  return std::chrono::microseconds(*micros);
}

std::string format_time(Duration time) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  return format_quantity(static_cast<std::uint64_t>(micros), kTimeUnits);
}

}  // namespace prophecy
