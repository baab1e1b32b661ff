#include "dht/zookeeper/core/coordination_calls.hpp"

#include <utility>

#include "base/assert.hpp"

namespace prophecy::zookeeper {
namespace {

using dht::CoordinationCall;
using dht::CoordinationResult;
using dht::CoordinationStatus;
using dht::SessionEvent;
using dht::WriteStep;

Step step_of(WriteStep step) {
  switch (step.kind) {
    case WriteStep::Kind::check:
      return Check{std::move(step.path), step.version};
    case WriteStep::Kind::create:
      return Create{std::move(step.path), std::move(step.data), false};
    case WriteStep::Kind::create_ephemeral:
      return Create{std::move(step.path), std::move(step.data), true};
    case WriteStep::Kind::set:
      return SetData{std::move(step.path), std::move(step.data), step.version};
    case WriteStep::Kind::remove:
      return Delete{std::move(step.path), step.version};
  }
  UNREACHABLE();
}

CoordinationStatus status_of(const Completion& completion) {
  switch (completion.outcome) {
    case Outcome::done:
      return CoordinationStatus::done;
    case Outcome::not_sent:
    case Outcome::unknown:
      return CoordinationStatus::unknown;
    case Outcome::refused:
      break;
  }
  switch (completion.code) {
    case ErrorCode::no_node:
      return CoordinationStatus::absent;
    case ErrorCode::node_exists:
      return CoordinationStatus::exists;
    case ErrorCode::bad_version:
      return CoordinationStatus::wrong_version;
    // The server was too busy to carry it out: it is tried again, as after a lost connection.
    case ErrorCode::throttled:
      return CoordinationStatus::unknown;
    default:
      return CoordinationStatus::refused;
  }
}

CoordinationResult result_of(std::uint64_t call, Completion completion) {
  CoordinationResult result{.number = call, .status = status_of(completion)};
  if (completion.outcome == Outcome::refused) result.message = to_string(completion.code);
  if (completion.outcome == Outcome::not_sent) result.message = std::move(completion.message);
  result.failed_step = completion.failed_step;
  result.data = std::move(completion.answer.data);
  result.version = completion.answer.stat.version;
  result.owner_session = static_cast<std::uint64_t>(completion.answer.stat.ephemeral_owner);
  result.children = std::move(completion.answer.children);
  return result;
}

// Whether a watch by Exists stands.
bool is_set(const Completion& completion) {
  return completion.outcome == Outcome::done ||
         (completion.outcome == Outcome::refused && completion.code == ErrorCode::no_node);
}

}  // namespace

std::vector<CoordinationCalls::Numbered> CoordinationCalls::begin(CoordinationCall call) {
  std::vector<Numbered> requests;
  const auto add = [&](Request request) {
    requests.push_back({++last_number_, std::move(request)});
  };
  if (call.watches && call.kind != CoordinationCall::Kind::write) add(Exists{call.path, true});
  switch (call.kind) {
    case CoordinationCall::Kind::read:
      add(GetData{std::move(call.path), false});
      break;
    case CoordinationCall::Kind::children:
      add(GetChildren{std::move(call.path), call.watches});
      break;
    case CoordinationCall::Kind::write: {
      Multi multi;
      for (WriteStep& step : call.steps)
        multi.steps.push_back(step_of(std::move(step)));
      add(std::move(multi));
      break;
    }
  }
  calls_.emplace(last_number_, UnderWay{call.number, requests.size(), std::nullopt});
  return requests;
}

// Completions come in the order of the requests.
std::optional<CoordinationResult> CoordinationCalls::complete(Completion completion) {
  const auto found = calls_.lower_bound(completion.number);
  ASSERT(found != calls_.end());
  UnderWay& call = found->second;
  if (--call.left > 0) {
    if (!is_set(completion)) call.failed_watch = std::move(completion);
    return std::nullopt;
  }
  // Without its watch the call is as good as none.
  Completion& told = call.failed_watch ? *call.failed_watch : completion;
  CoordinationResult result = result_of(call.call, std::move(told));
  calls_.erase(found);
  return result;
}

std::optional<SessionEvent> CoordinationCalls::event(Report::Kind kind) {
  switch (kind) {
    case Report::Kind::connected:
    case Report::Kind::session_begun:
      return SessionEvent::connected;
    case Report::Kind::disconnected:
      return SessionEvent::disconnected;
    case Report::Kind::expired:
      return SessionEvent::expired;
    case Report::Kind::rejected:
      return SessionEvent::rejected;
    case Report::Kind::changed:
      return SessionEvent::changed;
    case Report::Kind::alive:
      return SessionEvent::alive;
    case Report::Kind::attempt_failed:
    case Report::Kind::closed:
      return std::nullopt;
  }
  UNREACHABLE();
}

}  // namespace prophecy::zookeeper
