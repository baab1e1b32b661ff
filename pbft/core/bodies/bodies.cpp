#include "pbft/core/bodies/bodies.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "pbft/core/bodies/body_reader.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft {
namespace {

// Parts of one body; of all that one replica is asked for, together: it serves at a rate.
constexpr std::size_t kOnTheirWayMax = 32;
constexpr std::size_t kAskedAtOnceMax = 8;  // in one frame: they come back to back
// Without any part coming, until another source is asked. Doubles: a slow network is not to be
// filled with repetitions.
constexpr Duration kPatienceMin = milliseconds(200);
constexpr Duration kPatienceMax = milliseconds(3200);
// A source that brings less than so much in its turn gives way to another, though something comes:
// it may hold a body up for ever otherwise, with a part now and then. Turns get longer while all
// sources are slow: it is the network then, or this replica.
constexpr std::uint64_t kTurnBytes = std::uint64_t{512} << 10;
constexpr Duration kTurnMin = milliseconds(400);
constexpr Duration kTurnMax = milliseconds(6400);
// A client's turn once a batch names the body: replicas that have voted for the batch have it.
constexpr Duration kClientTurnMax = milliseconds(100);
// Of one body.
constexpr std::size_t kClientSourcesMax = 4;
// Of leaves that are here already, for another body or an earlier one: so much is read, and hashed,
// in one event.
constexpr std::uint64_t kLookedAtBytesMax = std::uint64_t{4} << 20;
// Bodies that are asked for, or looked at again, in one event.
constexpr std::size_t kAskedForAtOnceMax = 256;
// The leaves of a larger body do not wait in memory for its end.
constexpr std::uint64_t kInMemoryBytesMax = std::uint64_t{4} << 20;

}  // namespace

const BodySource* Body::source() const {
  return sources_.empty() ? nullptr : &sources_[source_ % sources_.size()];
}

Body::~Body() {
  owner_.forget(*this);
}

std::uint64_t bytes_of(const std::vector<BodyHandle>& bodies) {
  std::uint64_t bytes = 0;
  for (const BodyHandle& body : bodies)
    bytes += body->name().size;
  return bytes;
}

bool all_whole(const std::vector<BodyHandle>& bodies) {
  return std::all_of(bodies.begin(), bodies.end(),
                     [](const BodyHandle& body) { return body->state() == Body::State::whole; });
}

BodyHandle Bodies::want(const BodyName& name, const BodySource& source) {
  std::weak_ptr<Body>& known = known_[name];
  BodyHandle body = known.lock();
  if (body == nullptr) {
    known = body = std::make_shared<Body>(*this, name, ++bodies_so_far_);
    begin(*body);
  }
  ask_also(*body, source);
  return body;
}

std::vector<BodyHandle> Bodies::of_batch(const PrePrepareMessage& message) {
  std::vector<BodyHandle> bodies;
  for (const RequestMessage& request : message.requests) {
    if (request.body) bodies.push_back(want(*request.body, {request.client, request.session}));
  }
  return bodies;
}

std::vector<BodyHandle> Bodies::of_batch(const Frame& content) {
  if (content == nullptr) return {};
  const auto message = decode_pre_prepare(*content, context_.quorum.replicas);
  ASSERT(message.has_value());
  return of_batch(*message);
}

void Bodies::ask_also(Body& body, const BodySource& source) {
  if (std::find(body.sources_.begin(), body.sources_.end(), source) != body.sources_.end()) return;
  const auto clients = std::count_if(body.sources_.begin(), body.sources_.end(),
                                     [](const BodySource& s) { return is_client(s.node); });
  if (is_client(source.node) && clients >= static_cast<std::ptrdiff_t>(kClientSourcesMax)) return;
  body.sources_.push_back(source);
  // Nothing has come for a while: it is asked at once.
  const bool has_stalled = body.state_ == Body::State::missing && body.patience_ > kPatienceMin;
  if (!has_stalled || is_client(source.node)) return;
  body.source_ = body.sources_.size() - 2;
  body.patience_ = kPatienceMin / 2;
  body.stalled_at_ = TimePoint::min();
  body.owner_.touch(body);
}

