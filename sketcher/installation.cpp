#include "sketcher/installation.hpp"

#include "sketch/secret_file.hpp"
#include "sketcher/table_identity.hpp"

namespace prophecy::sketcher {
namespace {

Result<PbftMembership> load_membership(const std::filesystem::path& config,
                                       const GroupSettings& settings) {
  auto group = pbft::load_group_file(settings.file);
  if (!group) return group.error();
  if (settings.origins.size() != group->replicas.size()) {
    return Error{ErrorKind::invalid,
                 config.string() + ": group.origin: expected " +
                     std::to_string(group->replicas.size()) + " of them, one for each replica of " +
                     settings.file.string() + ", got " + std::to_string(settings.origins.size())};
  }
  auto keys = pbft::load_key_ring(*group, settings.client_id, settings.key_file);
  if (!keys) return keys.error();
  return PbftMembership{std::move(*group), std::move(*keys)};
}

// At the end of `clients`.
Result<> load_tls(const OriginAddress& origin,
                  std::vector<std::unique_ptr<transport::TlsClient>>& clients) {
  clients.emplace_back();
  if (!origin.tls) return {};
  auto client = transport::TlsClient::load(*origin.tls);
  if (!client) return client.error();
  clients.back() = std::move(*client);
  return {};
}

Result<> load_tls(const GroupSettings& group, GroupInstallation& installation) {
  for (const OriginAddress& origin : group.origins) {
    if (auto loaded = load_tls(origin, installation.tls); !loaded) return loaded;
  }
  for (const ShadowSettings& shadow : group.shadows) {
    if (auto loaded = load_tls(shadow.origin, installation.shadow_tls); !loaded) return loaded;
  }
  return {};
}

}  // namespace

Result<> reload_certificates(const Installation& installation) {
  Result<> first = installation.tls->reload();
  for (const GroupInstallation& group : installation.groups) {
    for (const auto* clients : {&group.tls, &group.shadow_tls}) {
      for (const auto& client : *clients) {
        if (!client) continue;
        if (auto loaded = client->reload(); !loaded && first) first = loaded.error();
      }
    }
  }
  return first;
}

Result<Installation> load_installation(const std::filesystem::path& config) {
  auto settings = load_settings(config);
  if (!settings) return settings.error();
  if (settings->limits.request.body_bytes_max > settings->spool.from_bytes) {
    if (auto checked = check(settings->spool); !checked)
      return Error{ErrorKind::invalid,
                   config.string() + ": spool.folder: " + checked.error().message};
  }
  std::vector<std::optional<PbftMembership>> memberships;
  for (const GroupSettings& group : settings->groups) {
    memberships.emplace_back();
    if (group.kind != GroupKind::pbft) continue;
    auto loaded = load_membership(config, group);
    if (!loaded) return loaded.error();
    memberships.back() = std::move(*loaded);
  }
  const auto secret = sketch::load_sketch_secret(settings->sketch_key_file);
  if (!secret) return secret.error();
  auto tls = TlsListeners::load(settings->listeners);
  if (!tls) return tls.error();
  Installation installation{std::move(*settings), {}, std::move(*tls)};
  std::uint32_t fields = 0;
  for (std::size_t i = 0; i < memberships.size(); ++i) {
    const GroupSettings& group = installation.settings.groups[i];
    sketch::Profile profile = memberships[i] ? memberships[i]->group.profile : group.profile;
    sketch::SketchFunction sketch(installation.settings.digest, *secret, profile, group.name);
    const std::uint32_t first_field = fields;
    fields += static_cast<std::uint32_t>(profile.rule_count());
    installation.groups.push_back(
        {std::move(memberships[i]), std::move(profile), std::move(sketch), first_field, {}, {}});
    auto loaded = load_tls(group, installation.groups.back());
    if (!loaded) return loaded.error();
  }
  installation.table_identity = table_identity(installation, *secret);
  installation.transfer_key = transfer_key(*secret);
  installation.floor_seed = floor_seed(*secret);
  return installation;
}

}  // namespace prophecy::sketcher
