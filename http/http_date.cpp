#include "http/http_date.hpp"

#include <algorithm>
#include <iterator>

namespace prophecy::http {
namespace {

using namespace std::chrono;

constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::string_view kLongDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};

// Takes the text apart from its beginning; after the first thing that is not there, nothing is.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  void expect(std::string_view text) {
    ok_ = ok_ && rest_.starts_with(text);
    if (ok_) rest_.remove_prefix(text.size());
  }
  unsigned digits(std::size_t count) {
    unsigned value = 0;
    ok_ = ok_ && rest_.size() >= count;
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      ok_ = rest_[i] >= '0' && rest_[i] <= '9';
      value = value * 10 + static_cast<unsigned>(rest_[i] - '0');
    }
    if (ok_) rest_.remove_prefix(count);
    return value;
  }
  // Which of the names stands here, from 1 on.
  template <std::size_t Size>
  unsigned one_of(const std::string_view (&names)[Size]) {
    const auto* found =
        std::find_if(std::begin(names), std::end(names),
                     [&](std::string_view name) { return rest_.starts_with(name); });
    ok_ = ok_ && found != std::end(names);
    if (!ok_) return 0;
    rest_.remove_prefix(found->size());
    return static_cast<unsigned>(found - std::begin(names)) + 1;
  }
  [[nodiscard]] bool has(char c) const { return ok_ && rest_.starts_with(c); }
  [[nodiscard]] bool ended() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Parts {
  unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

void take_time(Scanner& scanner, Parts& parts) {
  parts.hour = scanner.digits(2);
  scanner.expect(":");
  parts.minute = scanner.digits(2);
  scanner.expect(":");
  parts.second = scanner.digits(2);
}

std::optional<sys_seconds> point_of(const Parts& parts) {
  const year_month_day date{year(static_cast<int>(parts.year)), month(parts.month), day(parts.day)};
  // A leap second counts as the one before.
  if (!date.ok() || parts.hour > 23 || parts.minute > 59 || parts.second > 60) return std::nullopt;
  return sys_days(date) + hours(parts.hour) + minutes(parts.minute) +
         seconds(std::min(parts.second, 59U));
}

// The two forms that put the day of the month first, up to the year.
template <std::size_t Size>
void take_date(Scanner& scanner, const std::string_view (&days)[Size], std::string_view separator,
               Parts& parts) {
  scanner.one_of(days);
  scanner.expect(", ");
  parts.day = scanner.digits(2);
  scanner.expect(separator);
  parts.month = scanner.one_of(kMonths);
  scanner.expect(separator);
}

bool ends_with_time(Scanner& scanner, Parts& parts) {
  scanner.expect(" ");
  take_time(scanner, parts);
  scanner.expect(" GMT");
  return scanner.ended();
}

// Sun, 06 Nov 1994 08:49:37 GMT
bool scan_fixdate(std::string_view text, Parts& parts) {
  Scanner scanner(text);
  take_date(scanner, kDays, " ", parts);
  parts.year = scanner.digits(4);
  return ends_with_time(scanner, parts);
}

// Sunday, 06-Nov-94 08:49:37 GMT
bool scan_rfc850(std::string_view text, Parts& parts) {
  Scanner scanner(text);
  take_date(scanner, kLongDays, "-", parts);
  const unsigned two_digits = scanner.digits(2);
  parts.year = two_digits + (two_digits >= 70 ? 1900 : 2000);
  return ends_with_time(scanner, parts);
}

// Sun Nov  6 08:49:37 1994
bool scan_asctime(std::string_view text, Parts& parts) {
  Scanner scanner(text);
  scanner.one_of(kDays);
  scanner.expect(" ");
  parts.month = scanner.one_of(kMonths);
  scanner.expect(" ");
  if (scanner.has(' ')) {
    scanner.expect(" ");
    parts.day = scanner.digits(1);
  } else {
    parts.day = scanner.digits(2);
  }
  scanner.expect(" ");
  take_time(scanner, parts);
  scanner.expect(" ");
  parts.year = scanner.digits(4);
  return scanner.ended();
}

}  // namespace

std::optional<sys_seconds> parse_http_date(std::string_view text) {
  Parts parts;
  const bool known =
      scan_fixdate(text, parts) || scan_rfc850(text, parts) || scan_asctime(text, parts);
  return known ? point_of(parts) : std::nullopt;
}

HttpDateText http_date_text(sys_seconds time) {
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  HttpDateText text;
  char* at = text.data();
  const auto add = [&](std::string_view piece) { at = std::copy(piece.begin(), piece.end(), at); };
  const auto add_number = [&](long number, int digits) {
    for (int i = digits - 1; i >= 0; --i, number /= 10)
      at[i] = static_cast<char>('0' + number % 10);
    at += digits;
  };
  add(kDays[weekday(day).c_encoding()]);
  add(", ");
  add_number(static_cast<unsigned>(date.day()), 2);
  add(" ");
  add(kMonths[static_cast<unsigned>(date.month()) - 1]);
  add(" ");
  add_number(static_cast<int>(date.year()), 4);
  add(" ");
  add_number(clock.hours().count(), 2);
  add(":");
  add_number(clock.minutes().count(), 2);
  add(":");
  add_number(clock.seconds().count(), 2);
  add(" GMT");
  return text;
}

}  // namespace prophecy::http
