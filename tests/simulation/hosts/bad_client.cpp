#include "simulation/hosts/bad_client.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "pbft/wire/encode.hpp"
#include "pbft/wire/recovery.hpp"
#include "simulation/hosts/register_service.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::uint64_t kAll = UINT64_MAX;
constexpr int kFloodAtOnce = 8;
constexpr int kGreedyAtOnce = 48;
constexpr std::uint32_t kGreedySessions = 512;
constexpr std::uint32_t kGreedyFirstSession = 8;  // behind those of its other ingredients
constexpr std::size_t kBodiesMax = 20;
constexpr std::uint32_t kDrippedAtOnce = 3;
constexpr std::uint32_t kDrippedFirstSession = 4;  // apart from those of its other ingredients
constexpr std::uint64_t kLoneBodyMiBMax = 12;
constexpr std::uint32_t kSharedSession = 700;    // apart from those of its other ingredients
constexpr std::uint64_t kClocksApart = 200'000;  // of two processes, in microseconds
constexpr std::uint32_t kNamesAtOnce = 64;
constexpr std::uint32_t kNamesFirstSession = 1024;  // behind all others

}  // namespace

BadClient::BadClient(const Scenario& scenario, const Ingredient& ingredient,
                     const pbft::KeyRing& keys, Scheduler& scheduler, Send send)
    : ingredient_(ingredient),
      keys_(keys),
      random_(scenario.seed, kPurposeIngredient + ingredient.number),
      scheduler_(scheduler),
      send_(std::move(send)),
      spares_macs_(scenario.blames_nobody()),
      session_(ingredient.number % 4),
      served_(random_.next()) {}

void BadClient::start() {
  scheduler_.at(ingredient_.from, [this] { act_and_go_on(); });
}

void BadClient::act_and_go_on() {
  if (!ingredient_.is_active(scheduler_.now())) return;
  act();
  scheduler_.after(milliseconds(random_.between(5, 60)), [this] { act_and_go_on(); });
}

void BadClient::act() {
  switch (ingredient_.bad_client) {
    case BadClientKind::selective_macs:
      return send_selective_macs();
    case BadClientKind::two_operations:
      return send_two_operations();
    case BadClientKind::jumping_timestamps:
      return send_jumping_timestamps();
    case BadClientKind::flooding:
      return send_flood();
    case BadClientKind::garbage:
      return send_garbage();
    case BadClientKind::missing_bodies:
      return random_.chance(8) ? send_many_names() : send_name_of_body();
    case BadClientKind::withheld_bodies:
    case BadClientKind::false_bodies:
      return send_name_of_body();
    case BadClientKind::dripped_bodies:
      return send_dripped_bodies();
    case BadClientKind::lone_bodies:
      return send_lone_body();
    case BadClientKind::greedy:
      return send_greedily();
    case BadClientKind::shared_session:
      return send_as_one_of_two();
    case BadClientKind::count_:
      return;
  }
}

Bytes BadClient::next_operation() {
  Operation operation;
  operation.append = random_.chance(70);
  operation.frees = operation.append && operations_ % 8 == 7;
  operation.key = static_cast<std::uint8_t>(random_.below(3));
  operation.id = (std::uint64_t{keys_.self()} << 32) | (std::uint64_t{ingredient_.number} << 16) |
                 ++operations_;
  return encode(operation);
}

pbft::Frame BadClient::request(ByteView operation, std::uint64_t timestamp) {
  const auto replier = static_cast<NodeId>(random_.below(keys_.replicas()));
  return pbft::finish_request(pbft::begin_request(operation, keys_.replicas()), session_, timestamp,
                              random_.chance(10), replier, keys_);
}

void BadClient::send_to(std::uint64_t replicas, const pbft::Frame& frame) {
  for (NodeId to = 0; to < keys_.replicas(); ++to) {
    if (contains(replicas, to)) send_(keys_.self(), {to, 0, frame}, {});
  }
}

void BadClient::send_selective_macs() {
  const pbft::Frame asked = request(next_operation(), ++timestamp_);
  const std::size_t macs_at = asked->size() - keys_.replicas() * pbft::kTagSize;
  const std::uint64_t victims = random_.next();
  const auto damaged = [&](Bytes bytes) {
    for (NodeId replica = 0; replica < keys_.replicas(); ++replica) {
      if (contains(victims, replica)) bytes[macs_at + replica * pbft::kTagSize] ^= 0x55;
    }
    return std::make_shared<const Bytes>(std::move(bytes));
  };
  // To some with a signature, which is right or not.
  const std::uint64_t with_signature = random_.chance(50) ? random_.next() : 0;
  pbft::Frame with = pbft::sign_request(*asked, keys_);
  if (random_.chance(50)) {
    const Bytes junk(pbft::kSignatureSize, 0x55);
    pbft::RequestMessage message;
    message.content = ByteView(*asked).first(macs_at);
    message.signature = junk;
    with = pbft::renew_request(message, keys_);
  }
  send_to(with_signature, damaged(*with));
  send_to(~with_signature, damaged(*asked));
}

