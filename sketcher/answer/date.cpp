#include "sketcher/answer/date.hpp"

namespace prophecy::sketcher {

std::string_view DateCache::now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &time);
  if (time.tv_sec != second_) {
    second_ = time.tv_sec;
    std::tm utc{};
    ::gmtime_r(&second_, &utc);
    // The C locale's names: no program here calls setlocale().
    size_ = std::strftime(text_.data(), text_.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
  }
  return {text_.data(), size_};
}

}  // namespace prophecy::sketcher
