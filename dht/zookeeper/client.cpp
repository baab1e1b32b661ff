#include "dht/zookeeper/client.hpp"

#include <bit>
#include <utility>

#include <boost/asio/post.hpp>

namespace prophecy::zookeeper {

namespace asio = boost::asio;

namespace {

TimePoint now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

Result<std::unique_ptr<Client>> Client::make(asio::io_context& loop, ClientSettings settings,
                                             Logger& log, Handler& handler) {
  settings.session.servers = settings.servers.size();
  if (auto checked = check(settings.session); !checked) return checked.error();
  return std::unique_ptr<Client>(
      new Client(loop, std::move(settings.servers), std::move(settings.session), log, handler));
}

Client::Client(asio::io_context& loop, std::vector<ServerSettings> servers,
               SessionSettings settings, Logger& log, Handler& handler)
    : loop_(loop),
      servers_(std::move(servers)),
      log_(log),
      handler_(handler),
      session_(std::move(settings), [this](std::uint32_t bound) { return random_.below(bound); }),
      connection_(loop, *this),
      timer_(loop) {}

Client::~Client() = default;

void Client::start() {
  session_.start(now());
  carry_out();
}

void Client::call(std::uint64_t number, Request request) {
  session_.call(number, std::move(request), now());
  carry_out();
}

void Client::close() {
  session_.close(now());
  carry_out();
}

void Client::on_opened() {
  session_.on_opened(now());
  carry_out_and_tell();
}

void Client::on_bytes(ByteView bytes) {
  session_.on_bytes(bytes, now());
  carry_out_and_tell();
}

void Client::on_lost(std::string reason) {
  session_.on_lost(std::move(reason), now());
  carry_out_and_tell();
}

void Client::carry_out() {
  for (Action& action : session_.take_actions()) {
    if (const auto* const connect = std::get_if<Connect>(&action)) {
      server_ = connect->server;
      connection_.open(servers_[server_].address, servers_[server_].tls);
    } else if (const auto* const send = std::get_if<Send>(&action)) {
      connection_.send(send->bytes);
    } else if (std::holds_alternative<Disconnect>(action)) {
      connection_.close();
    } else if (auto* const completion = std::get_if<Completion>(&action)) {
      news_.emplace_back(std::move(*completion));
    } else if (auto* const report = std::get_if<Report>(&action)) {
      log_report(*report);
      news_.emplace_back(std::move(*report));
    }
  }
  arm();
  if (!news_.empty()) tell_soon();
}

void Client::carry_out_and_tell() {
  carry_out();
  tell();
}

void Client::tell_soon() {
  if (std::exchange(will_tell_, true)) return;
  asio::post(loop_, [this] {
    will_tell_ = false;
    tell();
  });
}

// The handler's calls may add to the news: those are told by a later turn at the latest.
void Client::tell() {
  for (std::size_t left = news_.size(); left > 0 && !news_.empty(); --left) {
    News news = std::move(news_.front());
    news_.pop_front();
    if (auto* const completion = std::get_if<Completion>(&news)) {
      handler_.on_completion(std::move(*completion));
    } else {
      handler_.on_report(std::get<Report>(news));
    }
  }
}

// A timer that is armed for sooner is left alone: the session may be asked too soon.
void Client::arm() {
  const TimePoint next = session_.next_time();
  if (next >= armed_for_) return;
  armed_for_ = next;
  timer_.expires_at(next);
  timer_.async_wait([this, next](const boost::system::error_code& error) {
    if (error || next != armed_for_) return;
    armed_for_ = TimePoint::max();
    session_.on_time(now());
    carry_out_and_tell();
  });
}

// Failed attempts are logged ever more rarely: the first, the second, the fourth, ...
void Client::log_report(const Report& report) {
  const std::string server = to_string(servers_[server_].address);
  switch (report.kind) {
    case Report::Kind::connected:
    case Report::Kind::session_begun:
      failures_ = 0;
      return log_.info("zookeeper-connected",
                       {{"server", server},
                        {"new_session", report.kind == Report::Kind::session_begun},
                        {"timeout_ms", session_.timeout().count()}});
    case Report::Kind::attempt_failed:
      if (!std::has_single_bit(++failures_)) return;
      return log_.warning("zookeeper-unreachable",
                          {{"server", server}, {"reason", report.reason}, {"failures", failures_}});
    case Report::Kind::disconnected:
      return log_.warning("zookeeper-disconnected",
                          {{"server", server}, {"reason", report.reason}});
    case Report::Kind::expired:
      return log_.warning("zookeeper-session-expired", {{"reason", report.reason}});
    case Report::Kind::rejected:
      return log_.error("zookeeper-rejects-us", {{"server", server}, {"reason", report.reason}});
    case Report::Kind::closed:
      return log_.info("zookeeper-session-closed");
    case Report::Kind::changed:
    case Report::Kind::alive:
      return;
  }
}

}  // namespace prophecy::zookeeper
