#include "pbft/core/ordering/patience.hpp"

#include <algorithm>

#include "pbft/core/state/absence.hpp"

namespace prophecy::pbft {
namespace {

// More batches than a fair primary needs while it can order only a few at a time.
constexpr std::uint64_t kPassedOverBatches = 32;
// A request that had waited here before the primary was sent it is late sooner than others: but for
// the way to the primary and through agreement, nothing is left to wait for.
constexpr Duration kLateAlready = milliseconds(20);
// A fair primary may need one checkpoint for each client that waits, where their bodies fill the
// log. Where few wait, so many times do no harm.
constexpr std::size_t kHeldUpsMin = 16;

void take_earlier(std::optional<TimePoint>& earliest, TimePoint time) {
  earliest = earliest ? std::min(*earliest, time) : time;
}

}  // namespace

void Patience::note(const RequestMessage& request, ByteView frame, TimePoint since,
                    std::uint64_t ordered) {
  Line& line = lines_[request.client];
  const auto known = line.by_session.find(request.session);
  bool has_new_first = false;
  if (known != line.by_session.end()) {
    const bool is_first = known->second == line.entries.begin();
    if (is_first && known->second->timestamp == request.timestamp) {
      line.due_at = std::min(line.due_at, since);
    }
    if (known->second->timestamp >= request.timestamp) return;
    has_new_first = is_first;
    forget(line, known->second);
  }
  // One request may always wait, however large.
  const bool fits = line.entries.empty() || (bytes_ + frame.size() <= bytes_max_ &&
                                             line.bytes + frame.size() <= bytes_max_ / 2);
  if (!fits) {
    if (has_new_first) begin_turn(line, since, ordered);
    return;
  }
  auto place = line.entries.end();
  while (place != line.entries.begin() && std::prev(place)->since > since)
    --place;
  const std::uint64_t bytes = frame.size() + (request.body ? request.body->size : 0);
  const auto entry =
      line.entries.insert(place, {request.session, request.timestamp, since, ordered, bytes,
                                  std::make_shared<const Bytes>(frame.begin(), frame.end())});
  line.by_session[request.session] = entry;
  line.bytes += frame.size();
  bytes_ += frame.size();
  if (has_new_first || entry == line.entries.begin()) begin_turn(line, since, ordered);
}

bool Patience::is_ordered(NodeId client, const Entry& entry) const {
  const Session* known = clients_.find(client, entry.session);
  if (known == nullptr) return false;
  const Session& session = *known;
  return std::max(session.ordered_timestamp(), session.agreed_timestamp) >= entry.timestamp;
}

void Patience::begin_turn(Line& line, TimePoint now, std::uint64_t ordered) const {
  if (line.entries.empty()) return;
  const Entry& first = line.entries.front();
  line.since = std::max(now, first.since);
  line.late_since = std::max(first.since, restarted_at_);
  line.sent_at.reset();
  line.ordered = std::max(ordered, first.ordered);
  line.due_at = line.since;
  line.held_ups = 0;
  line.held_up_at.reset();
  line.rivals = 0;
}

Patience::Oldest Patience::oldest(TimePoint now, std::uint64_t ordered) {
  Oldest oldest;
  for (auto at = lines_.begin(); at != lines_.end();) {
    Line& line = at->second;
    bool is_next = false;
    while (!line.entries.empty() && is_ordered(at->first, line.entries.front())) {
      note_served(at->first, line.entries.front());
      forget(line, line.entries.begin());
      is_next = true;
    }
    if (is_next) begin_turn(line, now, ordered);
    if (line.entries.empty()) {
      at = lines_.erase(at);
      continue;
    }
    if (excuse_ == Excuse::held_up) {
      take_earlier(oldest.since, now);
    } else if (!is_excused(line, ordered)) {
      take_earlier(oldest.since, line.since);
      if (line.sent_at) {
        take_earlier(oldest.late_since, std::max(line.late_since, *line.sent_at - kLateAlready));
      }
    }
    ++at;
  }
  return oldest;
}

std::vector<Patience::Due> Patience::due(TimePoint now) const {
  std::vector<std::pair<TimePoint, Due>> found;
  for (const auto& [client, line] : lines_) {
    if (!line.entries.empty() && line.due_at <= now && !is_ordered(client, line.entries.front())) {
      found.emplace_back(line.since, Due{client, line.entries.front().frame});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Due> due;
  due.reserve(found.size());
  for (auto& [since, one] : found)
    due.push_back(std::move(one));
  return due;
}

void Patience::note_sent(NodeId client, TimePoint now, TimePoint again_at) {
  Line& line = lines_.at(client);
  if (!line.sent_at) line.sent_at = now;
  line.due_at = again_at;
}

void Patience::make_due() {
  for (auto& [client, line] : lines_) {
    line.due_at = line.since;
    line.sent_at.reset();
  }
}

TimePoint Patience::next_due() const {
  TimePoint next = TimePoint::max();
  for (const auto& [client, line] : lines_) {
    // One that has been ordered makes room for the next when the primary is looked at.
    if (!line.entries.empty() && !is_ordered(client, line.entries.front())) {
      next = std::min(next, line.due_at);
    }
  }
  return next;
}

std::vector<Frame> Patience::frames() {
  std::vector<std::pair<TimePoint, Frame>> found;
  for (auto& [client, line] : lines_) {
    for (const Entry& entry : line.entries) {
      if (!is_ordered(client, entry)) found.emplace_back(entry.since, entry.frame);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Frame> frames;
  frames.reserve(found.size());
  for (auto& [since, frame] : found)
    frames.push_back(std::move(frame));
  return frames;
}

void Patience::postpone(Line& line, Duration length, TimePoint now) {
  line.since = later(line.since, length, now);
  line.late_since = later(line.late_since, length, now);
  if (line.sent_at) line.sent_at = later(*line.sent_at, length, now);
}

void Patience::restart(TimePoint now, std::uint64_t ordered) {
  restarted_at_ = std::max(restarted_at_, now);
  excused_at_ = std::max(excused_at_, now);
  ordered_then_ = ordered;
  for (auto& [client, line] : lines_) {
    restart(line, now, ordered);
    line.held_ups = 0;
    line.held_up_at.reset();
    line.rivals = 0;
  }
}

void Patience::restart(Line& line, TimePoint now, std::uint64_t ordered) {
  line.since = std::max(line.since, now);
  line.late_since = std::max(line.late_since, now);
  if (line.sent_at) line.sent_at = std::max(*line.sent_at, now);
  line.ordered = ordered;
}

bool Patience::is_excused(const Line& line, std::uint64_t ordered) const {
  if (excuse_ != Excuse::busy) return excuse_ != Excuse::none;
  // The state may have gone back since.
  return ordered <= line.ordered || ordered - line.ordered < kPassedOverBatches;
}

void Patience::note_served(NodeId client, const Entry& entry) {
  const std::uint64_t logs = entry.bytes / log_bytes_;
  if (logs > 0) {
    logs_filled_[client] = logs;
  } else {
    logs_filled_.erase(client);
  }
}

std::size_t Patience::held_ups_max(NodeId client, const Line& line) const {
  const auto filled = logs_filled_.find(client);
  const std::size_t turns = 1 + (filled != logs_filled_.end() ? filled->second : 0);
  return std::max(kHeldUpsMin, line.rivals * turns);
}

void Patience::excuse(Excuse why, TimePoint now, std::uint64_t ordered, std::uint64_t stable) {
  const Duration length = now - excused_at_;
  for (auto& [client, line] : lines_) {
    if (!is_excused(line, ordered)) continue;
    postpone(line, length, now);
    // Nor do batches count that have come in the place of others.
    if (excuse_ == Excuse::behind) line.ordered += ordered - std::min(ordered, ordered_then_);
  }
  if (why == Excuse::held_up && excuse_ != Excuse::held_up) {
    for (auto& [client, line] : lines_) {
      // Clients that have been served since may have come before this one.
      line.rivals = std::max(line.rivals, lines_.size());
      // This replica may lag for a moment, again and again, while the log is full.
      if (line.held_up_at == stable || line.held_ups >= held_ups_max(client, line)) continue;
      line.held_up_at = stable;
      ++line.held_ups;
      restart(line, now, ordered);
    }
  }
  excuse_ = why;
  excused_at_ = now;
  ordered_then_ = ordered;
}

void Patience::leave_out(Duration absent, TimePoint now) {
  for (auto& [client, line] : lines_)
    postpone(line, absent, now);
  excused_at_ = later(excused_at_, absent, now);
}

void Patience::forget(Line& line, Entries::iterator entry) {
  bytes_ -= entry->frame->size();
  line.bytes -= entry->frame->size();
  line.by_session.erase(entry->session);
  line.entries.erase(entry);
}

}  // namespace prophecy::pbft
