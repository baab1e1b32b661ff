// `MemberService` is a worker's part in the ring: its connections to the other members, and what
// the sessions of those share that come from them.
//
// Single-threaded. The worker's context and what clients' sessions share outlive it.
#pragma once

#include "sketcher/client/client_connection.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/members/member_links.hpp"
#include "sketcher/reads/exchange_handler.hpp"

namespace prophecy::sketcher {

class MemberService {
 public:
  MemberService(boost::asio::io_context& loop, const Installation& installation,
                WorkerContext& context, const SessionContext& clients, std::uint32_t worker);

  [[nodiscard]] MemberLinks& links() { return links_; }
  [[nodiscard]] std::vector<TimeoutQueue*> queues() { return links_.queues(); }
  [[nodiscard]] const ListenerTraits& listener() const { return listener_; }
  [[nodiscard]] SessionContext& sessions() { return sessions_; }

 private:
  const http::MessageLimits answer_limits_;
  MemberLinks links_;
  MemberDirectory directory_;
  PeerSettings peers_;  // nobody is announced, or trusted, by an address
  ListenerTraits listener_;
  ExchangeHandlers handlers_;
  SessionContext sessions_;
};

}  // namespace prophecy::sketcher
