// What a browser says while a page is captured is taken as the same answers, however it is cut, and
// the same commands are sent. A line end stands for the zero byte between messages.
#include <algorithm>
#include <string>

#include "expect.hpp"
#include "measurement/capture/devtools_messages.hpp"
#include "measurement/capture/page_answers.hpp"

using namespace prophecy::measurement;

namespace {

constexpr std::uint64_t kBodyBytesMax = 1000;

struct Captured {
  std::string answers;
  std::string commands;
  bool operator==(const Captured&) const = default;
};

void note(const CapturedAnswer& answer, std::string& text) {
  REQUIRE(answer.body.size() <= kBodyBytesMax);
  REQUIRE(answer.status >= 100 && answer.status <= 599);
  text.append(answer.method).append(" ").append(answer.url).append(" ").append(answer.address);
  text.append(" ").append(std::to_string(answer.status)).append("\n");
  for (const auto& [name, value] : answer.fields) {
    REQUIRE(!name.empty());
    text.append(name).append(": ").append(value).append("\n");
  }
  text.append(answer.body).append("\n");
}

Captured capture(std::string_view input, std::size_t piece) {
  Captured captured;
  PageAnswers* taker = nullptr;
  DevToolsMessages messages([&](const std::string& session, const std::string& method,
                                const DevToolsMessages::Json& parameters) {
    taker->on_event(session, method, parameters);
  });
  PageAnswers page(
      kBodyBytesMax,
      [&](const std::string& session, std::string_view method, DevToolsMessages::Json parameters,
          DevToolsMessages::OnAnswer on_answer) {
        messages.send(session, method, std::move(parameters), std::move(on_answer));
      },
      [&](const CapturedAnswer& answer) { note(answer, captured.answers); },
      [&](const std::string& problem) { captured.answers.append(problem).append("\n"); });
  taker = &page;
  page.begin("S");
  for (; !input.empty(); input.remove_prefix(std::min(piece, input.size()))) {
    if (!messages.feed(input.substr(0, piece))) break;
  }
  page.end();
  captured.commands = messages.out();
  return captured;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::replace(input.begin(), input.end(), '\n', '\0');
  REQUIRE(capture(input, input.size() + 1) == capture(input, 1 + data[0] % 32));
  return 0;
}
