#include "sketcher/config/ring_settings.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "dht/zookeeper/core/limits.hpp"
#include "dht/zookeeper/core/path.hpp"
#include "http/text.hpp"
#include "sketcher/config/setting_bounds.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::string_view kNameHelp =
    "1 to 64 letters, digits, \".\", \"-\" and \"_\"; two names differ in more than upper and "
    "lower "
    "case. The member's certificate has it as a DNS name.";

// Beyond it there is room for as many views as a ring will ever have.
constexpr dht::ViewNumber kFirstViewMax = dht::ViewNumber{1} << 61;

const RingMember* find_own(const RingSettings& ring) {
  const auto own = std::find_if(ring.members.begin(), ring.members.end(),
                                [&](const RingMember& member) { return member.name == ring.name; });
  return own == ring.members.end() ? nullptr : &*own;
}

std::string read_name(ConfigSection& section, std::string_view help) {
  std::string name = section.text(Key{"name", help});
  if (section.has("name") && !section.is_wrong("name") && !dht::is_name(name))
    section.mistake("name", "expected 1 to 64 letters, digits, \".\", \"-\", \"_\"");
  return name;
}

bool is_any(const Endpoint& endpoint) {
  return endpoint.address == "0.0.0.0" || endpoint.address == "::";
}

void check_addresses(ConfigSection& section, const std::vector<Endpoint>& addresses,
                     std::vector<Endpoint>& taken) {
  if (addresses.empty() || addresses.size() > dht::kWorkerAddressesMax) {
    section.mistake("addresses", "expected 1 to " + std::to_string(dht::kWorkerAddressesMax) +
                                     " of them, one for each worker of the member");
  }
  for (const Endpoint& address : addresses) {
    if (address.port == 0 || is_any(address)) {
      section.mistake("addresses", to_string(address),
                      "expected an address that the other members can connect to");
    } else if (std::find(taken.begin(), taken.end(), address) != taken.end()) {
      section.mistake("addresses", to_string(address),
                      "expected an address that no other member and no listener has");
    }
    taken.push_back(address);
  }
}

// All but the name.
void read_part(ConfigSection& section, RingMember& member, std::vector<Endpoint>& taken) {
  member.addresses = section.endpoints(
      {"addresses",
       "Where its workers take requests from members: one ADDRESS:PORT for each worker, so that a "
       "few connections reach all of them."});
  check_addresses(section, member.addresses, taken);
  member.weight = static_cast<std::uint32_t>(
      section.number({"weight", "Its share of the partitions, beside the others' weights."}, 1,
                     dht::Placement::kWeightMax, 100));
  // In the order of MemberRole.
  member.role = static_cast<MemberRole>(section.choice(
      {"role",
       "`\"request\"`: takes clients' requests and forwards all of them. `\"response\"`: owns "
       "partitions of the history, and takes requests from members alone: `[[listener]]` is "
       "optional, and nobody is accepted there. `\"both\"`: owns partitions, and forwards requests "
       "for those of others."},
      {"both", "request", "response"}, 0));
}

RingMember read_member(ConfigSection& section, const std::vector<RingMember>& others,
                       std::vector<Endpoint>& taken) {
  RingMember member;
  member.name = read_name(section, kNameHelp);
  const bool is_second = std::any_of(others.begin(), others.end(), [&](const RingMember& other) {
    return http::equal_ignoring_case(other.name, member.name);
  });
  if (is_second && !section.is_wrong("name"))
    section.mistake("name", "expected a name that no other [[ring.member]] has");
  read_part(section, member, taken);
  return member;
}

void check_own(ConfigSection& section, std::vector<ConfigSection>& sections,
               const RingSettings& ring, std::uint32_t workers) {
  if (section.is_wrong("name") || ring.members.empty()) return;
  const RingMember* own = find_own(ring);
  if (own == nullptr) return section.mistake("name", "expected the name of a [[ring.member]]");
  if (own->addresses.size() == workers) return;
  sections[static_cast<std::size_t>(own - ring.members.data())].mistake(
      "addresses", "expected " + std::to_string(workers) +
                       " of them, one for each of this sketcher's `workers`, found " +
                       std::to_string(own->addresses.size()));
}

