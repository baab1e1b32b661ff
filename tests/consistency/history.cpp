#include "consistency/history.hpp"

#include <array>
#include <charconv>
#include <set>
#include <sstream>

namespace prophecy::consistency {
namespace {

constexpr std::string_view kUnknown = "?";
constexpr std::string_view kNoAnswer = "-";
constexpr std::array<std::string_view, 4> kKindNames{"write", "publish", "read", "audit"};

std::string_view word_of(Kind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

bool may_be_accepted(Kind kind) {
  return kind == Kind::read || kind == Kind::publish;
}

std::optional<Kind> parse_kind(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (kKindNames[i] == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

std::optional<Instant> parse_instant(std::string_view text) {
  Instant instant = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), instant);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || instant < 0 || instant == kNever) return std::nullopt;
  return instant;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(word);
  return words;
}

// One file, line by line.
class Parser {
 public:
  // What is wrong with the line; empty if nothing is.
  std::string take(const std::string& line) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || words[0].starts_with('#')) return {};
    if (words[0] == "initial") return take_initial(words);
    const auto kind = parse_kind(words[0]);
    if (!kind) return "begins with none of initial, write, publish, read, audit";
    const bool has_acceptable = words.size() == 6 && may_be_accepted(*kind);
    if (words.size() != 5 && !has_acceptable) return "has not five words";
    const auto found = histories_.find(words[1]);
    if (found == histories_.end()) return "comes before the line initial of its key";
    return take_operation(found->second, *kind, words);
  }

  Histories histories() { return std::move(histories_); }

 private:
  std::string take_initial(const std::vector<std::string>& words) {
    if (words.size() != 3) return "has not three words";
    if (words[2] == kUnknown) return "may not leave its value open";
    if (!histories_.emplace(words[1], History(words[2])).second) return "is its key's second";
    return {};
  }

  std::string take_operation(History& history, Kind kind, const std::vector<std::string>& words) {
    Operation operation;
    operation.kind = kind;
    const auto invoked = parse_instant(words[3]);
    const bool is_answered = words[4] != kNoAnswer;
    const auto answered = is_answered ? parse_instant(words[4]) : kNever;
    if (!invoked || !answered) return "has a time that is none";
    if (*answered < *invoked) return "was answered before it was invoked";
    const auto acceptable = words.size() == 6 ? parse_instant(words[5]) : invoked;
    if (!acceptable || *acceptable < *invoked || *acceptable > *answered) {
      return "was not accepted while it was under way";
    }
    operation.invoked = *invoked;
    operation.answered = *answered;
    operation.acceptable = *acceptable;
    const bool is_known = words[2] != kUnknown;
    if (kind != Kind::read && !is_known) return "may not leave its value open";
    if (kind == Kind::publish && !is_answered && words.size() == 6) {
      return "was accepted without an answer";
    }
    if (kind == Kind::audit && !is_answered) return "is an audit without an answer";
    if (kind == Kind::read && is_known && !is_answered) return "knows an answer that never came";
    if (is_known) operation.value = history.number_of(words[2]);
    if (is_write(kind) &&
        (operation.value == kInitial || !written_.emplace(words[1], words[2]).second)) {
      return "writes a value for the second time";
    }
    history.operations.push_back(operation);
    return {};
  }

  Histories histories_;
  std::set<std::pair<std::string, std::string>> written_;  // key and value
};

}  // namespace

History::History(std::string_view initial)
    : names_{std::string(initial)}, numbers_{{std::string(initial), kInitial}} {}

Value History::number_of(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const Value number = static_cast<Value>(names_.size());
  names_.emplace_back(name);
  numbers_.emplace(name, number);
  return number;
}

std::string History::describe(const Operation& operation) const {
  std::ostringstream out;
  out << word_of(operation.kind) << " of "
      << (operation.value ? std::string_view(name_of(*operation.value)) : kUnknown) << " from "
      << operation.invoked;
  if (operation.answered != kNever) out << " to " << operation.answered;
  return out.str();
}

Result<Histories> parse_histories(std::string_view text) {
  Parser parser;
  std::istringstream in{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::string mistake = parser.take(line);
    if (mistake.empty()) continue;
    return Error{ErrorKind::invalid, "line " + std::to_string(number) + " " + mistake};
  }
  return parser.histories();
}

std::string to_text(const Histories& histories) {
  std::ostringstream out;
  for (const auto& [key, history] : histories) {
    out << "initial " << key << ' ' << history.name_of(kInitial) << '\n';
    for (const Operation& operation : history.operations) {
      out << word_of(operation.kind) << ' ' << key << ' '
          << (operation.value ? std::string_view(history.name_of(*operation.value)) : kUnknown)
          << ' ' << operation.invoked << ' ';
      if (operation.answered == kNever) {
        out << kNoAnswer;
      } else {
        out << operation.answered;
      }
      if (may_be_accepted(operation.kind) && operation.acceptable > operation.invoked) {
        out << ' ' << operation.acceptable;
      }
      out << '\n';
    }
  }
  return out.str();
}

}  // namespace prophecy::consistency
