// What waits for the turns of workers, and for the group; tests/ring/ runs the whole.
#include "dht/core/ring_node.hpp"

#include <algorithm>
#include <functional>

#include <catch2/catch.hpp>

using namespace prophecy;
using namespace prophecy::dht;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kPartsOfRing = 16;

struct EmptyStore final : HistoryStore {
  std::uint64_t read_floors(Partition, std::uint64_t, std::vector<HandedFloor>&) override {
    return 0;
  }
  std::uint64_t read_entries(Partition, std::uint64_t, std::vector<HandedEntry>&) override {
    return 0;
  }
  void raise_floor(Partition, const HandedFloor&) override {}
  Inserted insert(Partition, const HandedEntry&, OrderNumber) override { return Inserted::taken; }
  void erase(Partition) override {}
};

// A ring of one member, with a service that answers at once.
struct LoneMember {
  LoneMember() {
    RingSettings settings;
    settings.parameters = {.cluster = "c", .digest = "d", .secret = "s", .profile = "p"};
    settings.self.holder = {"a", 7, 100};
    node.emplace(std::move(settings), KnownSettings{}, permissions, store, milliseconds(100), now);
  }

  // Carries out calls until something else is wanted.
  std::optional<RingNodeAction> next() {
    for (int i = 0; i < 1000; ++i) {
      while (auto action = node->take_action(now)) {
        if (const auto* const adopted = std::get_if<SettingsAdopted>(&*action)) {
          node->on_settings_carried_out(adopted->settings.number, now);
          continue;
        }
        auto* const call = std::get_if<CoordinationCall>(&*action);
        if (call == nullptr) return action;
        node->on_result(answer(*call), now);
      }
      now += milliseconds(50);
      node->on_tick(now);
    }
    return std::nullopt;
  }
  template <class Wanted>
  Wanted take() {
    auto action = next();
    REQUIRE(action.has_value());
    REQUIRE(std::holds_alternative<Wanted>(*action));
    return std::get<Wanted>(*action);
  }

