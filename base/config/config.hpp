// `ConfigFile` reads one TOML file, and reports everything that is wrong in it, one line each:
//
//     FILE:LINE:COLUMN: KEY: expected ..., found ...; did you mean ...?
//
// The accessors of ConfigSection never fail on their own: they note the mistake, return a harmless
// value and go on, so that one run reports every mistake. Nothing may be used before finish() has
// returned that there was none. A key that no reader asked for is a mistake as well.
//
// The readers are the schema: what they ask for, with the `Key` that declares it, its bounds and
// its default, is recorded. ConfigFile::schema() is a file without a document, in which every table
// and every key seems to be there, so that readers declare everything; nothing in it is a mistake.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/config/key.hpp"
#include "base/endpoint.hpp"
#include "base/error.hpp"

namespace prophecy {

class ConfigSection;
struct RecordedSetting;
struct RecordedTable;

class ConfigFile {
 public:
  static constexpr std::size_t kBytesMax = 1 << 20;
  [[nodiscard]] static Result<ConfigFile> load(const std::filesystem::path& path);
  // `name` stands for the file's path in messages.
  [[nodiscard]] static Result<ConfigFile> parse(std::string_view text, std::string name);
  [[nodiscard]] static ConfigFile schema();

  ConfigFile(ConfigFile&&) noexcept;
  ~ConfigFile();

  [[nodiscard]] ConfigSection root();
  // The error's message holds the lines in the order of the file, a hundred at most. With the
  // readers that have read this file, it knows keys that they had no reason to ask for.
  using Readers = void (*)(ConfigSection root);
  [[nodiscard]] Result<> finish(Readers readers = nullptr);

  // The configuration in effect, with the defaults of what it leaves out, as TOML that reads as
  // the same one anywhere. REQUIRES that finish() has returned no error.
  [[nodiscard]] std::string dump() const;
  // All that readers have declared, as TOML; see describe() of base/config/record.hpp.
  [[nodiscard]] std::string describe() const;

  struct State;

 private:
  explicit ConfigFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A cursor on one table of a ConfigFile, which must outlive it. Without a fallback, the key is
// required.
class ConfigSection {
 public:
  [[nodiscard]] std::string text(const Key& key,
                                 std::optional<std::string> fallback = std::nullopt);
  // One of `choices`; yields its position.
  [[nodiscard]] std::size_t choice(const Key& key, const std::vector<std::string>& choices,
                                   std::optional<std::size_t> fallback = std::nullopt);
  [[nodiscard]] std::uint64_t number(const Key& key, std::uint64_t min, std::uint64_t max,
                                     std::optional<std::uint64_t> fallback = std::nullopt);
  [[nodiscard]] bool flag(const Key& key, std::optional<bool> fallback = std::nullopt);
  [[nodiscard]] double fraction(const Key& key,
                                std::optional<double> fallback = std::nullopt);  // in [0, 1]
  // A number with a unit: "16 KiB", "64MiB", "1GiB", "512B".
  [[nodiscard]] std::uint64_t bytes(const Key& key, std::uint64_t min, std::uint64_t max,
                                    std::optional<std::uint64_t> fallback = std::nullopt);
  // A number with a unit: "250us", "500ms", "3s", "2m", "1h".
  [[nodiscard]] Duration duration(const Key& key, Duration min, Duration max,
                                  std::optional<Duration> fallback = std::nullopt);
  [[nodiscard]] Endpoint endpoint(const Key& key, std::optional<Endpoint> fallback = std::nullopt);
  [[nodiscard]] std::vector<Endpoint> endpoints(const Key& key);
  [[nodiscard]] std::vector<std::string> texts(
      const Key& key, std::optional<std::vector<std::string>> fallback = std::nullopt);
  // A path; a relative one starts from the configuration file's folder.
  [[nodiscard]] std::filesystem::path path(
      const Key& key, std::optional<std::filesystem::path> fallback = std::nullopt);

  // Likewise, of a Unix socket, which must not be long.
  [[nodiscard]] std::filesystem::path socket_path(const Key& key);

  [[nodiscard]] bool has(std::string_view key) const;
  // Whether a mistake at this key has been noted.
  [[nodiscard]] bool is_wrong(std::string_view key) const;
  // The table of that name; an absent one reads as empty.
  [[nodiscard]] ConfigSection section(const Key& key);
  // The tables of an array, "[[key]]".
  [[nodiscard]] std::vector<ConfigSection> sections(const Key& key);

  // For keys that belong to one value of another setting: this table where the condition holds, or
  // may hold, since that setting is wrong; and in a schema, which records the condition for what is
  // declared through the result.
  [[nodiscard]] std::optional<ConfigSection> when(bool holds, std::string_view condition) const;

  // For checks across keys: notes a mistake at this key's value, or at the table where the key is
  // missing. The value is added to a text that begins with "expected" and has no "found".
  void mistake(std::string_view key, std::string_view expected);
  // Likewise, for one text of a list.
  void mistake(std::string_view key, std::string_view element, std::string_view expected);

 private:
  friend class ConfigFile;
  ConfigSection(ConfigFile::State& file, const void* table, RecordedTable& record)
      : file_(&file), table_(table), record_(&record) {}

  [[nodiscard]] const void* declare(const Key& key, std::string_view type,
                                    const std::string& bounds,
                                    const std::optional<std::string>& fallback);
  void in_effect(std::string_view key, std::string value);
  [[nodiscard]] std::vector<std::string> list(const Key& key, std::string_view type,
                                              std::optional<std::vector<std::string>> fallback);
  // The cursor on a table below this one; null for an absent one.
  [[nodiscard]] ConfigSection inner(const Key& key, const void* table, RecordedTable& record) const;

  ConfigFile::State* file_;
  const void* table_;  // a toml::table, or null for an absent one
  RecordedTable* record_;
  std::string name_;      // "limits." in front of a key in messages
  std::size_t line_ = 1;  // of the table, or of the one around it that is there
  std::size_t column_ = 1;
  std::string condition_;  // of what is declared
};

}  // namespace prophecy
