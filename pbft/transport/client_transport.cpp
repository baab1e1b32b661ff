#include "pbft/transport/client_transport.hpp"

#include "base/assert.hpp"

namespace prophecy::pbft {

ClientTransport::ClientTransport(boost::asio::io_context& io, const TransportSettings& settings,
                                 const std::vector<Endpoint>& replicas, Callbacks callbacks)
    : settings_(settings), callbacks_(std::move(callbacks)), sweep_timer_(io) {
  for (NodeId replica = 0; replica < replicas.size(); ++replica) {
    links_.push_back(std::make_unique<PeerLink>(io, replica, replicas[replica], settings_,
                                                counters_, static_cast<PeerLink::Handler&>(*this)));
  }
}

void ClientTransport::start() {
  for (const auto& link : links_)
    link->start();
  sweep();
}

void ClientTransport::stop() {
  for (const auto& link : links_)
    link->stop();
  sweep_timer_.cancel();
}

void ClientTransport::send(NodeId replica, Frame frame) {
  ASSERT(replica < links_.size());
  links_[replica]->send(std::move(frame));
}

bool ClientTransport::connected(NodeId replica) const {
  ASSERT(replica < links_.size());
  return links_[replica]->connected();
}

void ClientTransport::on_link_frame(NodeId peer, ByteView frame) {
  callbacks_.on_frame(peer, frame);
}

void ClientTransport::on_link_state(NodeId peer, bool connected) {
  if (callbacks_.on_state) callbacks_.on_state(peer, connected);
}

void ClientTransport::on_link_open(NodeId peer) {
  if (callbacks_.on_open) callbacks_.on_open(peer);
}

void ClientTransport::on_link_insecure(NodeId peer, const std::string& reason) {
  if (callbacks_.on_insecure) callbacks_.on_insecure(peer, reason);
}

void ClientTransport::sweep() {
  const TimePoint now = std::chrono::steady_clock::now();
  for (const auto& link : links_)
    link->check_stall(now);
  sweep_timer_.expires_after(settings_.stall_timeout / 4);
  sweep_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) sweep();
  });
}

}  // namespace prophecy::pbft