void BadClient::send_two_operations() {
  ++timestamp_;
  const std::uint64_t first = random_.next();
  send_to(first, request(next_operation(), timestamp_));
  send_to(~first, request(next_operation(), timestamp_));
}

void BadClient::send_jumping_timestamps() {
  switch (random_.below(4)) {
    case 0:
      timestamp_ += std::uint64_t{1} << random_.below(60);
      break;
    case 1:
      timestamp_ -= std::min(timestamp_, std::uint64_t{1} << random_.below(60));
      break;
    default:
      ++timestamp_;
      break;
  }
  send_to(random_.chance(50) ? kAll : random_.next(), request(next_operation(), timestamp_));
}

void BadClient::send_flood() {
  if (last_ == nullptr || random_.chance(30)) last_ = request(next_operation(), ++timestamp_);
  for (int i = 0; i < kFloodAtOnce; ++i)
    send_to(random_.next(), last_);
}

// Each on a session of its own, so that all are waited for at once. Some are signed, so that
// backups hold them against the primary.
void BadClient::send_greedily() {
  for (int i = 0; i < kGreedyAtOnce; ++i) {
    greedy_session_ = (greedy_session_ + 1) % kGreedySessions;
    session_ = kGreedyFirstSession + greedy_session_;
    const pbft::Frame frame = request(next_operation(), ++timestamp_);
    send_to(kAll, random_.chance(30) ? pbft::sign_request(*frame, keys_) : frame);
  }
}

// Each goes by its own clock. What the one asks for is old to replicas that have executed what the
// other one has; a process that learns that leaps ahead, as a correct client does.
void BadClient::send_as_one_of_two() {
  session_ = kSharedSession;
  const std::uint64_t which = random_.below(lasts_.size());
  pbft::Frame& last = lasts_.at(which);
  if (last == nullptr || random_.chance(50)) {
    const auto now = std::chrono::duration_cast<microseconds>(scheduler_.now().time_since_epoch());
    std::uint64_t timestamp = static_cast<std::uint64_t>(now.count()) + which * kClocksApart;
    if (timestamp <= timestamp_ && random_.chance(50)) timestamp = timestamp_ + 2 * kClocksApart;
    timestamp_ = std::max(timestamp_, timestamp);
    last = request(next_operation(), timestamp);
  } else {
    last = pbft::sign_request(*last, keys_);
  }
  send_to(kAll, last);
}

void BadClient::send_garbage() {
  Bytes operation(random_.below(60));
  for (std::uint8_t& byte : operation)
    byte = static_cast<std::uint8_t>(random_.next());
  const pbft::Frame frame = request(operation, ++timestamp_);
  if (random_.chance(50)) return send_to(kAll, frame);
  Bytes bytes = *frame;
  const std::size_t macs = spares_macs_ ? keys_.replicas() * pbft::kTagSize : 0;
  bytes[random_.below(bytes.size() - macs)] ^= static_cast<std::uint8_t>(random_.between(1, 255));
  bytes.resize(random_.chance(30) ? random_.below(bytes.size()) : bytes.size());
  send_to(kAll, std::make_shared<const Bytes>(std::move(bytes)));
}

std::shared_ptr<const Bytes> BadClient::draw_body() {
  Operation operation = *decode_operation(next_operation());
  operation.padding = static_cast<std::uint16_t>(random_.between(1, kSimulatedPaddingMax));
  auto body = std::make_shared<const Bytes>(encode(operation));
  bodies_.emplace_back(body, random_.between(10, kSimulatedLeafBytes));
  if (bodies_.size() > kBodiesMax) {
    dripping_.erase(bodies_.front().name().root);
    bodies_.erase(bodies_.begin());
  }
  return body;
}

