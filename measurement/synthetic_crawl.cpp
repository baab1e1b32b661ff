#include "measurement/synthetic_crawl.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace prophecy::measurement {
namespace {

constexpr std::uint32_t kUrlsOfHost = 25;
constexpr std::size_t kTextBytes = 256 << 10;
constexpr Microseconds kSecond = 1'000'000;
constexpr Microseconds kStart = 1'748'779'200 * kSecond;  // 2025-06-01T12:00:00Z
constexpr Microseconds kRoundTakes = 20 * kSecond;        // as in the paper
constexpr std::uint32_t kLongestPeriod = 20;

enum What : std::uint64_t { kClass, kPeriod, kPhase, kPlace, kIdentifier };

// SplitMix64's output function.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

}  // namespace

SyntheticCrawl::SyntheticCrawl(CrawlPlan plan) : plan_(plan) {
  constexpr std::array<std::string_view, 16> kWords = {
      "the",    "agreed", "answer", "of",     "a",   "page",   "that",   "changes",
      "rarely", "is",     "one",    "sketch", "<p>", "</p>\n", "origin", "reads"};
  std::uint64_t state = plan_.seed;
  while (text_.size() < kTextBytes) {
    state = mix(state + 0x9e3779b97f4a7c15);
    for (unsigned shift = 0; shift < 64; shift += 4)
      text_.append(kWords[state >> shift & 15]).append(" ");
    text_.append(std::to_string(state >> 40)).append(" ");
  }
}

std::uint64_t SyntheticCrawl::draw(std::uint64_t url, std::uint64_t what) const {
  return mix(mix(plan_.seed * 0x9e3779b97f4a7c15 + url) + what * 0xd1342543de82ef95);
}

std::uint64_t SyntheticCrawl::answers() const {
  return std::uint64_t{plan_.urls} * plan_.rounds;
}

std::uint32_t SyntheticCrawl::version(std::uint32_t url, std::uint32_t round) const {
  const std::uint64_t kind = draw(url, kClass) % 10;
  if (kind < 5) return 0;
  if (kind == 9) return round;
  const auto period = static_cast<std::uint32_t>(2 + draw(url, kPeriod) % (kLongestPeriod - 1));
  return static_cast<std::uint32_t>((round + draw(url, kPhase) % period) / period);
}

std::uint64_t SyntheticCrawl::transitions() const {
  if (plan_.rounds == 0) return 0;
  std::uint64_t sum = 0;
  // A round raises a version by one at most.
  for (std::uint32_t url = 0; url < plan_.urls; ++url)
    sum += version(url, plan_.rounds - 1) - version(url, 0);
  return sum;
}

std::string SyntheticCrawl::url_of(std::uint32_t url) const {
  const std::uint32_t host = url / kUrlsOfHost;
  return fmt::format("https://{}.site-{}.example/pages/{}", host % 2 == 0 ? "www" : "static",
                     host / 2, url);
}

std::string SyntheticCrawl::address_of(std::uint32_t url) const {
  const std::uint32_t host = url / kUrlsOfHost;
  return fmt::format("10.{}.{}.{}", host >> 16 & 255, host >> 8 & 255, host & 255);
}

Microseconds SyntheticCrawl::time_of(std::uint32_t url, std::uint32_t round) const {
  return kStart + round * kRoundTakes +
         static_cast<Microseconds>(url) * kRoundTakes / std::max(plan_.urls, 1U);
}

void SyntheticCrawl::make(std::uint32_t url, std::uint32_t round, SyntheticAnswer& answer) const {
  const std::uint32_t version_now = version(url, round);
  answer.url = url_of(url);
  answer.time = time_of(url, round);
  answer.address = address_of(url);
  answer.fields = fmt::format(
      "Content-Type: text/html; charset=utf-8\r\nCache-Control: max-age={}\r\n", 60 * (url % 3));
  const std::size_t size = plan_.body_bytes;
  std::size_t place = draw(url, kPlace);
  std::string change;
  switch (url % 4) {
    case 0:
      change =
          fmt::format("<img src=\"/i?id={:016x}\">", mix(draw(url, kIdentifier) + version_now));
      break;
    case 1:
      change = fmt::format("<time>{}</time>", 1'748'779'200 + 60 * version_now);
      break;
    case 2:
      change = fmt::format("<span class=\"count\">{}</span>", 4000 + version_now);
      break;
    default:
      place += std::size_t{version_now} * size;
  }
  // The beginning stays; what follows it may be another text.
  answer.body = fmt::format("<html><title>Page {}</title>\n", url);
  const auto append = [&](std::size_t from, std::size_t count) {
    for (from %= text_.size(); count > 0; from = 0) {
      const std::size_t part = std::min(count, text_.size() - from);
      answer.body.append(text_, from, part);
      count -= part;
    }
  };
  append(place, size / 2);
  answer.body += change;
  append(place + size / 2, size - size / 2);
  answer.body += "</html>\n";
}

}  // namespace prophecy::measurement
