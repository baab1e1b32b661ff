// `Client` holds a session with a ZooKeeper service: the shell of core/session.hpp, on an Asio
// loop. Servers are numeric addresses; no name is resolved. It logs connections and their ends,
// each with its server.
//
// Single-threaded. Completions and reports come from the loop, never from within a call of a
// member. Its loop must not run any more once it is destroyed. A process that forks has it on one
// side alone.
#pragma once

#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/endpoint.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "dht/zookeeper/connection.hpp"
#include "dht/zookeeper/core/session.hpp"
#include "transport/tls_client.hpp"

namespace prophecy::zookeeper {

struct ServerSettings {
  Endpoint address;
  transport::TlsClient* tls = nullptr;  // null for plain TCP; outlives the client
};

struct ClientSettings {
  std::vector<ServerSettings> servers;
  SessionSettings session = {};  // `servers` in it is set by make()
};

class Client final : private Connection::Handler {
 public:
  // Each may call any member of the client, and may not destroy it.
  class Handler {
   public:
    virtual void on_completion(Completion completion) = 0;
    virtual void on_report(const Report& report) = 0;

   protected:
    ~Handler() = default;
  };

  [[nodiscard]] static Result<std::unique_ptr<Client>> make(boost::asio::io_context& loop,
                                                            ClientSettings settings, Logger& log,
                                                            Handler& handler);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start();
  void call(std::uint64_t number, Request request);
  // Ends the session; the last report is `closed`.
  void close();

  [[nodiscard]] const Session& session() const { return session_; }

 private:
  using News = std::variant<Completion, Report>;

  Client(boost::asio::io_context& loop, std::vector<ServerSettings> servers,
         SessionSettings settings, Logger& log, Handler& handler);

  void on_opened() override;
  void on_bytes(ByteView bytes) override;
  void on_lost(std::string reason) override;

  // Does what the session asks for, but for its news.
  void carry_out();
  // Likewise, and tells the news.
  void carry_out_and_tell();
  void tell_soon();
  void tell();
  void arm();
  void log_report(const Report& report);

  boost::asio::io_context& loop_;
  std::vector<ServerSettings> servers_;
  Logger& log_;
  Handler& handler_;
  SecureRandom random_;
  Session session_;
  Connection connection_;
  boost::asio::steady_timer timer_;
  TimePoint armed_for_ = TimePoint::max();
  std::size_t server_ = 0;      // of the last attempt
  std::uint64_t failures_ = 0;  // since the last connection
  std::deque<News> news_;
  bool will_tell_ = false;
};

}  // namespace prophecy::zookeeper
