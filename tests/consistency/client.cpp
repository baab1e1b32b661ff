#include "consistency/client.hpp"

#include <utility>

#include "base/assert.hpp"
#include "consistency/world.hpp"

namespace prophecy::consistency {

using sketcher::ReadAction;
using sketcher::ReadMachine;
using ActionKind = sketcher::ReadAction::Kind;

namespace {

constexpr std::uint64_t kLeavingPercent = 1;
constexpr std::uint64_t kAccompliceLeavingPercent = 8;
constexpr std::uint64_t kLeavingStreamPercent = 5;
constexpr std::uint64_t kDeadlinePermille = 4;
constexpr std::string_view kHost = "site";

}  // namespace

SimulatedClient::SimulatedClient(World& world, std::string agent, std::string address)
    : world_(world),
      address_(std::move(address)),
      agent_(std::move(agent)),
      streams_{OriginStream(world.service().origins(), world.random()),
               OriginStream(world.service().origins(), world.random())},
      taker_(world.random()) {}

void SimulatedClient::advance(Phase phase) {
  if (is_idle()) return phase == Phase::calm ? void() : start(phase);
  simulation::Random& random = world_.random();
  if (phase == Phase::free) {
    const bool conspires = agent_ == kAccomplice;
    if (random.chance(conspires ? kAccompliceLeavingPercent : kLeavingPercent)) return leave();
    if (is_deadline_armed_ && random.below(1000) < kDeadlinePermille) return on_deadline();
  }
  if (is_moved_) return ask_again();
  // An origin may go on for ever: it is the client that ends such an answer.
  const bool is_endless = phase != Phase::free && machine_->is_streamed();
  if (is_endless && random.chance(kLeavingStreamPercent)) return leave();
  if (machine_->state() == ReadMachine::State::raising) return raise_floors();
  if (is_hedge_armed_ && random.chance(30)) {
    is_hedge_armed_ = false;
    machine_->on_hedge_time(world_.now());
    return perform();
  }
  if (advance_body()) return perform();
  const auto slot = static_cast<std::uint8_t>(random.below(streams_.size()));
  if (streams_[slot].is_active()) return on_origin(slot);
}

bool SimulatedClient::advance_body() {
  if (taker_.is_untaken_armed() && world_.random().chance(20)) {
    taker_.arm_untaken(false);
    machine_->on_untaken_time();
    return true;
  }
  if (machine_->state() != ReadMachine::State::relaying || !taker_.becomes_ready()) return false;
  machine_->on_writable(world_.now());
  return true;
}

Wanted SimulatedClient::next_wanted() {
  // The accomplice asks for what others are asking for.
  if (agent_ == kAccomplice) {
    world_.counted().add(Met::accomplice_reads);
    if (const Wanted* const other = world_.last_wanted(); other && other->kind == Kind::read) {
      return *other;
    }
  }
  return Wanted::draw(world_.settings(), world_.random());
}

void SimulatedClient::choose_worker() {
  SimulatedWorker& worker = world_.any_worker();
  asks_ = calls_ = 0;
  asked_ = 0;
  delays_ = {};
  is_agreed_ = false;
  if (worker_ == &worker && machine_) return;
  worker_ = &worker;
  sketcher::SharedReadWaiter& waiter = *this;
  machine_ = std::make_unique<ReadMachine>(worker.reads(), waiter);
}

void SimulatedClient::ask_again() {
  is_moved_ = false;
  choose_worker();
  start_machine(wanted_);
}

void SimulatedClient::raise_floors() {
  if (world_.random().chance(30)) {
    machine_->on_floor_time();
    return perform();
  }
  const std::size_t count = machine_->owed_floors().size();
  sketcher::ReadGroup& other = world_.worker(1 - worker_->place()).core().group;
  for (std::size_t i = 0; i < count && machine_->state() == ReadMachine::State::raising; ++i) {
    const sketcher::OwedFloor& floor = machine_->owed_floors()[i];
    const bool is_raised =
        floor.group != nullptr && other.make_out_of_date(floor.authority, floor.target,
                                                         floor.write ? &*floor.write : nullptr);
    if (is_raised) machine_->on_floor_raised(i);
  }
  perform();
}

void SimulatedClient::start(Phase phase) {
  choose_worker();
  is_tried_ = phase == Phase::trial;
  taker_.reset();
  wanted_ = is_tried_ ? world_.trial_wanted() : next_wanted();
  world_.note_wanted(wanted_);
  if (wanted_.is_recorded()) {
    const bool writes = wanted_.kind == Kind::publish;
    if (writes) value_ = world_.new_value();
    operation_ = world_.recorder().begin(wanted_.key, wanted_.is_head, wanted_.kind,
                                         writes ? &value_ : nullptr, world_.instant());
  }
  start_machine(wanted_);
}

void SimulatedClient::start_machine(const Wanted& wanted) {
  http::Request request;
  request.fields.add("host", kHost);
  request.fields.add("user-agent", agent_);
  request.method = wanted.method();
  request.target = wanted.target;
  if (wanted.kind == Kind::publish) request.body = value_;
  const sketch::RequestContext context{.client_address = address_};
  sketch::RequestCanonicalizer& canonicalizer = worker_->canonicalizer();
  auto refusal = canonicalizer.locate(request, context, form_);
  ASSERT(!refusal);
  refusal = canonicalizer.canonicalize(request, context, world_.profile(), form_);
  ASSERT(!refusal);
  if (world_.settings().variant.world == BrokenWorld::shared_key) world_.share_key(form_);
  machine_->start({.form = &form_,
                   .method = wanted.method(),
                   .scheme = "http",
                   .mode = wanted.mode,
                   .reads = wanted.reads,
                   .listed = wanted.listed,
                   .may_hedge = true,
                   .counters = &world_.counters(),
                   .budget = worker_->budget()},
                  worker_->core(), world_.now());
  perform();
}

void SimulatedClient::perform() {
  for (;;) {
    worker_->perform(wanted_.is_recorded());
    if (machine_->actions().empty()) return;
    carry_out(machine_->actions().take());
  }
}

void SimulatedClient::carry_out(const ReadAction& action) {
  OriginStream& stream = streams_[action.slot];
  switch (action.kind) {
    case ActionKind::ask_origin:
      return ask_origin(action);
    case ActionKind::cancel_origin:
      return stream.cancel();
    case ActionKind::extend_origin:
      return stream.extend();
    case ActionKind::pause_origin:
      return stream.pause();
    case ActionKind::resume_origin:
      return stream.resume();
    case ActionKind::ask_group:
      call_ = world_.service().submit(worker_->place(), form_.wire, *this);
      return;
    case ActionKind::cancel_group:
      return world_.service().cancel(std::exchange(call_, 0));
    case ActionKind::arm_hedge:
    case ActionKind::disarm_hedge:
      is_hedge_armed_ = action.kind == ActionKind::arm_hedge;
      return;
    case ActionKind::arm_deadline:
    case ActionKind::disarm_deadline:
      is_deadline_armed_ = action.kind == ActionKind::arm_deadline;
      return;
    case ActionKind::arm_untaken:
    case ActionKind::disarm_untaken:
      return taker_.arm_untaken(action.kind == ActionKind::arm_untaken);
    case ActionKind::deliver:
      return deliver(action.whole);
    case ActionKind::refuse:
      return refuse();
    case ActionKind::move:
      is_moved_ = true;
      return world_.counted().add(Met::moved);
    case ActionKind::raise_floors:
      return world_.counted().add(Met::moved_writes);
    case ActionKind::cancel_floors:
      return;
    case ActionKind::ask_client:
      return machine_->on_client(taker_.view(machine_->answer().blocks.length, !is_tried_),
                                 world_.now());
    case ActionKind::begin_body:
      if (machine_->answer().is_open_ended()) world_.counted().add(Met::streams);
      taker_.begin();
      // What the group has agreed on for this read was accepted when it came.
      if (wanted_.is_recorded() && !is_agreed_) {
        world_.recorder().accept(operation_, world_.instant());
      }
      return machine_->on_begun(world_.now());
    case ActionKind::send_body: {
      const std::string_view storage = *action.storage;
      return machine_->on_sent(taker_.take(storage.substr(action.begin, action.size)),
                               world_.now());
    }
    case ActionKind::end_body:
      return end_body(action.whole);
  }
  UNREACHABLE();
}

void SimulatedClient::ask_origin(const ReadAction& action) {
  ++asks_;
  world_.operators().check_ask(action.replica, asked_);
  asked_ |= replica_client::bit_of(action.replica);
  const RunSettings& settings = world_.settings();
  if (settings.has_blocks) {
    world_.cost().check("origin-asks-per-block", asks_, settings.origins * kLargeBlocks);
  } else {
    world_.cost().check("origin-asks-per-read", asks_, settings.faults);
  }
  streams_[action.slot].start(action.replica, machine_->wire(), machine_->asked(), worker_->links(),
                              world_.now());
}

void SimulatedClient::on_origin(std::uint8_t slot) {
  OriginStream& stream = streams_[slot];
  const auto event = stream.advance(world_.failing_percent(), world_.now());
  const std::size_t untaken = taker_.note_brought(stream.brought());
  world_.cost().check("bytes-while-untaken", untaken);
  switch (event) {
    case OriginStream::Event::none:
      return;
    case OriginStream::Event::progress:
      machine_->on_origin_progress(slot, stream.response(), world_.now());
      break;
    case OriginStream::Event::answered:
      machine_->on_origin_answer(slot, stream.response(), world_.now());
      break;
    case OriginStream::Event::failed:
      if (stream.end() == http::ExchangeEnd::delayed) {
        world_.cost().check("delays-per-slot", ++delays_[slot]);
      }
      machine_->on_origin_failure(slot, stream.end(), world_.now());
      break;
  }
  perform();
}

void SimulatedClient::cut(replica_client::ReplicaSet origins) {
  for (std::size_t slot = 0; slot < streams_.size(); ++slot) {
    OriginStream& stream = streams_[slot];
    if (!stream.is_active() ||
        (origins & replica_client::bit_of(static_cast<NodeId>(stream.origin()))) == 0)
      continue;
    stream.cancel();
    world_.counted().add(Met::exchanges_cut);
    machine_->on_origin_failure(static_cast<std::uint8_t>(slot), http::ExchangeEnd::broken,
                                world_.now());
    perform();
  }
}

void SimulatedClient::on_deadline() {
  is_deadline_armed_ = false;
  world_.counted().add(Met::deadlines);
  is_late_ = true;
  machine_->on_deadline({http::ExchangeEnd::timed_out, http::ExchangeEnd::not_sent});
  perform();
  is_late_ = false;
  end_with_calls();
}

void SimulatedClient::leave() {
  if (is_idle()) return;
  if (std::exchange(is_moved_, false)) {
    // A write that nobody was asked for was not carried out.
    return wanted_.kind == Kind::publish ? void() : finish(nullptr);
  }
  machine_->abandon();
  perform();
  end_with_calls();
}

void SimulatedClient::end_with_calls() {
  if (wanted_.is_recorded() && wanted_.kind == Kind::read) worker_->end_with_calls(operation_);
}

std::string SimulatedClient::describe() const {
  return agent_ + ": " + std::string(wanted_.method()) + " " + wanted_.target + " in state " +
         std::to_string(static_cast<int>(machine_->state()));
}

void SimulatedClient::on_worker_killed(const SimulatedWorker& worker) {
  if (worker_ != &worker) return;
  leave();
  machine_.reset();
  worker_ = nullptr;
}

}  // namespace prophecy::consistency
