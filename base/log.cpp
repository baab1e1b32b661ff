#include "base/log.hpp"

#include <chrono>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/assert.hpp"

namespace prophecy {
namespace {

constexpr const char* kLevelNames[] = {"debug", "info", "warning", "error"};

const char* level_name(LogLevel level) {
  return kLevelNames[static_cast<int>(level)];
}

std::string utc_now() {
  const auto now =
      std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  const auto micros = now.time_since_epoch().count() % 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), micros);
}

// Strings may come from a client or a peer: JSON quoting keeps a value on its line, and invalid
// UTF-8 becomes U+FFFD.
std::string quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

void append_text(std::string& line, const LogField& field) {
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string_view>) {
          const bool plain =
              !value.empty() &&
              value.find_first_not_of(
                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_-+[]") ==
                  std::string_view::npos;
          line += fmt::format(" {}={}", field.name, plain ? std::string(value) : quoted(value));
        } else {
          line += fmt::format(" {}={}", field.name, value);
        }
      },
      field.value);
}

std::string text_line(LogLevel level, std::string_view component, std::string_view event,
                      std::initializer_list<LogField> fields) {
  std::string line = fmt::format("{} {:<7} {} {}", utc_now(), level_name(level), component, event);
  for (const LogField& field : fields)
    append_text(line, field);
  return line;
}

std::string json_line(LogLevel level, std::string_view component, std::string_view event,
                      std::initializer_list<LogField> fields) {
  nlohmann::ordered_json object{{"time", utc_now()},
                                {"level", level_name(level)},
                                {"component", component},
                                {"event", event}};
  for (const LogField& field : fields) {
    std::visit([&](const auto& value) { object[std::string(field.name)] = value; }, field.value);
  }
  return object.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

struct Logger::Sink {
  spdlog::sinks::stderr_sink_st out;
};

Logger::Logger(std::string component, LogSettings settings)
    : sink_(std::make_unique<Sink>()), component_(std::move(component)), settings_(settings) {
  sink_->out.set_pattern("%v");
}

Logger::~Logger() = default;

void Logger::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!enabled(level)) return;
  const std::string line = settings_.format == LogFormat::json
                               ? json_line(level, component_, event, fields)
                               : text_line(level, component_, event, fields);
  sink_->out.log(spdlog::details::log_msg("", spdlog::level::info, line));
  sink_->out.flush();
}

void Logger::debug(std::string_view event, std::initializer_list<LogField> fields) {
  write(LogLevel::debug, event, fields);
}
void Logger::info(std::string_view event, std::initializer_list<LogField> fields) {
  write(LogLevel::info, event, fields);
}
void Logger::warning(std::string_view event, std::initializer_list<LogField> fields) {
  write(LogLevel::warning, event, fields);
}
void Logger::error(std::string_view event, std::initializer_list<LogField> fields) {
  write(LogLevel::error, event, fields);
}

void Logger::rename(std::string component) {
  component_ = std::move(component);
}

LogSettings read_log_settings(ConfigSection section) {
  LogSettings settings;
  settings.level =
      static_cast<LogLevel>(section.choice("level", {"debug", "info", "warning", "error"}, 1));
  settings.format = static_cast<LogFormat>(section.choice("format", {"text", "json"}, 0));
  return settings;
}

}  // namespace prophecy
