#include "pbft/core/state/client_table.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

constexpr Duration kDemandAtFirst = seconds(10);
constexpr Duration kDemandMax = minutes(10);
// In whose batches a client's MACs are wrong before that is held against the client. With one, a
// faulty primary could have it sign for as long as it likes; with f+1 a faulty client would cost as
// many views.
constexpr int kPrimariesAtLeast = 2;
// A client that has lost a reply asks again after 150 ms.
constexpr Duration kRepeatedEvery = milliseconds(25);
// Of one client's repeated replies, until the next one is refused.
constexpr std::uint64_t kRepeatedBytesMax = std::uint64_t{16} << 20;

}  // namespace

Session& ClientTable::session(NodeId client, std::uint32_t session) {
  ASSERT(session < kSessionsMax);
  auto& sessions = clients_[client].sessions;
  if (sessions.size() <= session) sessions.resize(session + 1);
  auto& entry = sessions[session];
  if (!entry) {
    entry = std::make_unique<Session>();
    entry->client = client;
    entry->number = session;
  }
  return *entry;
}

const Session* ClientTable::find(NodeId client, std::uint32_t session) const {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.sessions.size() <= session) return nullptr;
  return found->second.sessions[session].get();
}

void ClientTable::note_change(const Session& session) {
  Client& client = clients_[session.client];
  const std::uint64_t block = std::uint64_t{1} << (session.number / kSessionsPerBlock);
  client.changed |= block;
  client.used |= block;
}

std::vector<ClientTable::Blocks> ClientTable::take_changes() {
  std::vector<Blocks> blocks;
  for (auto& [id, client] : clients_) {
    if (client.used == 0) continue;
    blocks.push_back({id, client.changed, client.used});
    client.changed = 0;
  }
  return blocks;
}

void ClientTable::reset() {
  for (auto& [id, client] : clients_) {
    client.changed = 0;
    client.used = 0;
    for (const auto& session : client.sessions) {
      if (!session) continue;
      forget_result(*session);
      session->last_timestamp = 0;
      session->reply = Session::Reply::awaited;
    }
  }
}

void ClientTable::restore(NodeId client, std::uint32_t session, std::uint64_t timestamp) {
  Session& entry = this->session(client, session);
  entry.last_timestamp = timestamp;
  entry.reply = Session::Reply::lost;
  note_change(entry);
}

void ClientTable::set_reply(Session& session, ReplyStatus status, Sigma sigma,
                            const Digest& digest) {
  session.reply = Session::Reply::known;
  session.status = status;
  session.sigma = sigma;
  session.digest = digest;
  note_change(session);
}

bool ClientTable::may_repeat(Session& session, TimePoint now) {
  Allowance& bytes = clients_[session.client].repeated_bytes;
  if (!session.repetitions.is_left(1, kRepeatedEvery, now) ||
      !bytes.is_left(kRepeatedBytesMax, kRepeatedEvery, now)) {
    return false;
  }
  session.repetitions.charge(1);
  bytes.charge(session.result_size);
  return true;
}

bool ClientTable::may_answer_stale(Session& session, TimePoint now) {
  if (!session.stale_answers.is_left(1, kRepeatedEvery, now)) return false;
  session.stale_answers.charge(1);
  return true;
}

bool ClientTable::may_read_again(Session& session, TimePoint now) {
  if (!session.read_repetitions.is_left(1, kRepeatedEvery, now)) return false;
  session.read_repetitions.charge(1);
  return true;
}

void ClientTable::begin(Session& session, std::uint64_t timestamp) {
  ASSERT(timestamp > session.last_timestamp);
  forget_result(session);
  session.last_timestamp = timestamp;
  session.reply = Session::Reply::awaited;
  session.repetitions = {};
  note_change(session);
}

std::uint64_t ClientTable::keep_result(Session& session, Bytes result) {
  forget_result(session);
  result_bytes_ += result.size();
  session.result_size = result.size();
  session.kept = std::move(result);
  session.has_result = true;
  note_change(session);
  Client& client = clients_[session.client];
  client.result_bytes += session.result_size;
  session.older = client.newest;
  (client.newest != nullptr ? client.newest->newer : client.oldest) = &session;
  client.newest = &session;
  std::uint64_t forgotten = 0;
  for (; result_bytes_ > result_bytes_max_; ++forgotten)
    forget_result(*oldest_of_largest());
  return forgotten;
}

Session* ClientTable::oldest_of_largest() const {
  const auto largest = std::max_element(
      clients_.begin(), clients_.end(),
      [](const auto& a, const auto& b) { return a.second.result_bytes < b.second.result_bytes; });
  ASSERT(largest != clients_.end() && largest->second.oldest != nullptr);
  return largest->second.oldest;
}

void ClientTable::note_wrong_mac(NodeId client, NodeId primary, TimePoint now) {
  Demand& demand = demands_[client];
  if (now - demand.noted_at >= kDemandMax) demand.primaries = 0;
  demand.noted_at = now;
  demand.primaries |= std::uint64_t{1} << primary;
  if (std::popcount(demand.primaries) >= kPrimariesAtLeast) demand_signatures(demand, now);
}

void ClientTable::demand_signatures(Demand& demand, TimePoint now) {
  if (now < demand.until) return;
  // As long a time without a wrong MAC, and it begins with the shortest.
  if (now - demand.until >= demand.length) demand.length = {};
  demand.length = std::clamp(demand.length * 2, kDemandAtFirst, kDemandMax);
  demand.until = now + demand.length;
}

bool ClientTable::demands_signature(NodeId client, TimePoint now) const {
  const auto demand = demands_.find(client);
  return demand != demands_.end() && now < demand->second.until;
}

void ClientTable::forget_queued() {
  for (auto& [id, client] : clients_) {
    for (const auto& session : client.sessions) {
      if (session) session->queued_timestamp = 0;
    }
  }
}

void ClientTable::forget_result(Session& session) {
  if (!session.has_result) return;
  Client& client = clients_[session.client];
  result_bytes_ -= session.result_size;
  client.result_bytes -= session.result_size;
  session.kept = {};
  session.repeated.reset();
  session.result_size = 0;
  session.repeated_as.reset();
  session.has_result = false;
  (session.older != nullptr ? session.older->newer : client.oldest) = session.newer;
  (session.newer != nullptr ? session.newer->older : client.newest) = session.older;
  session.older = nullptr;
  session.newer = nullptr;
}

}  // namespace prophecy::pbft
