// TLS at all listeners that have it: certificates, and the keys of tickets in memory that this
// process shares with its children. Made by the master; a child has a copy of its own but for the
// tickets' keys, and reads certificates anew when it is told.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "sketcher/config/listener_settings.hpp"
#include "transport/ticket_keys.hpp"
#include "transport/tls_server.hpp"

namespace prophecy::sketcher {

class TlsListeners {
 public:
  // Complains of each listener whose files are not in order, by its number; it is null then.
  using Complain = std::function<void(std::size_t listener, const Error& error)>;
  [[nodiscard]] static Result<std::unique_ptr<TlsListeners>> load(
      const std::vector<ListenerSettings>& listeners, const Complain& complain);
  ~TlsListeners();
  TlsListeners(const TlsListeners&) = delete;
  TlsListeners& operator=(const TlsListeners&) = delete;

  // Null for a listener without TLS.
  [[nodiscard]] transport::TlsServer* at(std::size_t listener) { return servers_[listener].get(); }
  [[nodiscard]] bool any() const;

  // Each listener keeps what it has when its files are not in order. The error tells of the first.
  [[nodiscard]] Result<> reload();
  // By the master alone.
  void rotate_tickets();

 private:
  explicit TlsListeners(transport::TicketKeys* tickets) : tickets_(tickets) {}

  transport::TicketKeys* tickets_;
  std::vector<std::unique_ptr<transport::TlsServer>> servers_;  // at the listeners' places
};

}  // namespace prophecy::sketcher
