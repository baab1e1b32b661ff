#include "pbft/replica/outbox.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

template <class T>
void move_all_behind(std::vector<T>& from, std::vector<T>& out) {
  if (out.empty()) {
    out.swap(from);
    return;
  }
  out.insert(out.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

std::size_t size_of(const Outgoing& outgoing) {
  return outgoing.frame != nullptr ? outgoing.frame->size() : 0;
}

}  // namespace

void Outbox::move_behind(Released& from, Released& out) {
  move_all_behind(from.sends, out.sends);
  move_all_behind(from.executions, out.executions);
  out.flush_parts = std::exchange(from.flush_parts, false) || out.flush_parts;
}

void Outbox::release_free(std::vector<Outgoing>& sends) {
  const auto kept = std::stable_partition(sends.begin(), sends.end(),
                                          [](const Outgoing& each) { return !each.is_free; });
  released_.sends.insert(released_.sends.end(), std::make_move_iterator(kept),
                         std::make_move_iterator(sends.end()));
  sends.erase(kept, sends.end());
}

void Outbox::bound(std::vector<Outgoing>& sends) {
  std::erase_if(sends, [this](const Outgoing& each) {
    std::size_t& bytes = held_bytes_[each.to];
    const std::size_t size = size_of(each);
    const bool is_too_much = bytes + size > kHeldBytesMax;
    if (is_too_much) {
      ++dropped_;
    } else {
      bytes += size;
    }
    return is_too_much;
  });
}

void Outbox::put(ReplicaActions& actions) {
  const bool writes = !actions.writes.empty();
  if (writes) held_.emplace_back();
  Released& place = held_.empty() ? released_ : held_.back();
  if (!held_.empty()) {
    release_free(actions.sends);
    bound(actions.sends);
  }
  move_all_behind(actions.sends, place.sends);
  move_all_behind(actions.executions, place.executions);
  place.flush_parts = std::exchange(actions.flush_parts, false) || place.flush_parts;
  if (!writes) return;
  commit_(std::exchange(actions.writes, {}),
          [this](const Result<>& outcome) { on_committed(outcome); });
}

bool Outbox::take(Released& out) {
  if (failed_) return false;
  const bool some =
      !released_.sends.empty() || !released_.executions.empty() || released_.flush_parts;
  if (some) move_behind(released_, out);
  return some;
}

void Outbox::on_committed(const Result<>& outcome) {
  ASSERT(!held_.empty());
  failed_ = failed_ || !outcome;
  for (const Outgoing& each : held_.front().sends)
    held_bytes_[each.to] -= size_of(each);
  move_behind(held_.front(), released_);
  held_.pop_front();
  if (held_.empty()) held_bytes_.clear();
  on_released_(outcome);
}

}  // namespace prophecy::pbft