void Bodies::ask_replicas(Body& body) {
  if (body.state_ != Body::State::missing) return;
  for (std::uint32_t i = 0; i < context_.quorum.replicas; ++i) {
    const NodeId replica = (context_.primary() + i) % context_.quorum.replicas;
    if (replica != context_.self) ask_also(body, {replica, 0});
  }
  // Others wait for the batch now, for its own sake or for the checkpoint behind it.
  body.is_named_ = true;
  if (body.turn_ends_at_ != TimePoint::max() && is_client(body.source()->node))
    body.turn_ends_at_ = std::min(body.turn_ends_at_, context_.now + kClientTurnMax);
  touch(body);
}

void Bodies::begin(Body& body) {
  missing_.emplace(body.number_, &body);
  reset(body);
  body.progressed_at_ = context_.now;
  body.was_refused_ = false;
  look_here(body);
  look_again(body);
}

// Parts that were here went with another body that had them too: they are fetched again, and only
// they. Not within finish(), which is reached out of loops over what is wanted.
void Bodies::look_again(Body& body) {
  if (std::exchange(body.looks_again_, false)) look_here(body);
}

void Bodies::touch(Body& body) {
  if (body.state_ == Body::State::missing) touched_.emplace(body.number_, &body);
}

void Bodies::leave(Body& body) {
  missing_.erase(body.number_);
  looking_.erase(body.number_);
  touched_.erase(body.number_);
  arm(body, TimePoint::max());
  note_source(body);
}

void Bodies::arm(Body& body, TimePoint at) {
  if (body.armed_at_ == at) return;
  timers_.erase({body.armed_at_, body.number_});
  body.armed_at_ = at;
  if (at != TimePoint::max()) timers_.emplace(at, body.number_);
}

// Where a body leaves a source, the source's other bodies share its answers anew.
void Bodies::note_source(Body& body) {
  const BodySource* source = missing_.contains(body.number_) ? body.source() : nullptr;
  std::optional<NodeId> replica;
  if (source != nullptr && !is_client(source->node)) replica = source->node;
  const std::optional<NodeId> before = std::exchange(body.asked_of_, replica);
  if (before == replica) return;
  if (replica) asked_of_[*replica].emplace(body.number_, &body);
  if (!before) return;
  const std::size_t share = share_of(*before);
  asked_of_[*before].erase(body.number_);
  if (share_of(*before) == share) return;
  for (const auto& [number, other] : asked_of_[*before])
    touch(*other);
}

// To where nothing of it has been looked for.
void Bodies::reset(Body& body) {
  body.state_ = Body::State::missing;
  body.root_.clear();
  body.nodes_.clear();
  body.leaves_ = 0;
  body.bytes_here_ = 0;
  body.to_look_for_.clear();
  body.to_ask_.clear();
  body.asked_.clear();
  body.patience_ = kPatienceMin;
  body.stalled_at_ = TimePoint::max();
  body.ask_from_ = TimePoint::min();
  body.turn_ends_at_ = TimePoint::max();
  body.turn_ = kTurnMin;
  body.turns_in_vain_ = 0;
  forget_wanted(body);
  body.wanted_ = {{body.name_.root, 1}};
  note_lacking(body, body.name_.root);
  touch(body);
}

void Bodies::forget_wanted(Body& body) {
  for (const auto* wanted : {&body.wanted_, &body.wanted_nodes_}) {
    for (const auto& [digest, times] : *wanted)
      lacking_.erase({digest, body.number_});
  }
  body.wanted_.clear();
  body.wanted_nodes_.clear();
}

void Bodies::note_lacking(Body& body, const Digest& digest) {
  lacking_.emplace(std::pair(digest, body.number_), &body);
}