  struct Node {
    Bytes data;
    NodeVersion version = 0;
  };
  CoordinationResult answer(const CoordinationCall& call) {
    CoordinationResult result{.number = call.number, .status = CoordinationStatus::done};
    if (fails && fails(call)) {
      REQUIRE(++failed < 1000);
      result.status = failure;
      return result;
    }
    if (call.kind == CoordinationCall::Kind::write) {
      const bool only_checks =
          std::all_of(call.steps.begin(), call.steps.end(),
                      [](const WriteStep& step) { return step.kind == WriteStep::Kind::check; });
      if (only_checks && is_too_busy) {
        REQUIRE(++checks < 100);
        result.status = CoordinationStatus::unknown;
        return result;
      }
      write(call.steps, result);
      return result;
    }
    const auto found = nodes.find(call.path);
    if (found == nodes.end()) {
      result.status = CoordinationStatus::absent;
    } else if (call.kind == CoordinationCall::Kind::read) {
      result.data = found->second.data;
      result.version = found->second.version;
      result.owner_session = 1;
    } else {
      const std::string prefix = call.path + "/";
      for (const auto& [path, node_of] : nodes) {
        const bool is_child =
            path.starts_with(prefix) && path.find('/', prefix.size()) == std::string::npos;
        if (is_child) result.children.push_back(path.substr(prefix.size()));
      }
    }
    return result;
  }
  void write(const std::vector<WriteStep>& steps, CoordinationResult& result) {
    using Step = WriteStep::Kind;
    auto changed = nodes;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const WriteStep& step = steps[i];
      const auto found = changed.find(step.path);
      const bool creates = step.kind == Step::create || step.kind == Step::create_ephemeral;
      result.failed_step = i;
      if (creates == (found != changed.end())) {
        result.status = creates ? CoordinationStatus::exists : CoordinationStatus::absent;
        return;
      }
      if (!creates && found->second.version != step.version) {
        result.status = CoordinationStatus::wrong_version;
        return;
      }
      if (step.kind == Step::remove) changed.erase(found);
      if (creates) changed[step.path] = {step.data, 0};
      if (step.kind == Step::set) found->second = {step.data, step.version + 1};
    }
    nodes = std::move(changed);
  }

  void put(const std::string& path, const std::string& text) {
    nodes[path] = {{text.begin(), text.end()}, 0};
  }
  // Member b is announced, and has a weight: it can take over what this one gives up.
  void announce_other() {
    const Announcement other{{.cluster = "c", .digest = "d", .secret = "s", .profile = "p"},
                             {{"b", 8, 100}, {}}};
    put("/prophecy/members/b", encode(other));
  }
  // The site carries out whatever the node asks for.
  void run() {
    for (int i = 0; i < 20; ++i) {
      while (auto action = next())
        carry_out(*action);
    }
  }
  // Likewise, and no time passes.
  void run_at_once() {
    while (auto action = node->take_action(now)) {
      if (const auto* const adopted = std::get_if<SettingsAdopted>(&*action))
        node->on_settings_carried_out(adopted->settings.number, now);
      if (const auto* const call = std::get_if<CoordinationCall>(&*action))
        node->on_result(answer(*call), now);
      carry_out(*action);
    }
  }
  void carry_out(const RingNodeAction& action) {
    if (const auto* const turns = std::get_if<AwaitTurns>(&action))
      node->on_turns(turns->ticket, now);
    if (const auto* const clear = std::get_if<ClearPartitions>(&action))
      node->on_cleared(clear->ticket, now);
    if (const auto* const barrier = std::get_if<OrderBarrier>(&action))
      node->on_barrier(barrier->ticket, 5, now);
  }
  [[nodiscard]] std::size_t count(Stage stage) const {
    std::size_t count = 0;
    for (Partition partition = 0; partition < kPartsOfRing; ++partition)
      count += permissions.owner(partition).stage() == stage ? 1 : 0;
    return count;
  }

  BootTime now{seconds(100)};
  std::vector<std::uint64_t> words =
      std::vector<std::uint64_t>(kPartsOfRing + Permissions::kExtraWords);
  Permissions permissions{words};
  EmptyStore store;
  std::map<std::string, Node> nodes;
  bool is_too_busy = false;  // for checks of versions
  int checks = 0;            // meanwhile
  std::function<bool(const CoordinationCall&)> fails;
  CoordinationStatus failure = CoordinationStatus::unknown;
  int failed = 0;  // calls
  std::optional<RingNode> node;
};

// ZooKeeper fails certain calls, set by `fails`: they are made again, but no faster than pauses let
// them, and the member is there soon once they succeed.
void check_pauses(LoneMember& site) {
  const BootTime begin = site.now;
  site.node->on_session(SessionEvent::connected, site.now);
  CHECK_FALSE(site.next().has_value());
  // Two at once, some with growing pauses, then four in a lease.
  const auto leases = static_cast<int>((site.now - begin) / Parameters{}.lease);
  REQUIRE(leases >= 10);
  CHECK(site.failed <= 4 * leases + 8);
  CHECK(site.failed >= 2 * leases);
  site.fails = nullptr;
  CHECK(site.next().has_value());
}

}  // namespace

