#include "ring/client.hpp"

#include <utility>

#include "ring/world.hpp"

namespace prophecy::ring {

using consistency::Kind;

namespace {

constexpr std::uint64_t kPauseMsMax = 120;
constexpr std::uint64_t kPatienceMs = 3000;
constexpr std::uint64_t kWritesPercent = 15;

}  // namespace

void Client::start() {
  world_.scheduler().after(milliseconds(world_.random().below(kPauseMsMax)), [this] { send(); });
}

// Its answer is recorded when it arrives; a read whose client has left ends when nobody works on it
// any more.
void Client::record(const OperationPointer& operation) {
  Recorder& recorder = world_.mutable_recorder();
  const Instant now = world_.instant();
  const Kind kind = operation->is_write() ? Kind::publish : Kind::read;
  std::vector<Recorder::Id> ids{recorder.begin(operation->at, kind, operation->content, now)};
  if (operation->also)
    ids.push_back(recorder.begin(*operation->also, kind, operation->content, now));
  const std::weak_ptr<Operation> known = operation;
  const auto is_ended = std::make_shared<bool>(false);
  operation->answer = [this, ids, known, is_ended, number = number_](Content content,
                                                                     Instant acceptable) {
    const Duration late = microseconds(100 + world_.random().below(2000));
    const OperationPointer held = known.lock();
    world_.scheduler().after(late, [this, ids, held, is_ended, number, content, acceptable] {
      if (!held || !held->is_open) return;
      held->is_open = false;
      *is_ended = true;
      for (std::size_t i = 0; i < ids.size(); ++i)
        world_.mutable_recorder().end(ids[i], content, world_.instant(), i == 0 ? acceptable : 0);
      if (number == number_) end();
    });
  };
  if (operation->is_write()) return;
  operation->on_gone = [&world = world_, id = ids[0], is_ended] {
    if (!*is_ended && !world.is_over()) world.mutable_recorder().end_unknown(id, world.instant());
  };
}

void Client::send() {
  const std::vector<Host*> hosts = world_.living();
  if (hosts.empty()) return start();
  Random& random = world_.random();
  const auto operation = std::make_shared<Operation>();
  operation->at = random.below(world_.layout().registers);
  if (random.chance(kWritesPercent)) {
    operation->content = world_.new_content();
    const Register also = random.below(world_.layout().registers);
    if (world_.settings().has_locations && random.chance(40) && also != operation->at)
      operation->also = also;
  }
  sent_ = world_.instant();
  ++number_;
  record(operation);
  operation_ = operation;
  hosts[random.below(hosts.size())]->any_worker().on_request(operation, 0);
  world_.scheduler().after(milliseconds(kPatienceMs), [this, number = number_] {
    if (number != number_ || !operation_) return;
    if (world_.is_calm() && world_.is_recovered(sent_))
      world_.fail(Oracle::service, "a request was not answered though nothing goes wrong");
    operation_->is_open = false;
    end();
  });
}

void Client::end() {
  operation_.reset();
  start();
}

}  // namespace prophecy::ring
