#include "http/content_coding.hpp"

#include <array>
#include <optional>

#include "http/text.hpp"

namespace prophecy::http {
namespace {

constexpr std::array<std::string_view, kContentCodingCount> kNames = {"identity", "gzip", "br",
                                                                      "zstd"};
constexpr unsigned kWhole = 1000;  // thousandths

// What follows "q=", in thousandths; nonsense means that it is not wanted.
unsigned parse_weight(std::string_view text) {
  if (text.empty() || (text.front() != '0' && text.front() != '1')) return 0;
  unsigned weight = static_cast<unsigned>(text.front() - '0') * kWhole;
  if (text.size() == 1) return weight;
  if (text[1] != '.' || text.size() > 5) return 0;
  unsigned place = kWhole / 10;
  for (const char digit : text.substr(2)) {
    if (digit < '0' || digit > '9') return 0;
    weight += static_cast<unsigned>(digit - '0') * place;
    place /= 10;
  }
  return weight > kWhole ? 0 : weight;
}

struct Weights {
  std::array<std::optional<unsigned>, kContentCodingCount> of;
  std::optional<unsigned> of_others;  // "*"

  [[nodiscard]] unsigned weight(ContentCoding coding) const {
    const auto& own = of[static_cast<std::size_t>(coding)];
    if (own) return *own;
    if (of_others) return *of_others;
    // It is taken unless it is said otherwise, and is nobody's wish.
    return coding == ContentCoding::identity ? 1 : 0;
  }
};

void note(Weights& weights, std::string_view element) {
  const std::size_t semicolon = element.find(';');
  const std::string_view name = trim(element.substr(0, semicolon));
  unsigned weight = kWhole;
  if (semicolon != std::string_view::npos) {
    const std::string_view parameter = trim(element.substr(semicolon + 1));
    const bool is_weight =
        parameter.size() > 2 && (parameter[0] == 'q' || parameter[0] == 'Q') && parameter[1] == '=';
    weight = is_weight ? parse_weight(parameter.substr(2)) : 0;
  }
  if (name == "*") {
    weights.of_others = weight;
    return;
  }
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (equal_ignoring_case(name, kNames[i])) weights.of[i] = weight;
  }
  if (equal_ignoring_case(name, "x-gzip"))
    weights.of[static_cast<std::size_t>(ContentCoding::gzip)] = weight;
}

}  // namespace

std::string_view to_string(ContentCoding coding) {
  return kNames[static_cast<std::size_t>(coding)];
}

ContentCoding choose_coding(const FieldList& request, std::span<const ContentCoding> offered) {
  Weights weights;
  bool any = false;
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (request.name(i) != "accept-encoding") continue;
    any = true;
    std::string_view list = request.value(i);
    std::string_view element;
    while (next_list_element(list, element))
      note(weights, element);
  }
  ContentCoding chosen = ContentCoding::identity;
  if (!any) return chosen;
  unsigned best = weights.weight(chosen);
  for (const ContentCoding coding : offered) {
    const unsigned weight = weights.weight(coding);
    const bool is_better =
        chosen == ContentCoding::identity ? weight > 0 && weight >= best : weight > best;
    if (!is_better) continue;
    chosen = coding;
    best = weight;
  }
  return chosen;
}

}  // namespace prophecy::http