TEST_CASE("a ring node clears after the workers' turns, takes after the barrier") {
  LoneMember site;
  site.node->on_session(SessionEvent::connected, site.now);
  const auto turns = site.take<AwaitTurns>();
  CHECK(turns.before == AwaitTurns::Before::clearing);
  CHECK_FALSE(site.next().has_value());
  CHECK(site.permissions.owner(0).stage() == Stage::waiting);
  site.node->on_turns(turns.ticket, site.now);
  const auto clearing = site.take<ClearPartitions>();
  CHECK(clearing.partitions.size() == kPartsOfRing);
  CHECK_FALSE(site.next().has_value());
  site.node->on_cleared(clearing.ticket, site.now);
  const auto first = site.take<OrderBarrier>();
  // The group does not answer: it is asked again.
  site.node->on_barrier(first.ticket, std::nullopt, site.now);
  const auto barrier = site.take<OrderBarrier>();
  CHECK(site.permissions.owner(0).stage() == Stage::waiting);
  site.node->on_barrier(barrier.ticket, 5, site.now);
  CHECK(site.take<PartitionsTaken>().partitions.size() == kPartsOfRing);
  CHECK(site.permissions.owner(0).stage() == Stage::taken);
  CHECK_FALSE(site.next().has_value());
  CHECK(site.node->fetching() == 0);
  CHECK(site.permissions.lease_end() > site.now);
}

TEST_CASE("a member that drains is in the view without a weight, and comes back") {
  LoneMember site;
  site.announce_other();
  site.node->on_session(SessionEvent::connected, site.now);
  const auto taken = [&] { return site.count(Stage::taken); };
  site.run();
  REQUIRE(taken() > 0);
  CHECK_FALSE(site.node->ring().is_drained());
  site.node->drain(site.now);
  site.run();
  CHECK(taken() == 0);
  CHECK(site.node->ring().is_drained());
  const Member* const self = find_member(*site.node->ring().view(), "a");
  REQUIRE(self != nullptr);
  CHECK(self->holder.weight == 0);
  // It forwards what its clients ask: a lease is of no use, and does no harm.
  site.node->rejoin(site.now);
  site.run();
  CHECK_FALSE(site.node->ring().is_drained());
  CHECK(find_member(*site.node->ring().view(), "a")->holder.weight == 100);
  CHECK(taken() > 0);
}

TEST_CASE("a taker watches the lease of a former holder until that confirms the view") {
  LoneMember site;
  site.announce_other();
  View view;
  view.number = 1;
  view.parameters = {.cluster = "c", .digest = "d", .secret = "s", .profile = "p"};
  view.members = {{{"b", 8, 100}, {}}};
  site.put("/prophecy/view", encode(view));
  const std::string lease = "/prophecy/leases/b";
  site.put(lease, encode(LeaseRecord{.instance = 8, .view = 1, .settled = 1}));
  bool is_watched = false;
  site.fails = [&](const CoordinationCall& call) {
    if (call.kind == CoordinationCall::Kind::read && call.path == lease) is_watched = call.watches;
    return false;
  };
  site.node->on_session(SessionEvent::connected, site.now);
  site.run_at_once();
  REQUIRE(site.node->ring().ownership().adopted() == 2);
  CHECK(site.count(Stage::waiting) > 0);
  CHECK(site.count(Stage::taken) == 0);
  CHECK(is_watched);
  // b goes on by the former view, and then adopts the newer one.
  for (const ViewNumber confirmed : {ViewNumber{1}, ViewNumber{2}}) {
    const std::string text =
        encode(LeaseRecord{.instance = 8, .view = confirmed, .settled = confirmed});
    site.nodes[lease] = {{text.begin(), text.end()}, site.nodes[lease].version + 1};
    REQUIRE(is_watched);
    site.node->on_session(SessionEvent::changed, site.now);
    site.run_at_once();
    CHECK((site.count(Stage::taken) > 0) == (confirmed == 2));
  }
  CHECK(site.count(Stage::waiting) == 0);
  site.now += Parameters{}.lease / 4;
  site.node->on_tick(site.now);
  site.run_at_once();
  CHECK_FALSE(is_watched);
}

