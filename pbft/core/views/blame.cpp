#include "pbft/core/views/blame.hpp"

#include <algorithm>

namespace prophecy::pbft {
namespace {

// Of what has waited since then. A primary that is gone gets no more time once something waits.
TimePoint due(const BlameInputs& inputs, TimePoint since) {
  const TimePoint usual = since + inputs.patience;
  return inputs.gone_at ? std::min(usual, std::max(since, *inputs.gone_at)) : usual;
}

}  // namespace

Blame when_to_blame(const BlameInputs& inputs) {
  switch (inputs.place) {
    case BlameInputs::Place::silent:
      return {};
    case BlameInputs::Place::changing:
      if (!inputs.no_new_view_at) return {};
      return {std::min(*inputs.no_new_view_at, inputs.gone_at.value_or(TimePoint::max())),
              ViewChangeCause::no_new_view};
    case BlameInputs::Place::primary:
    case BlameInputs::Place::backup:
      break;
  }
  Blame blame;
  const auto consider = [&](TimePoint at, ViewChangeCause cause) {
    if (at < blame.at) blame = {at, cause};
  };
  const bool is_timed = inputs.place == BlameInputs::Place::backup && inputs.request_since;
  if (is_timed) consider(inputs.slow_at, ViewChangeCause::primary_slow);
  if (inputs.place == BlameInputs::Place::backup) {
    consider(inputs.left_out_at, ViewChangeCause::left_out);
  }
  if (inputs.unsettled_since) {
    consider(due(inputs, *inputs.unsettled_since), ViewChangeCause::nothing_settled);
  }
  if (is_timed) consider(due(inputs, *inputs.request_since), ViewChangeCause::request_waited);
  if (inputs.gone_at && blame.cause != ViewChangeCause::none) {
    blame.cause = ViewChangeCause::primary_gone;
  }
  return blame;
}

}  // namespace prophecy::pbft
