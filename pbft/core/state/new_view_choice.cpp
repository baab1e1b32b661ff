#include "pbft/core/state/new_view_choice.hpp"

#include <algorithm>

namespace prophecy::pbft {
namespace {

using Messages = std::vector<ViewChangeMessage>;

const BatchRecord* prepared_at(const ViewChangeMessage& message, std::uint64_t sequence) {
  const auto found = std::lower_bound(
      message.prepared.begin(), message.prepared.end(), sequence,
      [](const BatchRecord& record, std::uint64_t wanted) { return record.sequence < wanted; });
  return found != message.prepared.end() && found->sequence == sequence ? &*found : nullptr;
}

// Condition A1: 2f+1 replicas have prepared nothing newer, and nothing else in that view. Each of
// them has its stable checkpoint below the number, or the number would not be in question.
bool is_uncontradicted(const Messages& messages, const BatchRecord& candidate,
                       const QuorumRule& quorum) {
  const auto agreeing =
      std::count_if(messages.begin(), messages.end(), [&](const ViewChangeMessage& message) {
        const BatchRecord* other = prepared_at(message, candidate.sequence);
        return other == nullptr || other->view < candidate.view ||
               (other->view == candidate.view && other->batch == candidate.batch);
      });
  return agreeing >= static_cast<std::ptrdiff_t>(quorum.view_change);
}

// Condition A2: f+1 replicas have pre-prepared it in that view or a newer one, so a correct one
// has, which has seen that its requests are authentic, and keeps their content.
bool is_vouched_for(const Messages& messages, const BatchRecord& candidate,
                    const QuorumRule& quorum) {
  const auto vouching =
      std::count_if(messages.begin(), messages.end(), [&](const ViewChangeMessage& message) {
        const auto [first, last] = std::equal_range(
            message.pre_prepared.begin(), message.pre_prepared.end(), candidate,
            [](const BatchRecord& a, const BatchRecord& b) { return a.sequence < b.sequence; });
        return std::any_of(first, last, [&](const BatchRecord& record) {
          return record.batch == candidate.batch &&
                 (record.view >= candidate.view || quorum.vouching_views == 0);
        });
      });
  return vouching >= static_cast<std::ptrdiff_t>(quorum.vouching);
}

// Condition B: 2f+1 replicas have prepared nothing there, so nothing can have been committed.
bool is_free(const Messages& messages, std::uint64_t sequence, const QuorumRule& quorum) {
  const auto without = std::count_if(
      messages.begin(), messages.end(),
      [&](const ViewChangeMessage& message) { return prepared_at(message, sequence) == nullptr; });
  return without >= static_cast<std::ptrdiff_t>(quorum.view_change);
}

const BatchRecord* winner_at(const Messages& messages, std::uint64_t sequence,
                             const QuorumRule& quorum) {
  for (const ViewChangeMessage& message : messages) {
    const BatchRecord* candidate = prepared_at(message, sequence);
    if (candidate != nullptr && is_uncontradicted(messages, *candidate, quorum) &&
        is_vouched_for(messages, *candidate, quorum)) {
      return candidate;
    }
  }
  return nullptr;
}

}  // namespace

const Digest& empty_batch() {
  static const Digest digest = Sha256().finish();
  return digest;
}

std::optional<NewViewChoice> choose(const Messages& messages, const QuorumRule& quorum) {
  NewViewChoice choice;
  std::uint64_t highest = 0;
  for (const ViewChangeMessage& message : messages) {
    choice.stable = std::max(choice.stable, message.stable);
    if (!message.prepared.empty()) highest = std::max(highest, message.prepared.back().sequence);
  }
  std::size_t chosen = 0;  // gaps behind the last batch that won are left to the new view
  for (std::uint64_t sequence = choice.stable + 1; sequence <= highest; ++sequence) {
    if (const BatchRecord* winner = winner_at(messages, sequence, quorum)) {
      choice.batches.push_back(winner->batch);
      chosen = choice.batches.size();
    } else if (is_free(messages, sequence, quorum)) {
      choice.batches.push_back(empty_batch());
    } else {
      return std::nullopt;
    }
  }
  choice.batches.resize(chosen);
  return choice;
}

}  // namespace prophecy::pbft
