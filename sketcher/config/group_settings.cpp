#include "sketcher/config/group_settings.hpp"

#include <algorithm>

#include "pbft/core/key_exchange.hpp"
#include "pbft/wire/limits.hpp"
#include "replica_client/core/health/origin_weights.hpp"
#include "sketcher/config/setting_bounds.hpp"
#include "sketcher/config/setting_name.hpp"
#include "transport/tls_client_settings.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::uint32_t kVoteFaultsMax = (kReplicasMax - 1) / 2;

// What an address on this machine may also be written as.
Endpoint plain(Endpoint endpoint) {
  constexpr std::string_view kMapped = "::ffff:";
  if (endpoint.address.starts_with(kMapped)) endpoint.address.erase(0, kMapped.size());
  if (endpoint.address == "0.0.0.0") endpoint.address = "127.0.0.1";
  if (endpoint.address == "::") endpoint.address = "::1";
  return endpoint;
}

bool is_loopback(const Endpoint& endpoint) {
  return endpoint.address.starts_with("127.") || endpoint.address == "::1";
}

bool is_any_address(const Endpoint& endpoint) {
  return endpoint.address == "0.0.0.0" || endpoint.address == "::";
}

// Whether a connection to `target` would come out at the listener. What other addresses the machine
// has is not asked: a configuration may be checked elsewhere.
bool reaches(const Endpoint& target, const Endpoint& listener) {
  const bool target_is_v6 = target.address.find(':') != std::string::npos;
  const bool listener_is_v6 = listener.address.find(':') != std::string::npos;
  if (target.port != listener.port || target.port == 0 || target_is_v6 != listener_is_v6) {
    return false;
  }
  return target.address == listener.address || (is_any_address(listener) && is_loopback(target)) ||
         (is_any_address(target) && is_loopback(listener));
}

// Two replicas of one origin would be one vote counted twice, and a sketcher in front of itself a
// loop.
void check_origin_address(ConfigSection& origin, const Endpoint& address,
                          const std::vector<OriginAddress>& others, std::span<const Endpoint> own) {
  const auto same = std::find_if(others.begin(), others.end(), [&](const OriginAddress& other) {
    return plain(other.address) == plain(address);
  });
  if (same != others.end()) {
    origin.mistake("address", "expected an address of its own, found that of replica " +
                                  std::to_string(same->replica));
  }
  const bool loops = std::any_of(own.begin(), own.end(), [&](const Endpoint& listener) {
    return reaches(plain(address), listener);
  });
  if (loops) {
    origin.mistake("address",
                   "expected an origin's address, found one where this sketcher listens");
  }
}

// Beside these others of its group.
OriginAddress read_origin(ConfigSection& section, const std::vector<OriginAddress>& others,
                          std::span<const Endpoint> own) {
  OriginAddress origin;
  origin.address = section.endpoint({"address",
                                     "Address of its HTTP server; no other origin of the group, no "
                                     "listener and not `metrics` may have it."});
  if (!origin.address.address.empty()) {
    if (origin.address.port == 0) section.mistake("address", "expected a port other than 0");
    check_origin_address(section, origin.address, others, own);
  }
  if (section.has("tls")) {
    origin.tls = transport::read_tls_client(section.section(
        {"tls",
         "Optional: the connections are inside TLS, version 1.2 or later. An origin with another "
         "certificate gets no request, and counts as unreachable, with the reason. Agents connect "
         "to their origins by themselves, see `tls` in prophecy-replica(8)."}));
  }
  return origin;
}

void read_shadows(ConfigSection& section, GroupSettings& group, std::span<const Endpoint> own) {
  for (ConfigSection& each : section.sections(
           {"shadow",
            "Below its group, optional, at most 8: an origin that gets copies of reads, and whose "
            "answers are compared with those that were verified. It is no replica: it has no "
            "agent, is never drawn, is in no quorum, and no client gets its answers. It gets "
            "copies of reads with a verified answer, of routes with delay-once reads, after their "
            "clients' answers were made, with all fields that origins see, credentials among them; "
            "never writes. A difference while the history stays unchanged is counted, and evidence "
            "of it is written, for 10 answers at once, then one in 10 s."})) {
    group.shadows.push_back(read_shadow(each));
    group.shadows.back().origin = read_origin(each, group.origins, own);
    group.shadows.back().origin.replica = static_cast<NodeId>(group.shadows.size() - 1);
    group.shadows.back().origin.place = group.shadows.size() - 1;
  }
  if (group.shadows.size() > kShadowsMax) {
    section.mistake("shadow", "expected at most " + std::to_string(kShadowsMax) +
                                  " of them, found " + std::to_string(group.shadows.size()));
  }
}

