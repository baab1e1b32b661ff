// Structured log lines: an event name and named values, as text for people or JSON for machines,
// on standard error. A Logger is made by main() and handed down by reference. Nobody waits for
// whoever reads standard error: lines that do not fit into its pipe are lost, and how many is
// written before the next one that fits ("log-lines-lost"). A pipe whose reader has gone raises
// SIGPIPE: main() has that ignored.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace prophecy {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
enum class LogFormat : std::uint8_t { text, json };

struct LogSettings {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
};

struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool> value;

  LogField(std::string_view n, std::string_view v) : name(n), value(v) {}
  LogField(std::string_view n, const std::string& v) : name(n), value(std::string_view(v)) {}
  LogField(std::string_view n, const char* v) : name(n), value(std::string_view(v)) {}
  LogField(std::string_view n, bool v) : name(n), value(v) {}
  LogField(std::string_view n, double v) : name(n), value(v) {}
  template <std::signed_integral T>
  LogField(std::string_view n, T v) : name(n), value(std::int64_t{v}) {}
  template <std::unsigned_integral T>
  LogField(std::string_view n, T v) : name(n), value(std::uint64_t{v}) {}
};

class Logger {
 public:
  // `component` stands on every line ("master", "worker-1", "replica-2").
  Logger(std::string component, LogSettings settings);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void debug(std::string_view event, std::initializer_list<LogField> fields = {});
  void info(std::string_view event, std::initializer_list<LogField> fields = {});
  void warning(std::string_view event, std::initializer_list<LogField> fields = {});
  void error(std::string_view event, std::initializer_list<LogField> fields = {});

  // In a forked child: the lines carry another component from now on.
  void rename(std::string component);
  [[nodiscard]] bool enabled(LogLevel level) const { return level >= settings_.level; }

 private:
  void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);

  [[nodiscard]] std::string make_line(LogLevel level, std::string_view event,
                                      std::initializer_list<LogField> fields) const;

  class Sink;
  std::unique_ptr<Sink> sink_;
  std::string component_;
  LogSettings settings_;
};

}  // namespace prophecy
