#include "base/command_line/command_line.hpp"

#include <charconv>
#include <utility>

#include <CLI/CLI.hpp>

namespace prophecy {
namespace {

// CLI11 reads "-1" as a number of 64 bits, and takes the largest one for any that is larger.
template <class Number>
Option with_whole_number(CLI::Option& option) {
  option.check(
      [](const std::string& text) {
        Number number = 0;
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, number);
        const bool is_one = read.ec == std::errc{} && read.ptr == end;
        return is_one ? std::string() : "expected a whole number, found " + text;
      },
      "", "");
  return Option(option);
}

}  // namespace

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::between(std::uint64_t min, std::uint64_t max) const {
  option_->check(CLI::Range(min, max));
  return *this;
}

Option Option::within(double min, double max) const {
  option_->check(CLI::Range(min, max));
  // Nothing is beyond the bounds by comparison with what is no number.
  option_->check(
      [](const std::string& text) {
        double value = 0;
        const bool is_one = CLI::detail::lexical_cast(text, value) && value == value;
        return is_one ? std::string() : "expected a number, found " + text;
      },
      "", "");
  return *this;
}

Option Option::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}

Option Option::size() const {
  option_->transform(CLI::AsSizeValue(false));
  return *this;
}

Option Option::one_each() const {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::separated_by(char separator) const {
  option_->delimiter(separator);
  return *this;
}

Option Option::needs(const Option& other) const {
  option_->needs(other.option_);
  return *this;
}

Option Option::shows_default() const {
  option_->capture_default_str();
  return *this;
}

bool Option::is_given() const {
  return option_->count() != 0;
}

Command Command::add_command(const std::string& name, const std::string& help) const {
  return Command(*app_->add_subcommand(name, help), *chosen_);
}

void Command::needs_command() const {
  app_->require_subcommand(1);
}

void Command::on_run(std::function<int()> run) const {
  app_->callback([chosen = chosen_, run = std::move(run)] { *chosen = run; });
}

Option Command::add(const std::string& name, std::string& value, const std::string& help) const {
  return Option(*app_->add_option(name, value, help));
}

Option Command::add(const std::string& name, std::filesystem::path& value,
                    const std::string& help) const {
  return Option(*app_->add_option(name, value, help));
}

Option Command::add(const std::string& name, std::vector<std::string>& values,
                    const std::string& help) const {
  return Option(*app_->add_option(name, values, help));
}

Option Command::add(const std::string& name, std::uint32_t& value, const std::string& help) const {
  return with_whole_number<std::uint32_t>(*app_->add_option(name, value, help));
}

Option Command::add(const std::string& name, std::uint64_t& value, const std::string& help) const {
  return with_whole_number<std::uint64_t>(*app_->add_option(name, value, help));
}

Option Command::add(const std::string& name, std::optional<std::uint64_t>& value,
                    const std::string& help) const {
  return with_whole_number<std::uint64_t>(*app_->add_option(name, value, help));
}

Option Command::add(const std::string& name, double& value, const std::string& help) const {
  return Option(*app_->add_option(name, value, help));
}

Option Command::flag(const std::string& name, bool& value, const std::string& help) const {
  return Option(*app_->add_flag(name, value, help));
}

CommandLine::CommandLine(const std::string& name, const std::string& description,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  if (!version.empty()) app_->set_version_flag("--version", name + " " + version);
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() {
  return Command(*app_, chosen_);
}

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : kMistake;
  }
  return std::nullopt;
}

int CommandLine::complain_without(std::string_view option) {
  app_->exit(CLI::RequiredError(std::string(option)));
  return kMistake;
}

}  // namespace prophecy
