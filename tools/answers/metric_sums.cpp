#include "tools/answers/metric_sums.hpp"

#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace prophecy::tools {
namespace {

// Numbers of workers mean nothing beyond their member.
constexpr std::string_view kWorkerLabel = "worker";

struct Family {
  std::string type;
  std::string help;
  std::vector<std::string> order;  // of its series
  std::map<std::string, double> values;
};

struct Sample {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> labels;  // as they are escaped
  double value = 0;
};

// The text up to `end`, which is taken away with it.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t size = text.find(end);
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
  return taken;
}

// Without its quotes; nothing: it has no end.
std::optional<std::string_view> take_quoted(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"')
    end += text[end] == '\\' ? 2 : 1;
  if (end >= text.size()) return std::nullopt;
  const std::string_view value = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  return value;
}

bool read_labels(std::string_view& line, Sample& sample) {
  while (!line.starts_with('}')) {
    const std::string_view name = take_until(line, '=');
    const auto value = take_quoted(line);
    if (name.empty() || !value) return false;
    sample.labels.emplace_back(name, *value);
    if (line.starts_with(',')) {
      line.remove_prefix(1);
    } else if (!line.starts_with('}')) {
      return false;
    }
  }
  line.remove_prefix(1);
  return true;
}

// NAME{LABEL="VALUE",...} NUMBER, without a time.
std::optional<Sample> read_sample(std::string_view line) {
  Sample sample;
  const std::size_t name = line.find_first_of("{ ");
  if (name == 0 || name == std::string_view::npos) return std::nullopt;
  sample.name = line.substr(0, name);
  line.remove_prefix(name);
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    if (!read_labels(line, sample)) return std::nullopt;
  }
  if (!line.starts_with(' ')) return std::nullopt;
  line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), sample.value);
  if (error != std::errc{} || end != line.data() + line.size()) return std::nullopt;
  return sample;
}

// The series of the sum that the sample belongs to.
std::string series_of(const Sample& sample, bool is_gauge, const std::string& member) {
  std::string labels;
  const auto add = [&](std::string_view name, std::string_view value) {
    labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", name, value);
  };
  if (is_gauge) add(kOfMember, member);
  for (const auto& [name, value] : sample.labels) {
    if (is_gauge || name != kWorkerLabel) add(name, value);
  }
  return labels.empty() ? std::string(sample.name) : fmt::format("{}{{{}}}", sample.name, labels);
}

class Sums {
 public:
  // False: `line` cannot be read.
  [[nodiscard]] bool add(std::string_view line, const std::string& member) {
    if (line.empty()) return true;
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) {
      const bool is_type = line[2] == 'T';
      line.remove_prefix(7);
      const std::string_view name = take_until(line, ' ');
      current_ = &family(name);
      std::string& said = is_type ? current_->type : current_->help;
      if (said.empty()) said = line;
      return true;
    }
    if (line.starts_with('#')) return true;
    const auto sample = read_sample(line);
    if (!sample || current_ == nullptr) return false;
    const std::string series = series_of(*sample, current_->type == "gauge", member);
    const auto [found, is_new] = current_->values.try_emplace(series, 0);
    if (is_new) current_->order.push_back(series);
    found->second += sample->value;
    return true;
  }
  void end_page() { current_ = nullptr; }

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const std::string& name : order_) {
      const Family& family = families_.at(name);
      if (!family.help.empty()) out += fmt::format("# HELP {} {}\n", name, family.help);
      if (!family.type.empty()) out += fmt::format("# TYPE {} {}\n", name, family.type);
      for (const std::string& series : family.order)
        out += fmt::format("{} {}\n", series, number_text(family.values.at(series)));
    }
    return out;
  }

 private:
  // Counts as they are, without an exponent.
  static std::string number_text(double value) {
    constexpr double kExactMax = 9007199254740992;
    const bool is_count = value >= 0 && value <= kExactMax &&
                          value == static_cast<double>(static_cast<std::uint64_t>(value));
    return is_count ? std::to_string(static_cast<std::uint64_t>(value)) : fmt::format("{}", value);
  }
  Family& family(std::string_view name) {
    const auto [found, is_new] = families_.try_emplace(std::string(name));
    if (is_new) order_.emplace_back(name);
    return found->second;
  }

  std::vector<std::string> order_;
  std::map<std::string, Family> families_;
  Family* current_ = nullptr;
};

}  // namespace

Result<std::string> sum_metrics(std::span<const MemberPage> pages) {
  Sums sums;
  for (const MemberPage& page : pages) {
    std::string_view rest = page.text;
    for (std::size_t number = 1; !rest.empty(); ++number) {
      if (!sums.add(take_until(rest, '\n'), page.member))
        return Error{ErrorKind::protocol,
                     fmt::format("{}: line {} of its metrics cannot be read", page.member, number)};
    }
    sums.end_page();
  }
  return sums.text();
}

}  // namespace prophecy::tools
