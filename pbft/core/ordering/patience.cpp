#include "pbft/core/ordering/patience.hpp"

#include <algorithm>

namespace prophecy::pbft {
namespace {

// More batches than a fair primary needs while it can order only a few at a time.
constexpr std::uint64_t kPassedOverBatches = 32;

}  // namespace

void Patience::note(const RequestMessage& request, ByteView frame, TimePoint since,
                    std::uint64_t ordered) {
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
      entries_.insert(place, {request.client, request.session, request.timestamp, since, ordered,
                              std::make_shared<const Bytes>(frame.begin(), frame.end())});
  of_client += frame.size();
  bytes_ += frame.size();
}

bool Patience::is_ordered(const Entry& entry) {
  const Session& session = clients_.session(entry.client, entry.session);
  return std::max(session.ordered_timestamp(), session.agreed_timestamp) >= entry.timestamp;
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

void Patience::restart(TimePoint now, std::uint64_t ordered) {
  for (Entry& entry : entries_) {
    entry.since = std::max(entry.since, now);
    entry.ordered = ordered;
  }
}

// The state may have gone back since.
bool Patience::is_passed_over(const Entry& entry, std::uint64_t ordered) {
  return ordered > entry.ordered && ordered - entry.ordered >= kPassedOverBatches;
}

bool Patience::is_passed_over(std::uint64_t ordered) const {
  return !entries_.empty() && is_passed_over(entries_.front(), ordered);
}

// From the first on that is excused, so that they stay in their order.
void Patience::excuse(Duration length, TimePoint now, std::uint64_t ordered) {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& one) { return !is_passed_over(one, ordered); });
  for (; entry != entries_.end(); ++entry)
    entry->since = std::min(entry->since + length, std::max(entry->since, now));
}

void Patience::forget(Entries::iterator entry) {
  bytes_ -= entry->frame->size();
  bytes_of_client_[entry->client] -= entry->frame->size();
  by_session_.erase({entry->client, entry->session});
  entries_.erase(entry);
}

}  // namespace prophecy::pbft
