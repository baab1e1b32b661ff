// The command line of a program: its commands, options and --help.
//
// CLI11 does the work, and is a header that takes a compiler seconds: base/command_line/ alone
// includes it. Names are CLI11's: "--name", "-n,--name", or "name" for a positional argument.
// Values are read into the variables that options were added with, which outlive the `CommandLine`;
// what they hold before is the default. A mistake of whoever uses the program is a line on standard
// error, and ends parse().
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace prophecy {

// A handle: copies stand for the same option.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  // A whole number.
  Option between(std::uint64_t min, std::uint64_t max) const;
  Option within(double min, double max) const;
  Option one_of(const std::vector<std::string>& values) const;
  // A size in bytes, with a unit or without ("64KiB").
  Option size() const;
  // For a list: the option takes one value each time it is given.
  Option one_each() const;
  Option separated_by(char separator) const;
  // Refused without the other one.
  Option needs(const Option& other) const;
  // --help shows the default.
  Option shows_default() const;

  [[nodiscard]] bool is_given() const;

 private:
  CLI::Option* option_;
};

// A handle for the program itself or one of its commands.
class Command {
 public:
  explicit Command(CLI::App& app, std::function<int()>& chosen) : app_(&app), chosen_(&chosen) {}

  Command add_command(const std::string& name, const std::string& help) const;
  // The command line has to name one of its commands.
  void needs_command() const;
  // `run` returns the exit status of the program.
  void on_run(std::function<int()> run) const;

  Option add(const std::string& name, std::string& value, const std::string& help) const;
  Option add(const std::string& name, std::filesystem::path& value, const std::string& help) const;
  Option add(const std::string& name, std::vector<std::string>& values,
             const std::string& help) const;
  Option add(const std::string& name, std::uint32_t& value, const std::string& help) const;
  Option add(const std::string& name, std::uint64_t& value, const std::string& help) const;
  Option add(const std::string& name, std::optional<std::uint64_t>& value,
             const std::string& help) const;
  Option add(const std::string& name, double& value, const std::string& help) const;
  Option flag(const std::string& name, bool& value, const std::string& help) const;

 private:
  CLI::App* app_;
  std::function<int()>* chosen_;
};

class CommandLine {
 public:
  static constexpr int kMistake = 2;  // the exit status

  // `version` is what --version prints; without one there is no such option.
  CommandLine(const std::string& name, const std::string& description,
              const std::string& version = "");
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command program();

  // The exit status, if the program is to end: --help, --version, or a mistake.
  [[nodiscard]] std::optional<int> parse(int argc, const char* const* argv);
  // As parse() does for an option that is required and missing. Returns the exit status.
  [[nodiscard]] int complain_without(std::string_view option);
  // Runs the command that was chosen, after parse().
  [[nodiscard]] int run() const { return chosen_(); }

 private:
  std::unique_ptr<CLI::App> app_;
  std::function<int()> chosen_;
};

}  // namespace prophecy