// Replicas have the numbers from 0 on.
void check_numbers(std::vector<ConfigSection>& sections,
                   const std::vector<OriginAddress>& origins) {
  for (std::size_t i = 0; i < origins.size(); ++i) {
    const bool is_taken = std::any_of(origins.begin(), origins.begin() + i, [&](const auto& other) {
      return other.replica == origins[i].replica;
    });
    if (is_taken) {
      sections[i].mistake("replica", "expected a number that no other [[group.origin]] has");
    } else if (origins[i].replica >= origins.size()) {
      sections[i].mistake("replica", "expected a number below " + std::to_string(origins.size()) +
                                         ", the number of [[group.origin]]");
    }
  }
}

void read_origins(ConfigSection& section, GroupSettings& group, std::span<const Endpoint> own) {
  auto sections = section.sections({"origin", "Below its group, one for each replica of it."});
  for (ConfigSection& origin : sections) {
    OriginAddress address = read_origin(origin, group.origins, own);
    address.replica =
        static_cast<NodeId>(origin.number({"replica", "Its number, from 0."}, 0, kReplicasMax - 1));
    address.weight = static_cast<std::uint32_t>(origin.number(
        {"weight",
         "Its part of the fast reads: an origin is drawn in proportion to its weight. The largest "
         "parts bound how long a read may stay stale; `--check` prints the bound. It has no part "
         "in agreement. `prophecyctl origin weight` changes it while the sketcher runs."},
        1, replica_client::kWeightMax, 1));
    address.place = group.origins.size();
    group.origins.push_back(std::move(address));
  }
  check_numbers(sections, group.origins);
  std::sort(group.origins.begin(), group.origins.end(),
            [](const auto& a, const auto& b) { return a.replica < b.replica; });
  if (group.origins.empty())
    section.mistake("origin", "expected one [[group.origin]] for each replica");
  const std::size_t votes_needed = 2 * std::size_t{group.faults} + 1;
  if (group.kind == GroupKind::vote && group.origins.size() < votes_needed) {
    section.mistake("origin", "expected at least " + std::to_string(votes_needed) +
                                  " of them, 2 * faults + 1, found " +
                                  std::to_string(group.origins.size()));
  }
}

// What the group file says of another one.
void read_vote_group(ConfigSection& section, GroupSettings& group) {
  group.faults = static_cast<std::uint32_t>(section.number(
      {"faults",
       "Number of origins that may be faulty; the group has at least twice as many and one."},
      1, kVoteFaultsMax, 1));
  group.takes_writes =
      section.choice(
          {"writes",
           "`\"refuse\"`: a request other than GET, HEAD and OPTIONS is answered 405. `\"all\"`: a "
           "write goes to all origins, once, and is answered when each has answered or failed. It "
           "has succeeded if all but `faults` of them have answered it alike, whatever their "
           "health and state. Otherwise it is answered 502 with the reason `uncertain-write`: it "
           "may have taken effect, and the history's entries of its URI are invalidated. (503 and "
           "`too-few-replicas` if no origin can have seen it.) Two concurrent writes may reach two "
           "origins in two orders. An origin that misses one, because it is down or too slow, "
           "stays behind, and is one of the `faults` until it is brought up to date."},
          {"refuse", "all"}, 0) == 1;
  group.profile = sketch::Profile::from_config(
      section.section({"canonical",
                       "Additions to the canonical form of requests and answers, with the settings "
                       "of `[canonical]` in the group file."}));
}