// Three at once, which may come into one batch. Each is handed to 2f+1 replicas at least at full
// speed, and to the others in drips, so that there may be no replica that has all three soon.
void BadClient::send_dripped_bodies() {
  if (last_ != nullptr && !random_.chance(8)) return;
  const std::uint32_t first_session = session_;
  const std::uint32_t faults = (keys_.replicas() - 1) / 3;
  for (std::uint32_t number = 0; number < kDrippedAtOnce; ++number) {
    (void)draw_body();
    const pbft::BodyName name = bodies_.back().name();
    Dripping& dripping = dripping_[name.root];
    for (std::uint32_t slow = 0; slow < faults; ++slow)
      dripping.slowly |= std::uint64_t{1} << random_.below(keys_.replicas());
    session_ = kDrippedFirstSession + kDrippedAtOnce * first_session + number;
    last_ = pbft::finish_request(pbft::begin_request(name, keys_.replicas()), session_,
                                 ++timestamp_, false, 0, keys_);
    if (random_.chance(70)) last_ = pbft::sign_request(*last_, keys_);
    send_to(kAll, last_);
  }
  session_ = first_session;
}

Duration BadClient::delay_of_part(NodeId asking, const pbft::BodyTree& body) {
  const auto found = dripping_.find(body.name().root);
  if (found == dripping_.end() || !contains(found->second.slowly, asking)) return {};
  TimePoint& last = found->second.last[asking];
  last = std::max(last, scheduler_.now()) + milliseconds(random_.between(100, 190));
  return last - scheduler_.now();
}

void BadClient::send_name_of_body() {
  const auto operation = draw_body();
  pbft::BodyName name = bodies_.back().name();
  if (ingredient_.bad_client == BadClientKind::false_bodies) {
    const std::uint64_t other = random_.chance(50) ? random_.between(1, 5000) : name.size + 1;
    // Or a leaf in place of the root.
    if (random_.chance(30)) name.root = sha256(pbft::encode_part({}, *operation));
    name.size = random_.chance(20) ? pbft::kOperationBytesMax : other;
  }
  const auto replier = static_cast<NodeId>(random_.below(keys_.replicas()));
  pbft::Frame frame = pbft::finish_request(pbft::begin_request(name, keys_.replicas()), session_,
                                           ++timestamp_, false, replier, keys_);
  if (random_.chance(50)) frame = pbft::sign_request(*frame, keys_);
  send_to(random_.chance(50) ? kAll : random_.next(), frame);
  if (random_.chance(30)) served_ = random_.next();
}

// The names of bodies that never come, each on a session of its own: looks at them add up.
void BadClient::send_many_names() {
  ++timestamp_;
  for (std::uint32_t number = 0; number < kNamesAtOnce; ++number) {
    const std::string text = std::to_string(timestamp_) + "/" + std::to_string(number);
    const pbft::BodyName name{100, sha256(as_bytes(text))};
    send_to(kAll, pbft::finish_request(pbft::begin_request(name, keys_.replicas()),
                                       kNamesFirstSession + number, timestamp_, false, 0, keys_));
  }
}

// Of megabytes that are no operation. Each is known to one replica, and served to it; later maybe,
// signed, to some or all.
void BadClient::send_lone_body() {
  if (last_ == nullptr || random_.chance(8)) {
    auto body = std::make_shared<Bytes>(random_.between(1, kLoneBodyMiBMax) << 20);
    for (std::size_t at = 0; at < body->size(); at += pbft::kBodyLeafBytesMax)
      (*body)[at] = static_cast<std::uint8_t>(random_.next());
    bodies_.clear();
    bodies_.emplace_back(std::move(body), pbft::kBodyLeafBytesMax);
    served_ = random_.chance(50) ? 1 : std::uint64_t{1} << random_.below(keys_.replicas());
    last_ = pbft::finish_request(pbft::begin_request(bodies_.back().name(), keys_.replicas()),
                                 session_, ++timestamp_, false, 0, keys_);
    return send_to(served_, last_);
  }
  if (random_.chance(10)) last_ = pbft::sign_request(*last_, keys_);
  if (random_.chance(20)) send_to(random_.chance(50) ? served_ : random_.next(), last_);
}

void BadClient::on_frame(ByteView frame) {
  const auto asked = pbft::decode_fetch_parts(frame);
  if (!asked || ingredient_.bad_client == BadClientKind::missing_bodies) return;
  const bool is_lone = ingredient_.bad_client == BadClientKind::lone_bodies;
  if (is_lone && !contains(served_, asked->replica)) return;
  const bool withholds = ingredient_.bad_client == BadClientKind::withheld_bodies;
  if (withholds && !contains(served_, asked->replica)) return;
  for (const pbft::Digest& digest : asked->parts) {
    if (withholds && random_.chance(20)) continue;
    for (const pbft::BodyTree& body : bodies_) {
      const auto part = body.part(digest);
      if (!part) continue;
      send_(keys_.self(), {asked->replica, 0, pbft::encode_part_message(*part, keys_)},
            delay_of_part(asked->replica, body));
      break;
    }
  }
}

}  // namespace prophecy::simulation
