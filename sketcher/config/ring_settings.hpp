// [ring]: the sketchers that serve one site together, and where they reach each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config/config.hpp"
#include "base/endpoint.hpp"
#include "dht/core/view.hpp"
#include "transport/tls_settings.hpp"

namespace prophecy::sketcher {

enum class MemberRole : std::uint8_t {
  both,
  request,   // takes clients' requests, and owns no partition
  response,  // owns partitions, and takes requests from members alone
};

struct RingMember {
  std::string name;
  std::vector<Endpoint> addresses;  // one for each of its workers
  std::uint32_t weight = 0;
  MemberRole role = MemberRole::both;
};

// Of a ring whose members come and go: they find each other in ZooKeeper.
struct LivingRingSettings {
  std::vector<Endpoint> zookeeper;
  // Without a server name: each server's certificate has the address that is configured for it.
  std::optional<transport::TlsClientSettings> zookeeper_tls;
  std::string root;    // of the ring's nodes there
  Endpoint hand_over;  // where our ring process gives partitions to other members
  Duration lease{};
  Duration without_zookeeper{};
  dht::ViewNumber first_view = 1;
};

struct RingSettings {
  std::string name;                 // our own
  std::vector<RingMember> members;  // of a living ring, ourselves alone
  std::optional<LivingRingSettings> living;
  std::filesystem::path ca;
  transport::CertificateFiles certificate;
  Duration owner_wait{};

  // Ours among them. Requires that there was no mistake.
  [[nodiscard]] const RingMember& own() const;
};

// Nothing without the section. `workers` are this sketcher's, `taken` the addresses that it listens
// on beside those of [ring].
[[nodiscard]] std::optional<RingSettings> read_ring(ConfigSection root, std::uint32_t workers,
                                                    std::span<const Endpoint> taken);

// Where this sketcher's workers listen for members; nowhere without [ring], or while its name is a
// mistake.
[[nodiscard]] std::vector<Endpoint> own_addresses(const std::optional<RingSettings>& ring);
// Whether clients come to this sketcher.
[[nodiscard]] bool takes_clients(const std::optional<RingSettings>& ring);

}  // namespace prophecy::sketcher
