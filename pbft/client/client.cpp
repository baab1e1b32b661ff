#include "pbft/client/client.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/client/client_machine.hpp"

namespace prophecy::pbft {

Client::Client(const ClientSettings& settings, const KeyRing& keys)
    : Client(settings, keys, QuorumRule::standard(settings.faults)) {}

Client::Client(const ClientSettings& settings, const KeyRing& keys, const QuorumRule& quorum)
    : machine_(std::make_unique<Machine>(settings, keys, quorum)) {
  ASSERT(check(settings).has_value());
  ASSERT(keys.replicas() == 3 * settings.faults + 1 && is_client(keys.self()));
}

Client::~Client() = default;

CallId Client::submit(ByteView operation, CallKind kind, TimePoint deadline, TimePoint now,
                      ClientActions& out, std::uint64_t epoch) {
  return machine_->submit(operation, kind, deadline, now, out, epoch);
}

CallId Client::submit(std::shared_ptr<const BodyTree> operation, TimePoint deadline, TimePoint now,
                      ClientActions& out, std::uint64_t epoch) {
  return machine_->submit(std::move(operation), deadline, now, out, epoch);
}

void Client::cancel(CallId call, TimePoint now, ClientActions& out) {
  machine_->cancel(call, now, out);
}

void Client::on_connected(NodeId replica, ClientActions& out) {
  machine_->on_connected(replica, out);
}

void Client::on_frame(ByteView frame, TimePoint now, ClientActions& out) {
  machine_->on_frame(frame, now, out);
}

void Client::on_tick(TimePoint now, ClientActions& out) {
  machine_->on_tick(now, out);
}

TimePoint Client::next_timer() const {
  return machine_->next_timer();
}
const ClientCounters& Client::counters() const {
  return machine_->counters();
}
std::uint32_t Client::calls_in_flight() const {
  return machine_->in_flight();
}
}  // namespace prophecy::pbft
