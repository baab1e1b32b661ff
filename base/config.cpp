#include "base/config.hpp"

#include <charconv>
#include <set>

#include <toml++/toml.h>

#include "base/file.hpp"

namespace prophecy {
namespace {

constexpr std::size_t kFileSizeMax = 1 << 20;

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr Unit kByteUnits[] = {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
constexpr Unit kTimeUnits[] = {
    {"us", 1}, {"ms", 1000}, {"s", 1'000'000}, {"m", 60'000'000}, {"h", 3'600'000'000}};

// "12 KiB" to 12 * 1024; nothing when the number, the unit or the product does not fit.
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

const toml::table* as_table(const void* table) {
  return static_cast<const toml::table*>(table);
}

}  // namespace

struct ConfigFile::State {
  std::string name;
  std::filesystem::path folder;
  toml::table table;
  std::set<const toml::node*> used;
  std::string mistakes;

  void note(std::size_t line, std::string_view key, std::string_view expected) {
    if (!mistakes.empty()) mistakes += '\n';
    mistakes +=
        name + ":" + std::to_string(line) + ": " + std::string(key) + ": " + std::string(expected);
  }
  void note_unknown_keys(const toml::table& in, const std::string& prefix);
  void note_unknown(const toml::node& node, const std::string& key, std::size_t line);
};

void ConfigFile::State::note_unknown(const toml::node& node, const std::string& key,
                                     std::size_t line) {
  if (!used.contains(&node)) {
    note(line, key, "unknown key");
  } else if (const toml::table* table_inside = node.as_table()) {
    note_unknown_keys(*table_inside, key + ".");
  } else if (const toml::array* array = node.as_array()) {
    for (const toml::node& element : *array) {
      if (const toml::table* element_table = element.as_table()) {
        note_unknown_keys(*element_table, key + ".");
      }
    }
  }
}

void ConfigFile::State::note_unknown_keys(const toml::table& in, const std::string& prefix) {
  for (const auto& [key, node] : in) {
    note_unknown(node, prefix + std::string(key.str()), key.source().begin.line);
  }
}

ConfigFile::ConfigFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
ConfigFile::ConfigFile(ConfigFile&&) noexcept = default;
ConfigFile::~ConfigFile() = default;

Result<ConfigFile> ConfigFile::load(const std::filesystem::path& path) {
  auto content = read_file(path, kFileSizeMax);
  if (!content) return content.error();
  auto file = parse(*content, path.string());
  if (file) file->state_->folder = path.parent_path();
  return file;
}

Result<ConfigFile> ConfigFile::parse(std::string_view text, std::string name) {
  try {
    auto state = std::make_unique<State>();
    state->table = toml::parse(text, name);
    state->name = std::move(name);
    return ConfigFile(std::move(state));
  } catch (const toml::parse_error& error) {
    return Error{ErrorKind::invalid, name + ":" + std::to_string(error.source().begin.line) + ": " +
                                         std::string(error.description())};
  }
}

ConfigSection ConfigFile::root() {
  return {*state_, &state_->table, ""};
}

Result<> ConfigFile::finish() {
  state_->note_unknown_keys(state_->table, "");
  if (state_->mistakes.empty()) return {};
  return Error{ErrorKind::invalid, state_->mistakes};
}

void ConfigSection::mistake(std::string_view key, std::string_view expected) {
  std::size_t line = 1;
  if (const toml::table* table = as_table(table_)) {
    const toml::node* node = table->get(key);
    line = node != nullptr ? node->source().begin.line : table->source().begin.line;
  }
  // The root table has no place of its own.
  file_->note(std::max<std::size_t>(line, 1), name_ + std::string(key), expected);
}

bool ConfigSection::has(std::string_view key) const {
  return table_ != nullptr && as_table(table_)->contains(key);
}

namespace {

// The node under `key`, marked as known; null when there is none.
const toml::node* find(ConfigFile::State& file, const void* table, std::string_view key) {
  const toml::node* node = table != nullptr ? as_table(table)->get(key) : nullptr;
  if (node != nullptr) file.used.insert(node);
  return node;
}

}  // namespace

std::string ConfigSection::text(std::string_view key, std::optional<std::string> fallback) {
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  if (!value) mistake(key, node == nullptr ? "missing; expected a string" : "expected a string");
  return value.value_or("");
}

std::size_t ConfigSection::choice(std::string_view key, const std::vector<std::string>& choices,
                                  std::optional<std::size_t> fallback) {
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  std::string expected = "expected one of";
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (value == choices[i]) return i;
    expected += (i == 0 ? " \"" : ", \"") + choices[i] + "\"";
  }
  mistake(key, expected);
  return 0;
}

std::uint64_t ConfigSection::number(std::string_view key, std::uint64_t min, std::uint64_t max,
                                    std::optional<std::uint64_t> fallback) {
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::int64_t>() : std::nullopt;
  if (value && *value >= 0 && static_cast<std::uint64_t>(*value) >= min &&
      static_cast<std::uint64_t>(*value) <= max) {
    return static_cast<std::uint64_t>(*value);
  }
  mistake(key,
          "expected a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return min;
}

bool ConfigSection::flag(std::string_view key, std::optional<bool> fallback) {
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<bool>() : std::nullopt;
  if (!value) mistake(key, "expected true or false");
  return value.value_or(false);
}

double ConfigSection::fraction(std::string_view key, std::optional<double> fallback) {
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value<double>() : std::nullopt;
  if (value && *value >= 0 && *value <= 1) return *value;
  mistake(key, "expected a number from 0 to 1");
  return 0;
}

std::uint64_t ConfigSection::bytes(std::string_view key, std::uint64_t min, std::uint64_t max,
                                   std::optional<std::uint64_t> fallback) {
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  const auto quantity = value ? parse_quantity(*value, kByteUnits) : std::nullopt;
  if (quantity && *quantity >= min && *quantity <= max) return *quantity;
  mistake(key, "expected a size with its unit (B, KiB, MiB, GiB) from \"" +
                   format_quantity(min, kByteUnits) + "\" to \"" +
                   format_quantity(max, kByteUnits) + "\"");
  return min;
}

Duration ConfigSection::duration(std::string_view key, Duration min, Duration max,
                                 std::optional<Duration> fallback) {
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr && fallback) return *fallback;
  const auto micros = [](Duration duration) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
  };
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  const auto quantity = value ? parse_quantity(*value, kTimeUnits) : std::nullopt;
  if (quantity && *quantity >= micros(min) && *quantity <= micros(max)) {
    return std::chrono::microseconds(*quantity);
  }
  mistake(key, "expected a time with its unit (us, ms, s, m, h) from \"" +
                   format_quantity(micros(min), kTimeUnits) + "\" to \"" +
                   format_quantity(micros(max), kTimeUnits) + "\"");
  return min;
}

Endpoint ConfigSection::endpoint(std::string_view key, std::optional<Endpoint> fallback) {
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  auto parsed = parse_endpoint(value.value_or(""));
  if (parsed) return *parsed;
  mistake(key, parsed.error().message);
  return {};
}

std::vector<Endpoint> ConfigSection::endpoints(std::string_view key) {
  std::vector<Endpoint> result;
  for (const std::string& value : texts(key)) {
    auto parsed = parse_endpoint(value);
    if (parsed) {
      result.push_back(*parsed);
    } else {
      mistake(key, parsed.error().message);
    }
  }
  return result;
}

std::vector<std::string> ConfigSection::texts(std::string_view key,
                                              std::optional<std::vector<std::string>> fallback) {
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr && fallback) return *fallback;
  std::vector<std::string> result;
  const toml::array* array = node != nullptr ? node->as_array() : nullptr;
  if (array == nullptr) {
    mistake(key, "expected a list of strings");
    return result;
  }
  for (const toml::node& element : *array) {
    const auto value = element.value_exact<std::string>();
    if (!value) mistake(key, "expected a list of strings only");
    result.push_back(value.value_or(""));
  }
  return result;
}

std::filesystem::path ConfigSection::path(std::string_view key,
                                          std::optional<std::filesystem::path> fallback) {
  if (!has(key) && fallback) return *fallback;
  const std::size_t noted = file_->mistakes.size();
  const std::string value = text(key);
  if (value.empty()) {
    if (file_->mistakes.size() == noted) mistake(key, "expected a path");
    return {};
  }
  return file_->folder / value;
}

ConfigSection ConfigSection::section(std::string_view key) {
  const toml::node* node = find(*file_, table_, key);
  const toml::table* table = node != nullptr ? node->as_table() : nullptr;
  if (node != nullptr && table == nullptr) {
    mistake(key, "expected a table, [" + name_ + std::string(key) + "]");
  }
  return {*file_, table, name_ + std::string(key) + "."};
}

std::vector<ConfigSection> ConfigSection::sections(std::string_view key) {
  std::vector<ConfigSection> result;
  const toml::node* node = find(*file_, table_, key);
  if (node == nullptr) return result;
  const std::string expected = "expected tables, [[" + name_ + std::string(key) + "]]";
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    mistake(key, expected);
    return result;
  }
  for (const toml::node& element : *array) {
    if (const toml::table* table = element.as_table()) {
      result.push_back(ConfigSection(*file_, table, name_ + std::string(key) + "."));
    } else {
      mistake(key, expected);
    }
  }
  return result;
}

}  // namespace prophecy
