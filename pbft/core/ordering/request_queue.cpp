#include "pbft/core/ordering/request_queue.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

// Of a turn, besides its bytes: a request is agreed on and executed, however small.
constexpr std::uint64_t kRequestCost = 1024;

std::uint64_t bytes_by_digest(const BatchRequest& request) {
  return request.by_digest ? request.operation_size : 0;
}

}  // namespace

// One request is always allowed to wait, however large.
bool RequestQueue::is_over_share(const Client& client, std::uint64_t bytes) const {
  return client.requests >= settings_.queue_requests_max / 2 ||
         (client.bytes > 0 && client.bytes + bytes > settings_.queue_bytes_max / 2);
}

bool RequestQueue::add(const RequestMessage& request, ByteView frame, const Digest& digest,
                       const HeldBody& body, Place place, std::vector<Displaced>& displaced) {
  Client& client = clients_[request.client];
  const auto has_room = [&] {
    return !is_over_share(client, frame.size()) && make_room(client, frame.size(), displaced);
  };
  while (!has_room()) {
    if (place == Place::last) return false;
    if (client.line.empty()) break;  // what fills its share is laid out
    displace_last(client, displaced);
  }
  BatchRequest entry = batch_request(request, frame);
  entry.frame_size = static_cast<std::uint32_t>(frame.size());
  entry.is_signed = !request.signature.empty();
  ++requests_;
  ++client.requests;
  bytes_ += frame.size();
  client.bytes += frame.size();
  if (waiting_ == 0 && fits(entry, body)) {
    lay_out(entry, frame, digest, body);
    return true;
  }
  if (client.line.empty()) client.turn = std::max(client.turn, turn_);
  const auto at = place == Place::front ? client.line.begin() : client.line.end();
  client.newest[request.session] =
      client.line.insert(at, {entry, Bytes(frame.begin(), frame.end()), digest, body});
  client.line_bytes += frame.size();
  ++waiting_;
  return true;
}

// Of the clients that would still have no less than the one that asks.
bool RequestQueue::make_room(const Client& asking, std::uint64_t bytes,
                             std::vector<Displaced>& displaced) {
  const std::uint64_t most_requests = settings_.queue_requests_max;
  const std::uint64_t most_bytes = settings_.queue_bytes_max;
  const std::uint64_t own_requests = asking.requests + 1;
  const std::uint64_t own_bytes = asking.bytes + bytes;
  std::uint64_t left = 0;  // that may be taken away
  for (const auto& [id, client] : clients_) {
    if (client.bytes > own_bytes) left += std::min(client.line_bytes, client.bytes - own_bytes);
  }
  if (bytes_ + bytes > most_bytes + left) return false;
  if (requests_ >= most_requests) {
    Client* largest = nullptr;
    for (auto& [id, client] : clients_) {
      // The only one in a line stays. It may be beyond the room, and giving its place away would
      // let its client have another one there.
      if (client.line.size() > 1 && (largest == nullptr || client.requests > largest->requests)) {
        largest = &client;
      }
    }
    if (largest == nullptr || largest->requests <= own_requests) return false;
    displace_last(*largest, displaced);
  }
  while (bytes_ + bytes > most_bytes) {
    Client* largest = nullptr;
    for (auto& [id, client] : clients_) {
      if (!client.line.empty() && (largest == nullptr || client.bytes > largest->bytes)) {
        largest = &client;
      }
    }
    if (largest == nullptr || largest->bytes <= own_bytes) return false;
    displace_last(*largest, displaced);
  }
  return true;
}

void RequestQueue::bring_forward(NodeId client, std::uint32_t session, std::uint64_t timestamp) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  Line& line = found->second.line;
  const auto newest = found->second.newest.find(session);
  if (newest == found->second.newest.end() || newest->second->request.timestamp < timestamp) return;
  line.splice(line.begin(), line, newest->second);
}

void RequestQueue::note_holders(NodeId client, std::uint32_t session, std::uint64_t timestamp,
                                std::uint64_t holders) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const auto waiting = found->second.newest.find(session);
  if (waiting != found->second.newest.end() && waiting->second->request.timestamp == timestamp) {
    waiting->second->body.holders = holders;
  } else if (first_) {
    std::size_t body = 0;
    std::uint64_t of_all = UINT64_MAX;
    for (const BatchRequest& request : first_->requests) {
      if (!request.by_digest) continue;
      const bool is_it =
          request.client == client && request.session == session && request.timestamp == timestamp;
      if (is_it) first_->holders_of[body] = holders;
      of_all &= first_->holders_of[body++];
    }
    first_->holders = of_all;
  }
  if (first_) fill();
}