void Bodies::note_here(Body& body, const Digest& digest) {
  if (body.wanted_.contains(digest) || body.wanted_nodes_.contains(digest)) return;
  lacking_.erase({digest, body.number_});
}

// Nothing is kept by it here that was not checked when it was read.
void Bodies::look_here(Body& body) {
  if (const auto root = parts_.read(body.name_.root)) return on_root(body, *root);
  body.to_ask_.push_back(body.name_.root);
}

void Bodies::on_root(Body& body, ByteView part) {
  auto children = decode_body_root(part, body.name_.size);
  if (!children) return break_off(body);
  body.root_.assign(part.begin(), part.end());
  forget_wanted(body);
  if (!has_body_nodes(body.name_.size)) return on_leaves(body, *children, 1);
  for (const Digest& node : *children) {
    ++body.wanted_nodes_[node];
    note_lacking(body, node);
  }
  for (const Digest& node : *children) {
    if (!body.wanted_nodes_.contains(node)) continue;
    if (const auto here = parts_.read(node)) {
      on_node(body, node, *here, true);
      if (body.state_ != Body::State::missing) return;
    } else if (std::find(body.to_ask_.begin(), body.to_ask_.end(), node) == body.to_ask_.end()) {
      body.to_ask_.push_back(node);
    }
  }
}

void Bodies::on_node(Body& body, const Digest& digest, ByteView part, bool is_kept) {
  const auto leaves = decode_body_node(part);
  const auto wanted = body.wanted_nodes_.find(digest);
  ASSERT(wanted != body.wanted_nodes_.end());
  const std::uint32_t times = wanted->second;
  if (!leaves) return break_off(body);
  if (!is_kept) body.nodes_.emplace(digest, Bytes(part.begin(), part.end()));
  body.wanted_nodes_.erase(wanted);
  note_here(body, digest);
  on_leaves(body, *leaves, times);
}

// All are counted before any is looked for: the body is whole when none is wanted any more.
void Bodies::on_leaves(Body& body, const std::vector<Digest>& leaves, std::uint32_t times) {
  body.leaves_ += leaves.size() * times;
  if (body.leaves_ > body_leaves_max(body.name_.size)) return break_off(body);
  for (const Digest& leaf : leaves) {
    const auto [wanted, is_new] = body.wanted_.try_emplace(leaf, 0);
    wanted->second += times;
    if (!is_new) continue;
    body.to_look_for_.push_back(leaf);
    note_lacking(body, leaf);
  }
  look_for_leaves(body);
}

void Bodies::look_for_leaves(Body& body) {
  while (!body.to_look_for_.empty() && (reads_at_once_ || looked_at_bytes_ < kLookedAtBytesMax)) {
    const Digest leaf = body.to_look_for_.front();
    body.to_look_for_.pop_front();
    if (!body.wanted_.contains(leaf)) continue;  // it has come meanwhile
    const auto here = parts_.holds(leaf) ? parts_.read(leaf) : std::nullopt;
    if (!here) {
      body.to_ask_.push_back(leaf);
      continue;
    }
    looked_at_bytes_ += here->size();
    on_leaf(body, leaf, *here, true);
    if (body.state_ != Body::State::missing) return;
  }
  if (body.to_look_for_.empty()) {
    looking_.erase(body.number_);
  } else {
    looking_.emplace(body.number_, &body);
  }
  touch(body);
}