void read_pbft_group(ConfigSection& section, GroupSettings& group, std::uint32_t workers) {
  group.file = section.path({"file", "The group file."});
  group.client_id =
      static_cast<NodeId>(section.number({"client_id",
                                          "This sketcher's number in the group file; another one "
                                          "for each `[[group]]` with the same replicas."},
                                         kFirstClientId, kLastClientId, kFirstClientId));
  group.key_file = section.path({"key_file", "Its private keys, mode 0600."});
  group.sessions = static_cast<std::uint32_t>(
      section.number({"sessions",
                      "Most replicated requests in flight, for each worker. All workers together "
                      "may have 4096 at most."},
                     1, 1024, 64));
  if (workers * group.sessions > pbft::kSessionsMax) {
    section.mistake("sessions", "expected workers * sessions to be at most " +
                                    std::to_string(pbft::kSessionsMax));
  }
  group.deadline =
      section.duration({"deadline", "Time for a replicated request; then it is answered 503."},
                       kDurationMin, kDurationMax, seconds(10));
  group.key_refresh_interval =
      section.duration({"key_refresh_interval",
                        "Time between new session keys of each worker. Previous keys are accepted "
                        "for as long again."},
                       pbft::kKeyRefreshMin, pbft::kKeyRefreshMax, seconds(600));
  group.tentative_execution =
      section.choice({"execute_when",
                      "The value in the agents' configurations. If they have `prepared` and this "
                      "does not, each write waits for a retransmission."},
                     {"committed", "prepared"}, 0) == 1;
}

}  // namespace

bool may_be_tunnelled(const GroupSettings& group) {
  return group.send_proxy == http::ProxyAnnouncement::none &&
         std::none_of(group.origins.begin(), group.origins.end(),
                      [](const OriginAddress& origin) { return origin.tls.has_value(); });
}

std::vector<GroupSettings> read_groups(ConfigSection root, std::uint32_t workers,
                                       std::span<const Endpoint> own) {
  std::vector<GroupSettings> groups;
  std::vector<ConfigSection> sections =
      root.sections({"group", "At least one, at most 64. Its origins answer alike."});
  std::uint32_t origins = 0;
  std::uint32_t shadows = 0;
  for (ConfigSection& section : sections) {
    GroupSettings group;
    group.name = read_setting_name(section,
                                   "1 to 64 of a-z, 0-9, \"-\", \"_\" and \".\". It is part of "
                                   "every sketch: a renamed group begins without a history.",
                                   groups, sections.size() == 1);
    group.kind = static_cast<GroupKind>(section.choice(
        {"kind",
         "`\"pbft\"`: an agent beside each origin, prophecy-replica(8); or `\"vote\"`: origins "
         "alone, that serve the same content. A read that is not in the history goes to all of "
         "them, and `faults` + 1 equal answers are the group's."},
        {"pbft", "vote"}, 0));
    group.queue_max = section.number(
        {"queue_max",
         "Most replicated requests that wait, for each worker: with `\"pbft\"` for a session, with "
         "`\"vote\"` for a decision. Further ones are answered 503."},
        1, 1'000'000, 1024);
    group.send_proxy = static_cast<http::ProxyAnnouncement>(section.choice(
        {"send_proxy",
         "`\"v1\"` or `\"v2\"`: connections to the origins begin with a PROXY header. Many clients "
         "share them, so it names none of them, but the two ends of the connection itself. Agents "
         "have their own option, prophecy-replica(8)."},
        {"off", "v1", "v2"}, 0));
    if (auto vote = section.when(group.kind == GroupKind::vote, "`kind` is `\"vote\"`")) {
      read_vote_group(*vote, group);
    }
    if (auto pbft = section.when(group.kind == GroupKind::pbft, "`kind` is `\"pbft\"`")) {
      read_pbft_group(*pbft, group, workers);
    }
    read_origins(section, group, own);
    read_shadows(section, group, own);
    group.health = read_health(section.section(
        {"health",
         "Below its group, optional: which origins may be drawn for fast reads. At least f+1 of "
         "them always are, and none is taken out of the group's agreement."}));
    group.first_origin = origins;
    origins += static_cast<std::uint32_t>(group.origins.size());
    group.first_shadow = shadows;
    shadows += static_cast<std::uint32_t>(group.shadows.size());
    groups.push_back(std::move(group));
  }
  if (groups.empty()) root.mistake("group", "expected at least one [[group]]");
  if (groups.size() > kGroupsMax) {
    root.mistake("group", "expected at most " + std::to_string(kGroupsMax) + " of them, found " +
                              std::to_string(groups.size()));
  }
  return groups;
}

}  // namespace prophecy::sketcher
