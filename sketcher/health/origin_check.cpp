#include "sketcher/health/origin_check.hpp"

#include <algorithm>

namespace prophecy::sketcher {

using http::ExchangeEnd;
using replica_client::CheckOutcome;

namespace {

constexpr std::size_t kCheckedBytesMax = 64 << 10;

http::OriginSettings checked_origin(http::OriginSettings origin) {
  origin.connections_max = 1;
  origin.queue_max = 1;
  origin.pipeline_max = 1;
  origin.answer_limits.body_bytes_max = kCheckedBytesMax;
  return origin;
}

std::string request_text(const CheckSettings& settings, const Endpoint& address) {
  const std::string host = settings.host.empty() ? to_string(address) : settings.host;
  return settings.method + " " + settings.path + " HTTP/1.1\r\nhost: " + host +
         "\r\nuser-agent: prophecy-sketcher (health check)\r\nconnection: close\r\n\r\n";
}

CheckOutcome outcome_of(ExchangeEnd end) {
  switch (end) {
    case ExchangeEnd::answered:
      return CheckOutcome::passed;
    case ExchangeEnd::not_sent:
    case ExchangeEnd::overloaded:
      return CheckOutcome::no_connection;
    case ExchangeEnd::stale:
    case ExchangeEnd::broken:
      return CheckOutcome::broken;
    case ExchangeEnd::timed_out:
    case ExchangeEnd::delayed:
    case ExchangeEnd::quiet:
      return CheckOutcome::timed_out;
    case ExchangeEnd::malformed:
      return CheckOutcome::malformed;
    case ExchangeEnd::too_large:
    case ExchangeEnd::shed:
      return CheckOutcome::too_large;
    case ExchangeEnd::untrusted:
      return CheckOutcome::untrusted;
    case ExchangeEnd::expired:
      return CheckOutcome::expired;
    case ExchangeEnd::wrong_name:
      return CheckOutcome::wrong_name;
    case ExchangeEnd::tls_failed:
      return CheckOutcome::tls_failed;
  }
  return CheckOutcome::malformed;
}

}  // namespace

OriginCheck::OriginCheck(boost::asio::io_context& loop, const CheckSettings& settings,
                         const http::OriginSettings& origin, http::OriginTimeouts& timeouts,
                         SecureRandom& random, Wanted wanted, Report report)
    : settings_(settings),
      random_(random),
      wanted_(std::move(wanted)),
      report_(std::move(report)),
      wire_(request_text(settings, origin.address)),
      timer_(loop),
      pool_(loop, checked_origin(origin), timeouts),
      exchange_(*this) {}

void OriginCheck::start() {
  wait(random_below(std::min<Duration>(settings_.interval, seconds(1))));
}

void OriginCheck::wait(Duration time) {
  timer_.expires_after(time);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) check();
  });
}

void OriginCheck::check() {
  if (!wanted_()) return wait(settings_.interval);
  http::ExchangeRequest request;
  request.wire = wire_;
  request.answers_head = settings_.method == "HEAD";
  request.fresh_connection = true;
  pool_.start(exchange_, request);
}

void OriginCheck::on_exchange_end(http::OriginExchange& /*exchange*/, ExchangeEnd end,
                                  http::Response& response) {
  const bool answered = end == ExchangeEnd::answered;
  const CheckOutcome outcome =
      answered ? judge(settings_.rule, response.status, response.body) : outcome_of(end);
  report_(outcome, answered ? response.status : std::uint16_t{0});
  wait(settings_.interval - settings_.interval / 10 + random_below(settings_.interval / 5));
}

Duration OriginCheck::random_below(Duration bound) {
  const auto micros = std::chrono::duration_cast<microseconds>(bound).count();
  return microseconds(
      random_.below(static_cast<std::uint32_t>(std::clamp<std::int64_t>(micros, 1, UINT32_MAX))));
}

}  // namespace prophecy::sketcher
