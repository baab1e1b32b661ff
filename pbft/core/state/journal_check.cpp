#include "pbft/core/state/journal_check.hpp"

#include <algorithm>

#include "pbft/core/state/context.hpp"
#include "pbft/core/state/new_view_choice.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft {
namespace {

bool is_number(std::uint64_t sequence) {
  return sequence > 0 && sequence <= kSequenceMax;
}

// All about one checkpoint, of different replicas. Yields its number; 0 for none at all.
template <typename Frames>
std::optional<std::uint64_t> proven_by(const Frames& frames, std::uint32_t replicas) {
  std::uint64_t sequence = 0;
  Digest order{};
  std::uint64_t signers = 0;
  for (const ByteView frame : frames) {
    const auto claim = decode_checkpoint(frame);
    if (!claim || !is_number(claim->sequence) || !is_replica(claim->replica, replicas) ||
        (signers >> claim->replica & 1) != 0) {
      return std::nullopt;
    }
    if (signers != 0 && (claim->sequence != sequence || claim->order != order)) return std::nullopt;
    sequence = claim->sequence;
    order = claim->order;
    signers |= std::uint64_t{1} << claim->replica;
  }
  return sequence;
}

std::vector<ByteView> views_of(const std::vector<Frame>& frames) {
  std::vector<ByteView> views;
  views.reserve(frames.size());
  for (const Frame& frame : frames)
    views.emplace_back(*frame);
  return views;
}

bool is_new_view(ByteView frame, std::uint32_t replicas) {
  const auto message = decode_new_view(frame, replicas);
  if (!message) return false;
  return std::all_of(message->view_changes.begin(), message->view_changes.end(),
                     [&](const ByteView one) {
                       const auto asked = decode_view_change(one, replicas);
                       return asked && proven_by(asked->certificate, replicas) == asked->stable;
                     });
}

bool is_batch(ByteView content, const Digest& batch, std::uint32_t replicas) {
  const auto message = decode_pre_prepare(content, replicas);
  return message && batch_digest(*message) == batch;
}

// That it was entered, and not only asked for: nothing has been voted on in any other.
bool has_entered_view(const Remembered& all, std::uint32_t replicas) {
  if (all.changing_view || all.view == 0) return !all.changing_view;
  const auto messages = entered_with(all, replicas);
  return !messages.empty() &&
         choose(messages, QuorumRule::standard((replicas - 1) / 3)).has_value();
}

}  // namespace

std::vector<ViewChangeMessage> entered_with(const Remembered& all, std::uint32_t replicas) {
  if (all.new_view == nullptr) return {};
  const auto message = decode_new_view(*all.new_view, replicas);
  if (!message || message->view != all.view) return {};
  std::vector<ViewChangeMessage> messages;
  for (const ByteView one : message->view_changes) {
    if (auto asked = decode_view_change(one, replicas)) messages.push_back(std::move(*asked));
  }
  return messages;
}

bool is_plausible(const Remembered& all, std::uint32_t replicas) {
  if (all.view > kViewMax || (all.changing_view && all.view == 0)) return false;
  const std::uint64_t view_end = has_entered_view(all, replicas) ? all.view + 1 : all.view;
  const auto stable = proven_by(views_of(all.certificate), replicas);
  if (!stable) return false;
  if (all.base && all.base->sequence > *stable) return false;
  if (all.new_view != nullptr && !is_new_view(*all.new_view, replicas)) return false;
  const std::uint64_t silent_until = all.membership.silent_until;
  if (silent_until > kSequenceMax && silent_until != Context::kAsking) return false;
  return std::all_of(all.proposed.begin(), all.proposed.end(),
                     [&](const Remembered::Proposed& proposed) {
                       return is_number(proposed.sequence) && proposed.view < view_end;
                     }) &&
         std::all_of(all.prepared.begin(), all.prepared.end(),
                     [&](const Remembered::Prepared& prepared) {
                       return is_number(prepared.sequence) && prepared.record.view < view_end;
                     }) &&
         std::all_of(all.decided.begin(), all.decided.end(),
                     [](const auto& decided) { return is_number(decided.first); }) &&
         std::all_of(all.contents.begin(), all.contents.end(), [&](const auto& content) {
           const auto& [place, frame] = content;
           return is_number(place.first) && is_batch(*frame, place.second, replicas);
         });
}

}  // namespace prophecy::pbft
