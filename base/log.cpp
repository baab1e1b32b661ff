#include "base/log.hpp"

#include <cerrno>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

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

// Standard error, which never has the program wait for whoever reads it: a line for which a pipe or
// a socket has no room is lost, and counted. Not so at a file or a terminal.
class Logger::Sink {
 public:
  Sink() {
    struct stat status {};
    if (::fstat(STDERR_FILENO, &status) != 0) return;
    is_socket_ = S_ISSOCK(status.st_mode);
    if (S_ISFIFO(status.st_mode)) open_pipe_anew();
  }

  // Lines that were lost since it was last asked, which begins anew.
  [[nodiscard]] std::uint64_t take_lost() { return std::exchange(lost_, 0); }
  // Up to PIPE_BUF bytes go out whole, or not at all.
  bool put(std::string line) {
    if (is_cut_) line.insert(line.begin(), '\n');
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t size = write_some(rest);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      is_cut_ = true;
      rest.remove_prefix(static_cast<std::size_t>(size));
    }
    if (rest.empty()) is_cut_ = false;
    return rest.empty();
  }
  void lose(std::uint64_t lines) { lost_ += lines; }

 private:
  // O_NONBLOCK belongs to what others have inherited as well: so standard error becomes another
  // opening of the pipe, this process's and its children's. (A descriptor of its own would be
  // closed in a fork, and be something else's by the next line.) Where that may not be, as of a
  // pipe that another user has made, it waits after all.
  static void open_pipe_anew() {
    const UniqueFd pipe(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (pipe) ::dup2(pipe.get(), STDERR_FILENO);
  }
  [[nodiscard]] ssize_t write_some(std::string_view text) const {
    if (is_socket_) {
      return ::send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    return ::write(STDERR_FILENO, text.data(), text.size());
  }

  bool is_socket_ = false;
  std::uint64_t lost_ = 0;
  bool is_cut_ = false;  // the last line has no end yet
};

Logger::Logger(std::string component, LogSettings settings)
    : sink_(std::make_unique<Sink>()), component_(std::move(component)), settings_(settings) {}

Logger::~Logger() = default;

std::string Logger::make_line(LogLevel level, std::string_view event,
                              std::initializer_list<LogField> fields) const {
  return settings_.format == LogFormat::json ? json_line(level, component_, event, fields)
                                             : text_line(level, component_, event, fields);
}

void Logger::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!enabled(level)) return;
  if (const std::uint64_t lost = sink_->take_lost(); lost > 0) {
    if (!sink_->put(make_line(LogLevel::warning, "log-lines-lost", {{"lines", lost}}))) {
      return sink_->lose(lost + 1);
    }
  }
  if (!sink_->put(make_line(level, event, fields))) sink_->lose(1);
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
  static_cast<void>(sink_->take_lost());  // which the parent tells of
}

}  // namespace prophecy
