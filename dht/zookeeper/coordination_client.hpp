// `CoordinationClient` serves the ring's calls (dht/core/coordination.hpp) from a ZooKeeper
// service.
//
// Single-threaded; as Client otherwise.
#pragma once

#include <memory>
#include <utility>

#include "dht/zookeeper/client.hpp"
#include "dht/zookeeper/core/coordination_calls.hpp"

namespace prophecy::zookeeper {

class CoordinationClient final : private Client::Handler {
 public:
  class Handler {
   public:
    virtual void on_result(dht::CoordinationResult result) = 0;
    virtual void on_session(dht::SessionEvent event) = 0;
    // No event comes any more.
    virtual void on_closed() {}

   protected:
    ~Handler() = default;
  };

  [[nodiscard]] static Result<std::unique_ptr<CoordinationClient>> make(
      boost::asio::io_context& loop, ClientSettings settings, Logger& log, Handler& handler);

  void start() { client_->start(); }
  void call(dht::CoordinationCall call);
  void close() { client_->close(); }
  // To compare with CoordinationResult::owner_session; 0: none. Not to be logged.
  [[nodiscard]] std::uint64_t session_id() const {
    return static_cast<std::uint64_t>(client_->session().session_id());
  }
  [[nodiscard]] const SessionCounters& counters() const { return client_->session().counters(); }

 private:
  explicit CoordinationClient(Handler& handler) : handler_(handler) {}
  void on_completion(Completion completion) override;
  void on_report(const Report& report) override;

  Handler& handler_;
  CoordinationCalls calls_;
  std::unique_ptr<Client> client_;  // never null once made
};

}  // namespace prophecy::zookeeper
