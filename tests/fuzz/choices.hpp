// `Choices` reads a fuzzer's bytes as the choices of a script. Behind their end all are 0.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace prophecy::fuzz {

class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  std::size_t below(std::size_t bound) { return byte() % bound; }
  // True for one byte in `share`.
  bool one_in(std::size_t share) { return byte() % share == share - 1; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[below(values.size())];
  }
  std::string_view bytes(std::size_t size_max) {
    const std::string_view taken = rest_.substr(0, size_max);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

}  // namespace prophecy::fuzz