void read_static_ring(ConfigSection& section, RingSettings& ring, std::uint32_t workers,
                      std::vector<Endpoint>& taken) {
  std::vector<ConfigSection> sections = section.sections(
      {"member", "Below `[ring]`: each member, this sketcher too. The same list at all of them."});
  for (ConfigSection& each : sections)
    ring.members.push_back(read_member(each, ring.members, taken));
  if (ring.members.empty() || ring.members.size() > dht::kMembersMax) {
    section.mistake("member",
                    "expected 1 to " + std::to_string(dht::kMembersMax) + " [[ring.member]]");
  }
  const bool has_owner =
      std::any_of(ring.members.begin(), ring.members.end(),
                  [](const RingMember& member) { return member.role != MemberRole::request; });
  if (!ring.members.empty() && !has_owner) {
    section.mistake("member",
                    "expected one whose role is not \"request\": somebody has to own "
                    "the history");
  }
  check_own(section, sections, ring, workers);
}

void check_hand_over(ConfigSection& section, const Endpoint& address,
                     const std::vector<Endpoint>& taken) {
  if (section.is_wrong("hand_over")) return;
  if (address.port == 0 || is_any(address)) {
    section.mistake("hand_over", "expected an address that the other members can connect to");
  } else if (std::find(taken.begin(), taken.end(), address) != taken.end()) {
    section.mistake("hand_over", "expected an address that nothing else listens on");
  }
}

transport::TlsClientSettings read_zookeeper_tls(ConfigSection section) {
  transport::TlsClientSettings tls;
  tls.ca = section.path(
      Key{"ca", "PEM file of the authorities that may sign the servers' certificates."}.reloaded());
  tls.server_name = section.text(
      Key{"server_name", "The name or the address that each server's certificate must have."}
          .otherwise("its own address in `zookeeper`"),
      "");
  if (section.has("certificate") || section.has("key")) {
    tls.certificate.emplace();
    tls.certificate->chain = section.path(
        Key{"certificate",
            "PEM file of the certificate that this member shows to the servers; needs `key` as "
            "well. A server with `ssl.clientAuth=need` asks for one."}
            .otherwise("none")
            .reloaded());
    tls.certificate->key = section.path(
        Key{"key", "PEM file of the key of `certificate`, which only its owner may read."}
            .otherwise("none")
            .reloaded());
  }
  return tls;
}

