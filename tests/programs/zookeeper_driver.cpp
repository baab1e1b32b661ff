// Holds a session with a ZooKeeper service for the end-to-end tests: commands come as lines of JSON
// on standard input, completions and reports go as such to standard output. The session is closed
// at the end of the input.
//
//   zookeeper_driver '{"servers": ["127.0.0.1:2181"], "timeout_ms": 1000, "tls": {...},
//                      "identity": ["digest", "name:password"], "access": [["auth", ""]],
//                      "ring": true}'
//
// With `ring` the commands are those of dht/core/coordination.hpp, else those of
// dht/zookeeper/core/request.hpp. Each has a `number`, an `op`, and the members of its type.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/assert.hpp"
#include "dht/zookeeper/coordination_client.hpp"

namespace {

using namespace prophecy;
using nlohmann::json;
namespace asio = boost::asio;
namespace zk = prophecy::zookeeper;

void say(const json& line) {
  std::cout << line.dump() << std::endl;
}

zk::Step step_from(const json& step) {
  const std::string op = step.at("op");
  const std::string path = step.at("path");
  const Bytes data = to_bytes(step.value("data", ""));
  const std::int32_t version = step.value("version", zk::kAnyVersion);
  if (op == "create") return zk::Create{path, data, step.value("ephemeral", false)};
  if (op == "set") return zk::SetData{path, data, version};
  if (op == "delete") return zk::Delete{path, version};
  ASSERT(op == "check");
  return zk::Check{path, version};
}

zk::Request request_from(const json& command) {
  const std::string op = command.at("op");
  if (op == "multi") {
    zk::Multi multi;
    for (const json& step : command.at("steps"))
      multi.steps.push_back(step_from(step));
    return multi;
  }
  const std::string path = command.at("path");
  const bool watch = command.value("watch", false);
  if (op == "get") return zk::GetData{path, watch};
  if (op == "children") return zk::GetChildren{path, watch};
  if (op == "exists") return zk::Exists{path, watch};
  if (op == "sync") return zk::Sync{path};
  const zk::Step step = step_from(command);
  if (const auto* const create = std::get_if<zk::Create>(&step)) return *create;
  if (const auto* const set = std::get_if<zk::SetData>(&step)) return *set;
  return std::get<zk::Delete>(step);
}

dht::CoordinationCall call_from(const json& command) {
  using Call = dht::CoordinationCall;
  using Step = dht::WriteStep;
  Call call;
  call.number = command.at("number");
  call.path = command.value("path", "");
  call.watches = command.value("watch", false);
  const std::string op = command.at("op");
  call.kind = op == "read"       ? Call::Kind::read
              : op == "children" ? Call::Kind::children
                                 : Call::Kind::write;
  for (const json& given : command.value("steps", json::array())) {
    const std::string kind = given.at("op");
    Step step;
    step.kind = kind == "check"              ? Step::Kind::check
                : kind == "create"           ? Step::Kind::create
                : kind == "create_ephemeral" ? Step::Kind::create_ephemeral
                : kind == "set"              ? Step::Kind::set
                                             : Step::Kind::remove;
    step.path = given.at("path");
    step.version = given.value("version", 0);
    step.data = to_bytes(given.value("data", ""));
    call.steps.push_back(std::move(step));
  }
  return call;
}

const char* text(zk::Outcome outcome) {
  switch (outcome) {
    case zk::Outcome::done:
      return "done";
    case zk::Outcome::refused:
      return "refused";
    case zk::Outcome::not_sent:
      return "not_sent";
    case zk::Outcome::unknown:
      return "unknown";
  }
  UNREACHABLE();
}

const char* text(zk::Report::Kind kind) {
  using Kind = zk::Report::Kind;
  switch (kind) {
    case Kind::connected:
      return "connected";
    case Kind::session_begun:
      return "session_begun";
    case Kind::attempt_failed:
      return "attempt_failed";
    case Kind::disconnected:
      return "disconnected";
    case Kind::rejected:
      return "rejected";
    case Kind::expired:
      return "expired";
    case Kind::changed:
      return "changed";
    case Kind::alive:
      return "alive";
    case Kind::closed:
      return "closed";
  }
  UNREACHABLE();
}

const char* text(dht::CoordinationStatus status) {
  using Status = dht::CoordinationStatus;
  switch (status) {
    case Status::done:
      return "done";
    case Status::absent:
      return "absent";
    case Status::exists:
      return "exists";
    case Status::wrong_version:
      return "wrong_version";
    case Status::refused:
      return "refused";
    case Status::unknown:
      return "unknown";
  }
  UNREACHABLE();
}

const char* text(dht::SessionEvent event) {
  using Event = dht::SessionEvent;
  switch (event) {
    case Event::connected:
      return "connected";
    case Event::disconnected:
      return "disconnected";
    case Event::expired:
      return "expired";
    case Event::rejected:
      return "rejected";
    case Event::changed:
      return "changed";
    case Event::alive:
      return "alive";
  }
  UNREACHABLE();
}

class Driver final : zk::Client::Handler, zk::CoordinationClient::Handler {
 public:
  Driver(asio::io_context& loop, const json& options, Logger& log) : input_(loop, STDIN_FILENO) {
    if (options.value("ring", false)) {
      ring_ = need(zk::CoordinationClient::make(loop, settings(options), log, *this));
      ring_->start();
    } else {
      client_ = need(zk::Client::make(loop, settings(options), log, *this));
      client_->start();
    }
    read();
  }