void RequestQueue::leave_line(Client& client, Line::iterator waiting) {
  const auto newest = client.newest.find(waiting->request.session);
  if (newest != client.newest.end() && newest->second == waiting) client.newest.erase(newest);
  client.line_bytes -= waiting->frame.size();
  client.line.erase(waiting);
  --waiting_;
}

void RequestQueue::displace_last(Client& client, std::vector<Displaced>& displaced) {
  const Waiting& last = client.line.back();
  displaced.push_back({last.request.client, last.request.session, last.request.timestamp});
  --requests_;
  --client.requests;
  bytes_ -= last.frame.size();
  client.bytes -= last.frame.size();
  leave_line(client, std::prev(client.line.end()));
}

bool RequestQueue::may_join(const BatchRequest& request, const HeldBody& body) const {
  if (!first_ || !request.by_digest) return true;
  if (first_->bodies.size() >= kBatchBodiesMax) return false;
  return static_cast<std::uint32_t>(std::popcount(first_->holders & body.holders)) >=
         other_holders_;
}

bool RequestQueue::fits(const BatchRequest& request, const HeldBody& body) const {
  return !first_ ||
         (may_join(request, body) && first_->builder.count() < settings_.batch_requests_max &&
          (!request.is_signed || first_->signed_requests < kBatchSignaturesMax) &&
          first_->builder.size() + first_->operation_bytes + request.frame_size +
                  bytes_by_digest(request) <=
              settings_.batch_bytes_max);
}

void RequestQueue::lay_out(BatchRequest request, ByteView frame, const Digest& digest,
                           const HeldBody& body) {
  if (!first_) {
    first_.emplace(Batch{PrePrepareBuilder(frame.size() + 4 + authenticator_size_), {}, {}});
  }
  request.operation_at += static_cast<std::uint32_t>(first_->builder.append(frame, digest));
  if (request.by_digest) {
    first_->bodies.push_back(body.handle);
    first_->holders_of.push_back(body.holders);
    first_->holders &= body.holders;
  }
  first_->operation_bytes += bytes_by_digest(request);
  if (request.is_signed) ++first_->signed_requests;
  first_->requests.push_back(request);
}

RequestQueue::Client* RequestQueue::next_client() {
  Client* next = nullptr;
  for (auto& [id, client] : clients_) {
    if (client.line.empty()) continue;
    if (!may_join(client.line.front().request, client.line.front().body)) {
      // A client that is in this batch saves no turns up; any other keeps its place, and comes to
      // begin a batch.
      const bool is_in_first = client.requests > client.line.size();
      if (is_in_first) client.turn = std::max(client.turn, turn_);
      continue;
    }
    if (next == nullptr || client.turn < next->turn) next = &client;
  }
  return next;
}

void RequestQueue::fill() {
  while (waiting_ > 0) {
    Client* const next = next_client();
    ASSERT(next != nullptr || first_.has_value());
    if (next == nullptr) return;
    const Waiting& first = next->line.front();
    if (!fits(first.request, first.body)) return;
    turn_ = std::max(turn_, next->turn);
    next->turn += first.frame.size() + bytes_by_digest(first.request) + kRequestCost;
    lay_out(first.request, first.frame, first.digest, first.body);
    leave_line(*next, next->line.begin());
  }
}

bool RequestQueue::first_is_full() const {
  ASSERT(first_.has_value());
  return waiting_ > 0 || first_->builder.count() >= settings_.batch_requests_max ||
         first_->builder.size() + first_->operation_bytes >= settings_.batch_bytes_max;
}

void RequestQueue::clear() {
  first_.reset();
  clients_.clear();
  requests_ = 0;
  bytes_ = 0;
  waiting_ = 0;
  turn_ = 0;
}

RequestQueue::Batch RequestQueue::take() {
  ASSERT(first_.has_value());
  Batch batch = std::move(*first_);
  first_.reset();
  for (const BatchRequest& request : batch.requests) {
    Client& client = clients_[request.client];
    --requests_;
    --client.requests;
    bytes_ -= request.frame_size;
    client.bytes -= request.frame_size;
  }
  fill();
  return batch;
}

}  // namespace prophecy::pbft
