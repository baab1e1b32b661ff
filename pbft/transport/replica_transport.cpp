#include "pbft/transport/replica_transport.hpp"

#include "base/assert.hpp"
#include "pbft/wire/frame_header.hpp"

namespace prophecy::pbft {

namespace {

constexpr Duration kAcceptPause = milliseconds(100);

}  // namespace

ReplicaTransport::ReplicaTransport(boost::asio::io_context& io, const TransportSettings& settings,
                                   const ReplicaTransportParts& parts, Acceptor acceptor,
                                   Handler& handler)
    : settings_(settings),
      handler_(handler),
      acceptor_(std::move(acceptor)),
      inbound_(settings_, counters_),
      link_counters_(parts.replicas.size()),
      sweep_timer_(io),
      accept_pause_(io) {
  ASSERT(parts.self < parts.replicas.size());
  links_.resize(parts.replicas.size());
  for (NodeId peer = 0; peer < links_.size(); ++peer) {
    if (peer == parts.self) continue;
    links_[peer] =
        std::make_unique<PeerLink>(io, peer, parts.replicas[peer], settings_, link_counters_[peer],
                                   static_cast<PeerLink::Handler&>(*this));
  }
}

void ReplicaTransport::start() {
  accept();
  for (const auto& link : links_) {
    if (link) link->start();
  }
  sweep();
}

void ReplicaTransport::stop() {
  boost::system::error_code error;
  acceptor_.close(error);
  accept_pause_.cancel();
  sweep_timer_.cancel();
  for (const auto& link : links_) {
    if (link) link->stop();
  }
  inbound_.close_all();
}

void ReplicaTransport::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, Socket socket) {
    if (error == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (!error) {
      inbound_.add(std::move(socket), *this);
      accept();
      return;
    }
    accept_pause_.expires_after(kAcceptPause);
    accept_pause_.async_wait([this](const boost::system::error_code& stopped) {
      if (!stopped && acceptor_.is_open()) accept();
    });
  });
}

void ReplicaTransport::send_to_replica(NodeId replica, Frame frame) {
  ASSERT(replica < links_.size() && links_[replica]);
  links_[replica]->send(std::move(frame));
}

void ReplicaTransport::send_to_client(NodeId client, std::uint32_t session, Frame frame) {
  FrameConnection* connection = inbound_.find(routes_.find(client, session));
  if (connection == nullptr) {
    ++counters_.dropped_not_connected;
    return;
  }
  connection->send(std::move(frame));
}

bool ReplicaTransport::connected(NodeId replica) const {
  ASSERT(replica < links_.size());
  return links_[replica] && links_[replica]->connected();
}

TransportCounters ReplicaTransport::counters() const {
  TransportCounters sum = counters_;
  for (const TransportCounters& of_link : link_counters_)
    sum += of_link;
  return sum;
}

const TransportCounters& ReplicaTransport::counters_to(NodeId replica) const {
  ASSERT(replica < link_counters_.size());
  return link_counters_[replica];
}

std::size_t ReplicaTransport::queued_bytes_to(NodeId replica) const {
  ASSERT(replica < links_.size());
  return links_[replica] ? links_[replica]->queued_bytes() : 0;
}

Endpoint ReplicaTransport::local_address() const {
  boost::system::error_code error;
  const auto local = acceptor_.local_endpoint(error);
  return {local.address().to_string(), local.port()};
}

void ReplicaTransport::on_frame(FrameConnection& connection, ByteView frame) {
  const auto header = peek_header(frame);
  if (header && is_key_message(header->type)) {
    const ConnectionTag tag = connection.tag();
    KeyAnswer answer = handler_.on_accepted_key_frame(tag, frame);
    if (answer.frame) connection.send(std::move(answer.frame));
    if (answer.proves) inbound_.prove(tag, header->sender);
    return;
  }
  // It has no MAC: the connection alone tells who sends it, and a stranger's is not worth a hash.
  if (header && header->type == MessageType::part &&
      !inbound_.is_of(connection.tag(), header->sender)) {
    ++counters_.dropped_unproven;
    return;
  }
  if (!handler_.on_frame(frame) || !header || header->session_count == 0) return;
  if (!inbound_.is_of(connection.tag(), header->sender)) return;
  // A request, or a hello; other messages name no session.
  for (std::uint32_t i = 0; i < header->session_count; ++i)
    routes_.note(header->sender, header->session + i, connection.tag());
}

void ReplicaTransport::on_frames_end(FrameConnection& /*connection*/) {
  handler_.on_frames_end();
}

void ReplicaTransport::on_bytes_held(FrameConnection& connection) {
  inbound_.note_bytes(connection);
}

void ReplicaTransport::on_closed(FrameConnection& connection, CloseReason reason) {
  if (reason == CloseReason::bad_length) ++counters_.closed_garbage;
  inbound_.forget(connection.tag());
  if (reason == CloseReason::insecure) handler_.on_accepted_insecure(connection.problem());
  handler_.on_accepted_closed(connection.tag());
}

void ReplicaTransport::on_link_frame(NodeId peer, ByteView frame) {
  const auto header = peek_header(frame);
  if (header && is_key_message(header->type)) {
    if (Frame answer = handler_.on_link_key_frame(peer, frame)) send_to_replica(peer, answer);
    return;
  }
  // Replicas and clients send their parts on links that they have opened themselves.
  if (header && header->type == MessageType::part) {
    ++counters_.dropped_unproven;
    return;
  }
  (void)handler_.on_frame(frame);
}

void ReplicaTransport::on_link_frames_end() {
  handler_.on_frames_end();
}

void ReplicaTransport::on_link_state(NodeId peer, bool connected) {
  handler_.on_peer_state(peer, connected);
}

void ReplicaTransport::on_link_open(NodeId peer) {
  handler_.on_peer_open(peer);
}

void ReplicaTransport::on_link_refused(NodeId peer) {
  handler_.on_peer_gone(peer);
}

void ReplicaTransport::on_link_insecure(NodeId peer, const std::string& reason) {
  handler_.on_peer_insecure(peer, reason);
}

void ReplicaTransport::sweep() {
  const TimePoint now = std::chrono::steady_clock::now();
  inbound_.check_stalls(now);
  for (const auto& link : links_) {
    if (link) link->check_stall(now);
  }
  sweep_timer_.expires_after(settings_.stall_timeout / 4);
  sweep_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) sweep();
  });
}

}  // namespace prophecy::pbft
