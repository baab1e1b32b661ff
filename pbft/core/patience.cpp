#include "pbft/core/patience.hpp"

#include <algorithm>

namespace prophecy::pbft {

void Patience::note(const RequestMessage& request, ByteView frame, TimePoint since) {
  const std::pair key(request.client, request.session);
  const auto known = by_session_.find(key);
  if (known != by_session_.end()) {
    if (known->second->timestamp >= request.timestamp) return;
    forget(known->second);
  }
  std::uint64_t& of_client = bytes_of_client_[request.client];
  // One request may always wait, however large.
  const bool fits = bytes_ + frame.size() <= bytes_max_ &&
                    (of_client == 0 || of_client + frame.size() <= bytes_max_ / 2);
  if (!fits) return;
  auto place = entries_.end();
  while (place != entries_.begin() && std::prev(place)->since > since)
    --place;
  by_session_[key] =
      entries_.insert(place, {request.client, request.session, request.timestamp, since,
                              std::make_shared<const Bytes>(frame.begin(), frame.end())});
  of_client += frame.size();
  bytes_ += frame.size();
}

bool Patience::is_ordered(const Entry& entry) {
  return clients_.session(entry.client, entry.session).last_timestamp >= entry.timestamp;
}

std::optional<TimePoint> Patience::waiting_since() {
  while (!entries_.empty() && is_ordered(entries_.front()))
    forget(entries_.begin());
  if (entries_.empty()) return std::nullopt;
  return entries_.front().since;
}

std::vector<Frame> Patience::frames() {
  std::vector<Frame> found;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (is_ordered(*entry)) {
      forget(entry);
    } else {
      found.push_back(entry->frame);
    }
    entry = next;
  }
  return found;
}

void Patience::restart(TimePoint now) {
  for (Entry& entry : entries_)
    entry.since = std::max(entry.since, now);
}

void Patience::forget(Entries::iterator entry) {
  bytes_ -= entry->frame->size();
  bytes_of_client_[entry->client] -= entry->frame->size();
  by_session_.erase({entry->client, entry->session});
  entries_.erase(entry);
}

}  // namespace prophecy::pbft
