#include "measurement/capture/devtools_pipe.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace prophecy::measurement {
namespace {

// Where the browser expects its ends.
constexpr int kCommands = 3;
constexpr int kEvents = 4;
constexpr std::size_t kReadBytes = 256 << 10;
constexpr auto kStartTime = seconds(60);
constexpr auto kEndTime = seconds(3);

constexpr const char* kFeaturesOff =
    "--disable-features=OptimizationHints,Translate,MediaRouter,RendererSideContentDecoding,"
    "HttpsUpgrades";
// Nothing that the browser does of its own accord, and nothing that it remembers.
const std::vector<std::string> kArguments = {"--headless=new",
                                             "--remote-debugging-pipe",
                                             "--no-first-run",
                                             "--no-default-browser-check",
                                             "--disable-background-networking",
                                             "--disable-component-update",
                                             "--disable-default-apps",
                                             "--disable-extensions",
                                             "--disable-sync",
                                             "--disable-domain-reliability",
                                             "--disable-client-side-phishing-detection",
                                             kFeaturesOff,
                                             "--metrics-recording-only",
                                             "--mute-audio",
                                             "--password-store=basic",
                                             "--use-mock-keychain"};

std::vector<std::string> arguments_of(const BrowserOptions& options) {
  std::vector<std::string> words = {options.program};
  words.insert(words.end(), kArguments.begin(), kArguments.end());
  words.push_back("--user-data-dir=" + options.profile.string());
  // Chromium's sandbox refuses to work for root.
  if (::geteuid() == 0) words.emplace_back("--no-sandbox");
  std::string rules;
  for (const std::string& rule : options.resolve) {
    const std::size_t split = rule.find('=');
    if (!rules.empty()) rules += ',';
    rules += "MAP " + rule.substr(0, split) + ' ' + rule.substr(split + 1);
  }
  if (!rules.empty()) words.push_back("--host-resolver-rules=" + rules);
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  words.emplace_back("about:blank");
  return words;
}

// In the child, between fork and exec: nothing that allocates.
[[noreturn]] void become_browser(int commands, int events, char* const* words) {
  // Both may be at the places themselves.
  const int high_commands = ::fcntl(commands, F_DUPFD, 10);
  const int high_events = ::fcntl(events, F_DUPFD, 10);
  ::dup2(high_commands, kCommands);
  ::dup2(high_events, kEvents);
  ::close_range(kEvents + 1, ~0U, 0);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(nothing, STDERR_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::execvp(words[0], words);
  ::_exit(127);
}

}  // namespace

DevToolsPipe::~DevToolsPipe() {
  if (process_ <= 0) return;
  to_browser_.reset();
  from_browser_.reset();
  // It ends when its pipe does.
  const auto limit = std::chrono::steady_clock::now() + kEndTime;
  while (::waitpid(process_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > limit) {
      ::kill(-process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  ::kill(-process_, SIGKILL);  // helpers that outlive it
}

Result<> DevToolsPipe::start(const BrowserOptions& options) {
  std::array<int, 2> commands{};
  std::array<int, 2> events{};
  if (::pipe2(commands.data(), O_CLOEXEC) != 0) return io_error("pipe");
  UniqueFd browser_commands(commands[0]);
  to_browser_.reset(commands[1]);
  if (::pipe2(events.data(), O_CLOEXEC) != 0) return io_error("pipe");
  from_browser_.reset(events[0]);
  UniqueFd browser_events(events[1]);
  std::vector<std::string> words = arguments_of(options);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  process_ = ::fork();
  if (process_ < 0) return io_error("fork");
  if (process_ == 0) become_browser(browser_commands.get(), browser_events.get(), pointers.data());
  ::signal(SIGPIPE, SIG_IGN);
  ::fcntl(to_browser_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(from_browser_.get(), F_SETFL, O_NONBLOCK);
  browser_commands.reset();
  browser_events.reset();
  Json answer;
  auto version = call({}, "Browser.getVersion", Json::object(), kStartTime, answer);
  if (!version) {
    return Error{ErrorKind::unavailable,
                 options.program + ": does not start: " + version.error().message};
  }
  return {};
}

void DevToolsPipe::send(const std::string& session, std::string_view method, Json parameters,
                        OnAnswer on_answer) {
  messages_.send(session, method, std::move(parameters), std::move(on_answer));
}

Result<> DevToolsPipe::write() {
  std::string& out = messages_.out();
  while (!out.empty()) {
    const ssize_t size = ::write(to_browser_.get(), out.data(), out.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return {};
    if (size < 0) return Error{ErrorKind::unavailable, "the browser has ended"};
    out.erase(0, static_cast<std::size_t>(size));
  }
  return {};
}

Result<> DevToolsPipe::pump(Duration time, int stop) {
  if (auto written = write(); !written) return written;
  std::array<pollfd, 3> asked = {
      pollfd{.fd = from_browser_.get(), .events = POLLIN, .revents = 0},
      pollfd{
          .fd = messages_.out().empty() ? -1 : to_browser_.get(), .events = POLLOUT, .revents = 0},
      pollfd{.fd = stop, .events = POLLIN, .revents = 0}};
  const auto limit = std::chrono::duration_cast<milliseconds>(time).count();
  if (::poll(asked.data(), asked.size(), static_cast<int>(limit)) <= 0) return {};
  if (asked[0].revents == 0) return write();
  std::string buffer(kReadBytes, '\0');
  const ssize_t size = ::read(from_browser_.get(), buffer.data(), buffer.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (size <= 0) return Error{ErrorKind::unavailable, "the browser has ended"};
  // Commands may be sent meanwhile, but nothing is read.
  auto taken = messages_.feed(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  return taken ? write() : taken;
}

Result<> DevToolsPipe::call(const std::string& session, std::string_view method, Json parameters,
                            Duration time, Json& answer) {
  bool has_come = false;
  std::string problem;
  const std::uint64_t command = messages_.send(session, method, std::move(parameters),
                                               [&](const Json* result, const std::string& error) {
                                                 has_come = true;
                                                 if (result != nullptr) answer = *result;
                                                 problem = error;
                                               });
  const TimePoint limit = std::chrono::steady_clock::now() + time;
  while (!has_come) {
    const TimePoint now = std::chrono::steady_clock::now();
    auto pumped = now < limit ? pump(limit - now)
                              : Result<>(Error{ErrorKind::unavailable, "no answer in time"});
    if (!pumped) {
      messages_.forget(command);
      return Error{pumped.error().kind, std::string(method) + ": " + pumped.error().message};
    }
  }
  if (!problem.empty()) return Error{ErrorKind::protocol, std::string(method) + ": " + problem};
  return {};
}

}  // namespace prophecy::measurement
