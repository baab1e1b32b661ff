#include "simulation/hosts/thief.hpp"

#include <memory>
#include <utility>

namespace prophecy::simulation {
namespace {

constexpr std::size_t kStolenRemembered = 4096;

}  // namespace

Thief::Thief(const Scenario& scenario, const Ingredient& ingredient, const pbft::KeyRing& keys,
             Scheduler& scheduler, Lies& lies, ReplicaHost::Send send)
    : ingredient_(ingredient),
      scheduler_(scheduler),
      ignored_(scenario),
      service_(scenario.canary, ingredient.node),
      process_(scenario, keys, scheduler, ignored_, lies, service_,
               [this, send = std::move(send)](NodeId from, const pbft::Outgoing& outgoing,
                                              Duration delay) {
                 // A frame of its own, by which it is known: others may send the same one.
                 pbft::Outgoing own = outgoing;
                 own.frame = std::make_shared<const Bytes>(*outgoing.frame);
                 note(own.frame);
                 send(from, own, delay);
               }) {}

void Thief::start() {
  scheduler_.at(ingredient_.from, [this] {
    has_begun_ = true;
    process_.start();
  });
}

void Thief::on_frame(const pbft::Frame& frame, ReplicaHost::Speaker speaker) {
  if (has_begun_) process_.on_frame(frame, speaker);
}

void Thief::note(const pbft::Frame& frame) {
  sent_.insert(frame.get());
  newest_.push_back(frame);
  if (newest_.size() <= kStolenRemembered) return;
  sent_.erase(newest_.front().get());
  newest_.pop_front();
}

}  // namespace prophecy::simulation
