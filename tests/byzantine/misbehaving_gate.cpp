#include "byzantine/misbehaving_gate.hpp"

#include <chrono>
#include <string_view>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::byzantine {
namespace {

// What a behaviour draws follows from the seed and its name, not from its place among the others.
std::uint64_t purpose_of(std::string_view name) {
  std::uint64_t purpose = 0;
  for (const char letter : name)
    purpose = purpose * 31 + static_cast<unsigned char>(letter);
  return purpose;
}

}  // namespace

MisbehavingGate::MisbehavingGate(boost::asio::io_context& io, const pbft::KeyRing& keys,
                                 Misbehaviour plan, Logger& log)
    : io_(io), keys_(keys), plan_(std::move(plan)), log_(log) {
  ASSERT(!plan_.turns.empty());
  take_turn();
}

void MisbehavingGate::take_turn() {
  if (turn_ >= plan_.turns.size()) {
    behaviour_.reset();
    return log_.info("behaviour", {{"name", "honest"}});
  }
  const auto kind = plan_.turns[turn_];
  const std::string_view name = simulation::to_string(kind);
  behaviour_ = simulation::make_behaviour(
      kind, simulation::Villain{keys_, simulation::Random(plan_.seed, purpose_of(name))});
  log_.info("behaviour", {{"name", name}});
}

void MisbehavingGate::next() {
  ++turn_;
  take_turn();
}

void MisbehavingGate::stop() {
  for (const Timer& timer : std::exchange(delayed_, {}))
    timer->cancel();
}

bool MisbehavingGate::receive(ByteView frame) {
  if (!behaviour_) return true;
  return behaviour_->receive(simulation::opened(
      std::make_shared<const Bytes>(frame.begin(), frame.end()), keys_.replicas()));
}

void MisbehavingGate::send(pbft::Outgoing honest, const Pass& pass) {
  if (!behaviour_) return pass(std::move(honest));
  std::vector<simulation::Sending> sendings;
  const TimePoint now = std::chrono::steady_clock::now();
  simulation::send_sealed(*behaviour_, keys_, {std::move(honest), {}, now}, sendings);
  for (simulation::Sending& sending : sendings) {
    if (sending.what.to == keys_.self()) continue;
    if (sending.delay == Duration{}) {
      pass(std::move(sending.what));
    } else {
      pass_later(std::move(sending), pass);
    }
  }
}

void MisbehavingGate::pass_later(simulation::Sending sending, const Pass& pass) {
  const auto timer = std::make_shared<boost::asio::steady_timer>(io_, sending.delay);
  delayed_.insert(timer);
  timer->async_wait([this, timer, pass, what = std::move(sending.what)](
                        const boost::system::error_code& error) mutable {
    if (error) return;
    delayed_.erase(timer);
    pass(std::move(what));
  });
}

}  // namespace prophecy::byzantine