void Bodies::on_leaf(Body& body, const Digest& digest, ByteView part, bool is_kept) {
  const auto bytes = decode_body_leaf(part);
  const auto wanted = body.wanted_.find(digest);
  ASSERT(wanted != body.wanted_.end());
  const std::uint64_t size = bytes ? bytes->size() * wanted->second : 0;
  if (!bytes || size > body.name_.size - body.bytes_here_) return break_off(body);
  if (!is_kept) {
    // A leaf that is refused is asked for again later. While a snapshot waits for room in memory,
    // leaves of all bodies go to the disk.
    const bool is_much = body.name_.size > kInMemoryBytesMax || parts_.has_backlog();
    if (!(is_much ? parts_.keep_written(digest, part) : parts_.keep(digest, part))) return;
    body.kept_.push_back(digest);
  }
  body.bytes_here_ += size;
  body.wanted_.erase(wanted);
  note_here(body, digest);
  if (body.wanted_.empty() && body.wanted_nodes_.empty()) finish(body);
}

void Bodies::finish(Body& body) {
  if (body.bytes_here_ != body.name_.size) return break_off(body);
  for (const auto& [digest, node] : body.nodes_) {
    if (parts_.keep(digest, node)) body.kept_.push_back(digest);
  }
  if (parts_.keep(body.name_.root, body.root_)) body.kept_.push_back(body.name_.root);
  if (!parts_.pin(body.name_.root)) {
    if (std::exchange(body.was_refused_, true)) return try_again(body);
    reset(body);
    body.looks_again_ = true;
    return;
  }
  settle(body, Body::State::storing);
  storing_.push_back(&body);
  body.stored_by_ = ++stored_;
  to_store_.push_back({stored_, body.name_.root});
}

void Bodies::on_durable(std::uint64_t id, bool done) {
  const auto found = std::find_if(storing_.begin(), storing_.end(),
                                  [&](const Body* body) { return body->stored_by_ == id; });
  if (found == storing_.end()) return;  // nobody wants it any more
  Body& body = **found;
  storing_.erase(found);
  if (done) return settle(body, Body::State::whole);
  parts_.unpin(body.name_.root);
  body.state_ = Body::State::missing;
  missing_.emplace(body.number_, &body);
  try_again(body);
}

void Bodies::try_again(Body& body) {
  const std::vector<Digest> kept = std::exchange(body.kept_, {});
  for (const Digest& digest : kept)
    parts_.discard(digest);
  reset(body);
  body.to_ask_.push_back(body.name_.root);
  body.ask_from_ = context_.now + kPatienceMax;
}

void Bodies::break_off(Body& body) {
  settle(body, Body::State::broken);
}

void Bodies::settle(Body& body, Body::State state) {
  if (state == Body::State::broken) release_parts(body);
  body.state_ = state;
  body.kept_.clear();
  body.root_.clear();
  body.nodes_.clear();
  forget_wanted(body);
  body.to_look_for_.clear();
  body.to_ask_.clear();
  body.asked_.clear();
  leave(body);
  if (state == Body::State::storing) return;
  settled_.push_back(body.name_);
  if (state == Body::State::whole) ++context_.counters.bodies_fetched;
}

void Bodies::release_parts(Body& body) {
  if (body.state_ == Body::State::whole || body.state_ == Body::State::storing) {
    parts_.unpin(body.name_.root);
    return;
  }
  for (const Digest& digest : body.kept_)
    parts_.discard(digest);
  body.kept_.clear();
}

void Bodies::forget(Body& body) {
  if (closed_) return;
  release_parts(body);
  forget_wanted(body);
  leave(body);
  std::erase(storing_, &body);
  const auto known = known_.find(body.name_);
  if (known != known_.end() && known->second.expired()) known_.erase(known);
}

// Looks at the bodies alone that lack the part: anybody may send one, and thousands may be missing.
bool Bodies::on_part(const Digest& digest, ByteView part) {
  std::vector<Body*> lacking;
  for (auto at = lacking_.lower_bound({digest, 0});
       at != lacking_.end() && at->first.first == digest; ++at) {
    lacking.push_back(at->second);
  }
  for (Body* body : lacking)
    take_part(*body, digest, part);
  return !lacking.empty();
}

