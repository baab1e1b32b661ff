// The checks of one origin, one after another: a request on a connection of its own, then a pause
// of the interval, give or take a tenth, so that no origin is asked by all sketchers at one time.
//
// Single-threaded, on the checker's loop.
#pragma once

#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/random.hpp"
#include "http/client/origin_pool.hpp"
#include "sketcher/config/health_settings.hpp"

namespace prophecy::sketcher {

class OriginCheck final : private http::OriginHandler {
 public:
  // `status` is 0 without an answer.
  using Report = std::function<void(replica_client::CheckOutcome outcome, std::uint16_t status)>;
  // Whether it is to be checked now.
  using Wanted = std::function<bool()>;

  // All that is handed by reference outlives it.
  OriginCheck(boost::asio::io_context& loop, const CheckSettings& settings,
              const http::OriginSettings& origin, http::OriginTimeouts& timeouts,
              SecureRandom& random, Wanted wanted, Report report);

  // The first check comes within the interval, and within a second.
  void start();

 private:
  void on_exchange_end(http::OriginExchange& exchange, http::ExchangeEnd end,
                       http::Response& response) override;
  void wait(Duration time);
  void check();
  // Uniform in [0, bound).
  [[nodiscard]] Duration random_below(Duration bound);

  const CheckSettings& settings_;
  SecureRandom& random_;
  Wanted wanted_;
  Report report_;
  std::string wire_;
  boost::asio::steady_timer timer_;
  http::OriginPool pool_;
  http::OriginExchange exchange_;
};

}  // namespace prophecy::sketcher