TEST_CASE("a service that is too busy is asked once in a round for another's last renewal") {
  LoneMember site;
  // b was alone, and has died.
  View view;
  view.number = 1;
  view.parameters = {.cluster = "c", .digest = "d", .secret = "s", .profile = "p"};
  view.members = {{{"b", 8, 100}, {}}};
  site.put("/prophecy/view", encode(view));
  site.put("/prophecy/leases/b", encode(LeaseRecord{.instance = 8, .view = 1, .settled = 1}));
  site.is_too_busy = true;
  site.node->on_session(SessionEvent::connected, site.now);
  site.run();
  // There are four rounds in a lease.
  CHECK(site.checks > 0);
  CHECK(site.checks <= 20);
  CHECK(site.permissions.owner(0).stage() == Stage::taken);
}

TEST_CASE("a service that cannot take an announcement is not asked as fast as it answers") {
  LoneMember site;
  site.failure = GENERATE(CoordinationStatus::unknown, CoordinationStatus::refused);
  site.fails = [](const CoordinationCall& call) {
    return !call.steps.empty() && call.steps.back().kind == WriteStep::Kind::create_ephemeral;
  };
  check_pauses(site);
}

TEST_CASE("a proposal that fails is made anew after a pause") {
  LoneMember site;
  site.failure = GENERATE(CoordinationStatus::unknown, CoordinationStatus::refused);
  site.fails = [](const CoordinationCall& call) {
    return !call.steps.empty() && call.steps.back().path == "/prophecy/view";
  };
  check_pauses(site);
}

TEST_CASE("the own lease is read anew after a pause") {
  LoneMember site;
  site.failure = GENERATE(CoordinationStatus::unknown, CoordinationStatus::refused);
  site.fails = [](const CoordinationCall& call) {
    return call.kind == CoordinationCall::Kind::read && call.path == "/prophecy/leases/a";
  };
  site.node->on_session(SessionEvent::connected, site.now);
  static_cast<void>(site.take<AwaitTurns>());
  REQUIRE(site.failed > 0);
  site.failed = 0;
  const BootTime end = site.now + Parameters{}.lease;
  for (; site.now < end; site.now += milliseconds(10)) {
    CHECK(site.node->deadline() <= site.now + Parameters{}.lease / 16);
    site.node->on_tick(site.now);
    while (auto action = site.node->take_action(site.now)) {
      if (const auto* const call = std::get_if<CoordinationCall>(&*action))
        site.node->on_result(site.answer(*call), site.now);
    }
  }
  CHECK(site.failed >= 10);
  CHECK(site.failed <= 17);
  site.fails = nullptr;
  static_cast<void>(site.next());
  CHECK(site.permissions.lease_end() > site.now);
}

TEST_CASE("a member that is alone goes on while it drains") {
  LoneMember site;
  site.node->on_session(SessionEvent::connected, site.now);
  const auto turns = site.take<AwaitTurns>();
  site.node->drain(site.now);
  site.node->on_turns(turns.ticket, site.now);
  site.node->on_cleared(site.take<ClearPartitions>().ticket, site.now);
  site.node->on_barrier(site.take<OrderBarrier>().ticket, 5, site.now);
  CHECK(site.take<PartitionsTaken>().partitions.size() == kPartsOfRing);
  CHECK_FALSE(site.next().has_value());
  CHECK_FALSE(site.node->ring().is_drained());
  CHECK(site.permissions.lease_end() > site.now);
}

TEST_CASE("members that have drained report that nobody with a weight is left") {
  LoneMember site;
  site.announce_other();
  site.node->on_session(SessionEvent::connected, site.now);
  site.run();
  site.node->drain(site.now);
  site.run();
  REQUIRE(site.node->ring().is_drained());
  CHECK(site.node->ring().problems().empty());
  site.nodes.erase("/prophecy/members/b");
  site.run();
  REQUIRE(site.node->ring().problems().contains("/prophecy/members"));
  CHECK(site.node->ring().problems().at("/prophecy/members").find("no member with a weight") !=
        std::string::npos);
  site.node->rejoin(site.now);
  site.run();
  CHECK(site.node->ring().problems().empty());
  CHECK(site.permissions.owner(0).stage() == Stage::taken);
}