void Bodies::take_part(Body& body, const Digest& digest, ByteView part) {
  ++context_.looks;
  const bool is_node = body.wanted_nodes_.contains(digest);
  if (body.asked_.erase(digest) == 0) std::erase(body.to_ask_, digest);
  const TimePoint progressed_at = body.progressed_at_;
  const Duration patience = body.patience_;
  // One that the disk has refused as a whole has no more time than it had.
  if (body.ask_from_ == TimePoint::min()) body.progressed_at_ = context_.now;
  body.patience_ = kPatienceMin;
  body.stalled_at_ = context_.now + body.patience_;
  body.turn_bytes_ += part.size();
  if (digest == body.name_.root && body.root_.empty()) {
    on_root(body, part);
  } else if (is_node) {
    on_node(body, digest, part, false);
  } else {
    on_leaf(body, digest, part, false);
  }
  const bool is_refused =
      body.state_ == Body::State::missing && body.wanted_.contains(digest) && !body.looks_again_;
  look_again(body);
  if (is_refused) {
    // It could not be kept: that is no progress, however often it comes.
    body.asked_.insert(digest);
    body.progressed_at_ = progressed_at;
    body.patience_ = patience;
    body.stalled_at_ = context_.now + patience;
  }
  touch(body);
}

// Those of other bodies come first that have waited for longer. Once in an event.
void Bodies::go_on_looking() {
  auto next = looking_.begin();
  while (next != looking_.end() && looked_at_bytes_ < kLookedAtBytesMax) {
    ++context_.looks;
    const auto [number, body] = *next;
    look_for_leaves(*body);
    look_again(*body);
    next = looking_.upper_bound(number);
  }
  looked_at_bytes_ = 0;
}

void Bodies::advance(ReplicaActions& out) {
  go_on_looking();
  std::move(to_store_.begin(), to_store_.end(), std::back_inserter(out.durable_parts));
  to_store_.clear();
  while (!timers_.empty() && timers_.begin()->first <= context_.now) {
    Body& body = *missing_.at(timers_.begin()->second);
    arm(body, TimePoint::max());
    touch(body);
  }
  // In turns, where they are too many.
  for (std::size_t asked = 0; asked < kAskedForAtOnceMax && !touched_.empty(); ++asked) {
    auto next = touched_.upper_bound(touched_up_to_);
    if (next == touched_.end()) next = touched_.begin();
    touched_up_to_ = next->first;
    ask_and_arm(*touched_.extract(next).mapped(), out);
  }
  if (touched_.empty()) touched_up_to_ = 0;
  // Bodies that have settled meanwhile have an event of their own.
  const bool goes_on = !settled_.empty() || !looking_.empty() || !touched_.empty();
  next_timer_ =
      goes_on ? context_.now : (timers_.empty() ? TimePoint::max() : timers_.begin()->first);
}

void Bodies::ask_and_arm(Body& body, ReplicaActions& out) {
  ++context_.looks;
  ask(body, out);
  TimePoint at = std::min(body.stalled_at_, body.turn_ends_at_);
  if (body.ask_from_ > context_.now) at = std::min(at, body.ask_from_);
  arm(body, at);
}

std::size_t Bodies::share_of(NodeId replica) const {
  const std::size_t askers = std::max<std::size_t>(asked_of_[replica].size(), 1);
  return std::max<std::size_t>(kOnTheirWayMax / askers, 1);
}

std::size_t Bodies::on_their_way_max(const BodySource& source) const {
  return is_client(source.node) ? kOnTheirWayMax : share_of(source.node);
}

void Bodies::begin_turn(Body& body, TimePoint now) {
  body.turn_bytes_ = 0;
  const bool is_short = body.is_named_ && is_client(body.source()->node);
  body.turn_ends_at_ = now + (is_short ? std::min(body.turn_, kClientTurnMax) : body.turn_);
}

