// Reads one TOML file, and says of everything that is wrong in it: file, line, key, what was
// expected. The accessors never fail on their own: they note the problem, hand back a harmless
// value and go on, so that one run reports every mistake. Nothing may be used before finish()
// has said that there was none. Keys that nobody asked for are mistakes as well.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/endpoint.hpp"
#include "base/error.hpp"

namespace prophecy {

class ConfigSection;

class ConfigFile {
 public:
  [[nodiscard]] static Result<ConfigFile> load(const std::filesystem::path& path);
  // `name` stands for the file's path in messages.
  [[nodiscard]] static Result<ConfigFile> parse(std::string_view text, std::string name);

  ConfigFile(ConfigFile&&) noexcept;
  ~ConfigFile();

  [[nodiscard]] ConfigSection root();
  // The error's message holds one line a mistake, "FILE:LINE: KEY: expected ...".
  [[nodiscard]] Result<> finish();

  struct State;

 private:
  explicit ConfigFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A cursor on one table of a ConfigFile, which must outlive it. Without a fallback, the key is
// required.
class ConfigSection {
 public:
  [[nodiscard]] std::string text(std::string_view key,
                                 std::optional<std::string> fallback = std::nullopt);
  // One of `choices`; yields its position.
  [[nodiscard]] std::size_t choice(std::string_view key, const std::vector<std::string>& choices,
                                   std::optional<std::size_t> fallback = std::nullopt);
  [[nodiscard]] std::uint64_t number(std::string_view key, std::uint64_t min, std::uint64_t max,
                                     std::optional<std::uint64_t> fallback = std::nullopt);
  [[nodiscard]] bool flag(std::string_view key, std::optional<bool> fallback = std::nullopt);
  [[nodiscard]] double fraction(std::string_view key,
                                std::optional<double> fallback = std::nullopt);  // in [0, 1]
  // A number with a unit: "16 KiB", "64MiB", "1GiB", "512B".
  [[nodiscard]] std::uint64_t bytes(std::string_view key, std::uint64_t min, std::uint64_t max,
                                    std::optional<std::uint64_t> fallback = std::nullopt);
  // A number with a unit: "250us", "500ms", "3s", "2m", "1h".
  [[nodiscard]] Duration duration(std::string_view key, Duration min, Duration max,
                                  std::optional<Duration> fallback = std::nullopt);
  [[nodiscard]] Endpoint endpoint(std::string_view key,
                                  std::optional<Endpoint> fallback = std::nullopt);
  [[nodiscard]] std::vector<Endpoint> endpoints(std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(
      std::string_view key, std::optional<std::vector<std::string>> fallback = std::nullopt);
  // A path; a relative one starts from the configuration file's folder.
  [[nodiscard]] std::filesystem::path path(
      std::string_view key, std::optional<std::filesystem::path> fallback = std::nullopt);

  [[nodiscard]] bool has(std::string_view key) const;
  // The table of that name; an absent one reads as empty.
  [[nodiscard]] ConfigSection section(std::string_view key);
  // The tables of an array, "[[key]]".
  [[nodiscard]] std::vector<ConfigSection> sections(std::string_view key);

  // For checks across keys: notes a mistake at this key's line (at the table's, without the key).
  void mistake(std::string_view key, std::string_view expected);

 private:
  friend class ConfigFile;
  ConfigSection(ConfigFile::State& file, const void* table, std::string name)
      : file_(&file), table_(table), name_(std::move(name)) {}

  ConfigFile::State* file_;
  const void* table_;  // a toml::table, or null for an absent one
  std::string name_;   // "limits." in front of a key in messages
};

}  // namespace prophecy
