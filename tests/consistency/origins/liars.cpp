#include "consistency/origins/liars.hpp"

#include "consistency/origins/bodies.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::size_t kSeenMax = 16;
constexpr std::uint64_t kStyledPercent = 30;

}  // namespace

Liars::Liars(const RunSettings& settings, simulation::Random& random)
    : settings_(settings), random_(random), aim_(static_cast<Aim>(random.below(kAims))) {
  if (random.chance(kStyledPercent)) style_ = random.below(kStyles);
}

bool Liars::lies_to_reads() const {
  if (is_bold_) return aim_ != Aim::votes && aim_ != Aim::shared;
  return aim_ == Aim::both || aim_ == Aim::reads;
}

bool Liars::lies_to_read(const PageRequest& request) {
  if (is_silent_ || request.agent == kAccomplice) return true;
  if (is_bold_) return lies_to_reads();
  const bool is_aim = lies_to_reads() || (aim_ == Aim::exceptions && !request.has_constants()) ||
                      (aim_ == Aim::constants && request.has_constants());
  return is_aim && random_.chance(70);
}

bool Liars::lies_in_vote(const PageRequest& request) {
  if (is_silent_) return true;
  if (is_bold_) return aim_ != Aim::reads && request.is_of_register() && !request.is_write;
  const bool is_shared = !request.is_write && request.has_constants();
  const bool is_aim = aim_ == Aim::both || aim_ == Aim::votes ||
                      ((aim_ == Aim::shared || aim_ == Aim::constants) && is_shared);
  return is_aim && random_.chance(50);
}

std::optional<PageAnswer> Liars::lie(const PageRequest& request, const States& states) {
  if (is_silent_) return std::nullopt;
  if (is_bold_) return text("bold" + std::to_string(++told_));
  const bool is_same = last_ && last_page_ == request.page && last_key_ == request.key;
  if (settings_.faults > 1 && is_same && random_.chance(60)) return last_;
  auto made = make(request, states);
  last_page_ = request.page;
  last_key_ = request.key;
  last_ = made;
  return made;
}

std::optional<PageAnswer> Liars::make(const PageRequest& request, const States& states) {
  if (request.agent == kAccomplice && random_.chance(50)) {
    PageAnswer poison = text("agent=agent-1 from=10.0.0.2");
    if (random_.chance(30)) poison.cookie = "session=1";
    return poison;
  }
  switch (style_.value_or(random_.below(kStyles))) {
    case 0:
      return text("nonsense");
    case 1:
      if (!seen_.empty()) return seen_[random_.below(seen_.size())];
      [[fallthrough]];
    case 2: {
      const Key of = random_.chance(10) ? random_.below(states.size()) : request.key;
      return text(states[of][random_.below(states[of].size())]);
    }
    case 3:
      return PageAnswer{.status = 503, .text = "down"};
    case 4:
      return std::nullopt;
    case 5:
    case 6:
      return part(request, states);
    default:
      return text("web" + std::to_string(random_.below(settings_.correct())));
  }
}

PageAnswer Liars::text(std::string text) const {
  return {.text = std::move(text), .is_large = settings_.has_blocks};
}

// The right text, brought in a wrong manner.
PageAnswer Liars::part(const PageRequest& request, const States& states) {
  PageAnswer answer = text(states[request.key].back());
  answer.manner = static_cast<Manner>(random_.below(5));
  if (!answer.is_large) return answer;
  if (random_.chance(70)) answer.wrong_block = random_.below(kLargeBlocks);
  answer.ignores_range = random_.chance(30);
  return answer;
}

void Liars::note_seen(const PageAnswer& answer) {
  if (seen_.size() < kSeenMax) seen_.push_back(answer);
}

}  // namespace prophecy::consistency