// A client under all of its sessions is one source: behind it comes a replica, if there is one.
void Bodies::ask_next_source(Body& body) {
  for (const Digest& digest : body.asked_)
    body.to_ask_.push_front(digest);
  body.asked_.clear();
  const bool was_client = is_client(body.source()->node);
  std::size_t next = body.source_ + 1;
  const std::size_t end = next + body.sources_.size();
  while (was_client && next < end && is_client(body.sources_[next % body.sources_.size()].node))
    ++next;
  body.source_ = next < end ? next : body.source_ + 1;
  body.stalled_at_ = body.turn_ends_at_ = TimePoint::max();
}

void Bodies::change_source(Body& body) const {
  if (body.stalled_at_ <= context_.now) {
    ask_next_source(body);
    body.patience_ = std::min(2 * body.patience_, kPatienceMax);
  } else if (body.turn_ends_at_ <= context_.now) {
    if (body.turn_bytes_ >= kTurnBytes || body.sources_.size() == 1) {
      body.turn_ = kTurnMin;
      body.turns_in_vain_ = 0;
      return begin_turn(body, context_.now);
    }
    ask_next_source(body);
    if (++body.turns_in_vain_ < body.sources_.size()) return;
    body.turns_in_vain_ = 0;
    body.turn_ = std::min(2 * body.turn_, kTurnMax);
  }
}

void Bodies::ask(Body& body, ReplicaActions& out) {
  if (body.sources_.empty()) return;
  change_source(body);
  note_source(body);
  const BodySource& source = *body.source();
  const std::size_t most = on_their_way_max(source);
  if (body.to_ask_.empty() || body.asked_.size() >= most || context_.now < body.ask_from_) return;
  while (!body.to_ask_.empty() && body.asked_.size() < most) {
    std::vector<Digest> parts;
    while (!body.to_ask_.empty() && parts.size() < kAskedAtOnceMax && body.asked_.size() < most) {
      parts.push_back(body.to_ask_.front());
      body.asked_.insert(body.to_ask_.front());
      body.to_ask_.pop_front();
    }
    Frame frame = is_client(source.node)
                      ? encode_fetch_parts_of(source.node, source.session, parts, context_.keys)
                      : encode_fetch_parts(0, parts, context_.keys);
    out.sends.push_back({source.node, source.session, std::move(frame), true});
  }
  if (body.stalled_at_ == TimePoint::max()) body.stalled_at_ = context_.now + body.patience_;
  if (body.turn_ends_at_ == TimePoint::max()) begin_turn(body, context_.now);
}

std::optional<std::vector<Digest>> Bodies::leaves_of(const BodyName& name) const {
  const auto root = parts_.read(name.root);
  auto leaves = root ? decode_body_root(*root, name.size) : std::nullopt;
  if (!leaves || !has_body_nodes(name.size)) return leaves;
  std::vector<Digest> all;
  for (const Digest& node : *leaves) {
    const auto part = parts_.read(node);
    const auto below = part ? decode_body_node(*part) : std::nullopt;
    if (!below) return std::nullopt;
    all.insert(all.end(), below->begin(), below->end());
  }
  return all;
}

std::optional<BodyOperation> Bodies::open(const BodyHandle& body) {
  ASSERT(body->state_ == Body::State::whole);
  const std::uint64_t size = body->name().size;
  if (auto leaves = leaves_of(body->name())) {
    const bool is_here = std::all_of(leaves->begin(), leaves->end(),
                                     [this](const Digest& leaf) { return parts_.holds(leaf); });
    ByteSourcePtr whole = std::make_shared<const BodyReader>(parts_, std::move(*leaves), size);
    std::string front(std::min<std::uint64_t>(size, context_.settings.operation_front_bytes), '\0');
    if (is_here && whole->read(0, front)) {
      if (front.size() == size) whole = nullptr;
      return BodyOperation{std::make_shared<const Bytes>(to_bytes(front)), std::move(whole)};
    }
  }
  parts_.unpin(body->name_.root);
  begin(*body);
  ask_replicas(*body);
  return std::nullopt;
}

}  // namespace prophecy::pbft
