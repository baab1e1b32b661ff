#include "simulation/hosts/strangers.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/sealed.hpp"
#include "pbft/wire/view_change.hpp"
#include "simulation/behaviours/behaviour.hpp"
#include "simulation/cheap_keys.hpp"

namespace prophecy::simulation {
namespace {

constexpr NodeId kStranger = kLastClientId + 1;
constexpr std::size_t kOverheardMax = 100;
constexpr std::size_t kSentRemembered = 4096;

}  // namespace

Strangers::Strangers(const Scenario& scenario, Scheduler& scheduler, Send send)
    : scenario_(scenario),
      scheduler_(scheduler),
      send_(std::move(send)),
      random_(scenario.seed, kPurposeNode + kStranger),
      keys_(cheap_key_ring(kStranger, scenario.replicas())) {
  for (const Ingredient& ingredient : scenario.ingredients) {
    if (ingredient.kind == IngredientKind::strangers) all_.push_back(ingredient);
  }
}

void Strangers::start() {
  for (const Ingredient& ingredient : all_) {
    scheduler_.at(ingredient.from, [this, &ingredient] { act(ingredient); });
  }
}

void Strangers::overhear(const pbft::Frame& frame) {
  if (only_records_) return record(opened(frame, scenario_.replicas()));
  if (all_.empty()) return;
  // One of a few, or the newest alone would be known. The exchange of keys has behaviours.
  const auto header = pbft::peek_header(*frame);
  if (!random_.chance(20) || (header && pbft::is_key_message(header->type))) return;
  overheard_.push_back(frame);
  if (overheard_.size() > kOverheardMax) overheard_.pop_front();
}

void Strangers::record(const pbft::Frame& frame) {
  const auto header = pbft::peek_header(*frame);
  const auto request = pbft::decode_request(*frame, scenario_.replicas());
  const bool is_signed = request ? !request->signature.empty()
                                 : header && pbft::is_only_sealed(header->type) &&
                                       header->type != pbft::MessageType::forward;
  if (!is_signed) return;
  overheard_.push_back(frame);
  if (overheard_.size() > kOverheardMax) overheard_.pop_front();
}

void Strangers::remember(const std::deque<pbft::Frame>& recorded) {
  for (const pbft::Frame& frame : recorded) {
    Bytes bytes = *frame;
    if (const auto request = pbft::decode_request(*frame, scenario_.replicas())) {
      for (std::size_t i = 0; i < request->authenticator.size(); ++i)
        bytes[request->content.size() + i] ^= 1;
    }
    earlier_.push_back(std::make_shared<const Bytes>(std::move(bytes)));
  }
}

void Strangers::act(const Ingredient& ingredient) {
  if (!ingredient.is_active(scheduler_.now())) return;
  for (std::uint32_t i = 0; i < ingredient.count; ++i)
    say(static_cast<NodeId>(random_.below(scenario_.replicas())), draw(ingredient));
  scheduler_.after(ingredient.offset, [this, &ingredient] { act(ingredient); });
}

pbft::Frame Strangers::draw(const Ingredient& ingredient) {
  if (random_.chance(ingredient.percent)) return in_a_members_name(view_change());
  if (!overheard_.empty() && random_.chance(40)) return overheard();
  if (!earlier_.empty() && random_.chance(40)) {
    return std::make_shared<const Bytes>(*earlier_[random_.below(earlier_.size())]);
  }
  const pbft::Frame frame = in_a_members_name(made_up());
  return random_.chance(30) ? in_a_members_name(pbft::encode_sealed(*frame, keys_)) : frame;
}

pbft::Frame Strangers::view_change() {
  pbft::ViewChangeMessage message;
  message.view = random_.between(1, 20);
  return pbft::encode_view_change(message, keys_);
}

pbft::Frame Strangers::made_up() {
  const auto digest = [&] { return sha256(Bytes(random_.below(4))); };
  const std::uint64_t number = random_.between(1, 2000);
  switch (random_.below(7)) {
    case 0:
      return view_change();
    case 1:
      return pbft::encode_checkpoint(number, digest(), digest(), digest(), keys_);
    case 2:
      return pbft::encode_rejoin(number << 32, keys_);
    case 3: {
      const pbft::Frame one = view_change();
      const std::vector<ByteView> all(2 * scenario_.faults + 1, ByteView(*one));
      return pbft::encode_new_view(number, all, keys_);
    }
    case 4:
      return pbft::encode_vote(
          random_.chance(50) ? pbft::MessageType::commit : pbft::MessageType::decision, 0, number,
          digest(), keys_);
    case 5:
      return pbft::encode_fetch_parts(number, std::vector{digest()}, keys_);
    default: {
      // In a client's name, as retransmitted.
      Bytes begun = pbft::begin_request(Bytes(random_.below(20)), scenario_.replicas());
      const pbft::Frame request =
          pbft::finish_request(std::move(begun), 0, number, false, 0, keys_);
      return pbft::sign_request(*request, keys_);
    }
  }
}

pbft::Frame Strangers::overheard() {
  const pbft::Frame& frame = overheard_[random_.below(overheard_.size())];
  switch (random_.below(3)) {
    case 0:
      return std::make_shared<const Bytes>(*frame);
    case 1: {
      const pbft::Frame bare = opened(frame, scenario_.replicas());
      Bytes bytes = *bare;
      // Behind a client's request, a signature that is none.
      if (const auto request = pbft::decode_request(bytes, scenario_.replicas())) {
        bytes.resize(bytes.size() - request->signature.size());
        bytes.resize(bytes.size() + pbft::kSignatureSize, 0x55);
      }
      return std::make_shared<const Bytes>(std::move(bytes));
    }
    default:
      return in_a_members_name(opened(frame, scenario_.replicas()));
  }
}

pbft::Frame Strangers::in_a_members_name(const pbft::Frame& frame) {
  Bytes bytes = *frame;
  if (bytes.size() < pbft::kHeaderSize) return frame;
  const bool is_request = bytes[0] == static_cast<std::uint8_t>(pbft::MessageType::request);
  const NodeId name = is_request
                          ? kFirstClientId + static_cast<NodeId>(random_.below(scenario_.clients))
                          : static_cast<NodeId>(random_.below(scenario_.replicas()));
  for (std::size_t i = 0; i < 4; ++i)
    bytes[2 + i] = static_cast<std::uint8_t>(name >> (8 * i));
  return std::make_shared<const Bytes>(std::move(bytes));
}

void Strangers::say(NodeId to, const pbft::Frame& frame) {
  if (sent_.insert(frame.get()).second) newest_.push_back(frame);
  if (newest_.size() > kSentRemembered) {
    sent_.erase(newest_.front().get());
    newest_.pop_front();
  }
  send_(kStranger, {to, 0, frame}, {});
}

}  // namespace prophecy::simulation