 private:
  zk::ClientSettings settings(const json& options) {
    zk::ClientSettings settings;
    if (options.contains("tls")) {
      const json& given = options.at("tls");
      transport::TlsClientSettings tls;
      tls.ca = given.at("ca").get<std::string>();
      tls.server_name = given.at("name").get<std::string>();
      if (given.contains("chain")) {
        tls.certificate = transport::CertificateFiles{
            given.at("chain").get<std::string>(), given.at("key").get<std::string>(), std::nullopt};
      }
      tls_ = need(transport::TlsClient::load(std::move(tls)));
    }
    for (const std::string server : options.at("servers")) {
      auto address = parse_endpoint(server);
      ASSERT(address);
      settings.servers.push_back({std::move(*address), tls_.get()});
    }
    settings.session.timeout = milliseconds(options.value("timeout_ms", 1000));
    settings.session.pause_max = milliseconds(options.value("pause_max_ms", 500));
    if (options.contains("identity")) {
      settings.session.identities.push_back(
          {options.at("identity").at(0), options.at("identity").at(1)});
    }
    if (options.contains("access")) settings.session.access.clear();
    for (const json& rule : options.value("access", json::array()))
      settings.session.access.push_back({rule.at(0), rule.at(1)});
    return settings;
  }

  template <class T>
  static T need(Result<T> made) {
    if (made) return std::move(*made);
    say({{"error", made.error().message}});
    std::exit(1);
  }

  void read() {
    asio::async_read_until(input_, buffer_, '\n',
                           [this](const boost::system::error_code& error, std::size_t) {
                             if (error) return close();
                             std::istream lines(&buffer_);
                             std::string line;
                             std::getline(lines, line);
                             obey(json::parse(line));
                             read();
                           });
  }

  void obey(const json& command) {
    if (command.at("op") == "close") return close();
    if (ring_) {
      ring_->call(call_from(command));
    } else {
      client_->call(command.at("number"), request_from(command));
    }
  }

  void close() {
    if (ring_) ring_->close();
    if (client_) client_->close();
  }

  void on_completion(zk::Completion completion) override {
    const zk::Answer& answer = completion.answer;
    const std::int64_t owner = answer.stat.ephemeral_owner;
    const std::string about = to_string(completion.code);
    say({{"number", completion.number},
         {"outcome", text(completion.outcome)},
         {"code", static_cast<std::int32_t>(completion.code)},
         {"about", about},
         {"message", completion.message},
         {"failed_step", completion.failed_step},
         {"data", std::string(as_text(answer.data))},
         {"version", answer.stat.version},
         {"ephemeral", owner != 0},
         {"own", owner != 0 && owner == client_->session().session_id()},
         {"children", answer.children}});
  }
  void on_report(const zk::Report& report) override {
    say({{"report", text(report.kind)}, {"reason", report.reason}, {"path", report.path}});
    if (report.kind == zk::Report::Kind::closed) input_.close();
  }

  void on_result(dht::CoordinationResult result) override {
    say({{"number", result.number},
         {"status", text(result.status)},
         {"message", result.message},
         {"failed_step", result.failed_step},
         {"data", std::string(as_text(result.data))},
         {"version", result.version},
         {"ephemeral", result.owner_session != 0},
         {"own", result.owner_session != 0 && result.owner_session == ring_->session_id()},
         {"children", result.children}});
  }
  void on_session(dht::SessionEvent event) override { say({{"report", text(event)}}); }
  void on_closed() override {
    say({{"report", "closed"}});
    input_.close();
  }

  asio::posix::stream_descriptor input_;
  asio::streambuf buffer_;
  std::unique_ptr<transport::TlsClient> tls_;
  std::unique_ptr<zk::Client> client_;
  std::unique_ptr<zk::CoordinationClient> ring_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  asio::io_context loop(1);
  Logger log("driver", {});
  const Driver driver(loop, json::parse(arguments[1]), log);
  loop.run();
  return 0;
}