LivingRingSettings read_living_ring(ConfigSection& section, RingSettings& ring,
                                    std::uint32_t workers, std::vector<Endpoint>& taken) {
  LivingRingSettings living;
  living.zookeeper = section.endpoints(
      {"zookeeper",
       "The servers of a ZooKeeper service, each as ADDRESS:PORT. The members of the ring find "
       "each other there, and may come and go. Without this setting they are the "
       "`[[ring.member]]` of the configuration, for ever."});
  if (living.zookeeper.size() > zookeeper::kServersMax) {
    section.mistake("zookeeper",
                    "expected at most " + std::to_string(zookeeper::kServersMax) + " servers");
  }
  if (section.has("zookeeper_tls")) {
    living.zookeeper_tls = read_zookeeper_tls(section.section(
        {"zookeeper_tls",
         "Optional: the connections to ZooKeeper are inside TLS, version 1.2 or later, and "
         "`zookeeper` has the servers' `secureClientPort`. A server with another certificate is "
         "left, with the reason, and the next one is tried."}));
  }
  living.root = section.text({"root",
                              "The node of ZooKeeper below which the ring's nodes lie. The node "
                              "above it has to be there."},
                             "/prophecy");
  if (!zookeeper::is_path(living.root) || living.root == "/")
    section.mistake("root", "expected a path of ZooKeeper, such as \"/prophecy\"");
  living.lease = section.duration(
      {"lease",
       "How long this sketcher may answer by its part of the history after its last successful "
       "renewal, which it tries four times in that time. So long, and a quarter longer since "
       "clocks differ, do requests wait for a member that has died. The same at all members."},
      dht::kLeaseMin, minutes(5), seconds(4));
  living.without_zookeeper = section.duration(
      {"without_zookeeper",
       "For how long beyond that it may answer through the replica group alone, one request at a "
       "time, while ZooKeeper cannot be reached. A member that takes partitions over waits so "
       "much longer. The same at all members."},
      Duration::zero(), minutes(5), Duration::zero());
  living.first_view = section.number(
      {"first_view",
       "The number of the ring's first view, where `root` has none yet. Agents refuse writes of an "
       "older view than the newest that they have seen (`epoch` in their status): after the loss "
       "of "
       "ZooKeeper's nodes, or for another `root`, begin beyond it, by 1000000 at most."},
      1, kFirstViewMax, 1);
  RingMember own{.name = ring.name, .addresses = {}};
  read_part(section, own, taken);
  if (!section.is_wrong("addresses") && own.addresses.size() != workers) {
    section.mistake("addresses", "expected " + std::to_string(workers) +
                                     " of them, one for each of this sketcher's `workers`, found " +
                                     std::to_string(own.addresses.size()));
  }
  ring.members.push_back(std::move(own));
  living.hand_over = section.endpoint(
      {"hand_over", "Where it hands partitions over to other members, as ADDRESS:PORT."});
  check_hand_over(section, living.hand_over, taken);
  return living;
}

void read_tls(ConfigSection section, RingSettings& ring) {
  ring.ca = section.path(
      Key{"ca",
          "PEM file of the authority that has signed the members' certificates, and nothing else: "
          "whoever has one of its certificates, with the name of a member, is that member."}
          .reloaded());
  ring.certificate.chain =
      section.path(Key{"certificate", "PEM file of this member's certificate."}.reloaded());
  ring.certificate.key =
      section.path(Key{"key", "PEM file of its key, which only its owner may read."}.reloaded());
}

}  // namespace

const RingMember& RingSettings::own() const {
  const RingMember* own = find_own(*this);
  ASSERT(own != nullptr);
  return *own;
}

std::optional<RingSettings> read_ring(ConfigSection root, std::uint32_t workers,
                                      std::span<const Endpoint> taken) {
  if (!root.has("ring")) return std::nullopt;
  ConfigSection section = root.section(
      {"ring",
       "Optional: several sketchers serve one site, each of them the owner of a part of the "
       "history. A request is answered by the owner of its URI, whichever sketcher it comes to. "
       "See docs/ring.md."});
  RingSettings ring;
  ring.name =
      read_name(section, "This sketcher's name: in ZooKeeper, or that of a `[[ring.member]]`.");
  std::vector<Endpoint> all_taken(taken.begin(), taken.end());
  const bool is_living = section.has("zookeeper");
  if (auto living = section.when(is_living, "`zookeeper` is set"))
    ring.living = read_living_ring(*living, ring, workers, all_taken);
  if (auto configured = section.when(!is_living, "`zookeeper` is not set"))
    read_static_ring(*configured, ring, workers, all_taken);
  ring.owner_wait = section.duration(
      {"owner_wait",
       "How long a request waits for an owner that can be reached and may answer; then it is "
       "answered 503 (`owner-unreachable`, `owner-unavailable`)."},
      kDurationMin, kDurationMax, seconds(8));
  read_tls(section.section({"tls", "TLS between members, in both directions."}), ring);
  return ring;
}

std::vector<Endpoint> own_addresses(const std::optional<RingSettings>& ring) {
  const RingMember* own = ring ? find_own(*ring) : nullptr;
  return own != nullptr ? own->addresses : std::vector<Endpoint>();
}

bool takes_clients(const std::optional<RingSettings>& ring) {
  const RingMember* own = ring ? find_own(*ring) : nullptr;
  return own == nullptr || own->role != MemberRole::response;
}

}  // namespace prophecy::sketcher
