#include "simulation/hosts/key_host.hpp"

#include <algorithm>
#include <utility>

#include "pbft/wire/frame_header.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::simulation {
namespace {

// So often that keys change in the middle of a run.
constexpr Duration kRefreshEvery = pbft::kKeyRefreshMin;

pbft::KeyExchangeSettings settings_of(NodeId node) {
  pbft::KeyExchangeSettings settings;
  settings.refresh_interval = kRefreshEvery;
  if (is_client(node)) settings.sessions = {0, pbft::kSessionsMax};
  return settings;
}

}  // namespace

KeyHost::KeyHost(const pbft::KeyRing& keys, std::uint64_t seed, Scheduler& scheduler, Send send)
    : self_(keys.self()),
      replicas_(keys.replicas()),
      scheduler_(scheduler),
      entropy_(Random(seed, kPurposeKeys + keys.self())),
      exchange_(keys, settings_of(keys.self()), entropy_),
      send_(std::move(send)) {}

bool KeyHost::opened_to(NodeId peer) const {
  return peer < replicas_ && (is_client(self_) || self_ < peer);
}

void KeyHost::start() {
  exchange_.start(scheduler_.now());
  for (NodeId replica = 0; replica < replicas_; ++replica) {
    if (opened_to(replica)) {
      send_({replica, 0, exchange_.on_connected(replica, scheduler_.now())});
    }
  }
  arm();
}

void KeyHost::on_frame(ByteView frame) {
  const auto header = pbft::peek_header(frame);
  if (!header) return;
  const NodeId from = header->sender;
  const TimePoint now = scheduler_.now();
  if (!opened_to(from) && is_client(self_)) return;  // nobody opens a connection to a client
  const pbft::KeyExchange::Step step = opened_to(from)
                                           ? exchange_.on_link_frame(from, frame, now)
                                           : exchange_.on_accepted_frame(from, frame, now);
  if (step.answer != nullptr) send_({from, 0, step.answer});
  arm();
}

std::vector<NodeId> KeyHost::take_wrong() {
  std::vector<NodeId> wrong;
  for (const pbft::KeyEvent& event : exchange_.take_events()) {
    if (event.kind == pbft::KeyEvent::Kind::wrong_keys) wrong.push_back(event.member);
  }
  return wrong;
}

void KeyHost::arm() {
  const TimePoint wanted = exchange_.next_timer();
  if (wanted >= armed_for_) return;
  armed_for_ = std::max(wanted, scheduler_.now());
  scheduler_.at(armed_for_, [this, time = armed_for_] {
    if (armed_for_ != time) return;
    armed_for_ = TimePoint::max();
    std::vector<pbft::Outgoing> sends;
    exchange_.on_tick(scheduler_.now(), sends);
    for (const pbft::Outgoing& outgoing : sends)
      send_(outgoing);
    arm();
  });
}

}  // namespace prophecy::simulation
