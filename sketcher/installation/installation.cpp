#include "sketcher/installation/installation.hpp"

#include <algorithm>

#include <unistd.h>

#include "base/file.hpp"
#include "base/wipe.hpp"
#include "sketch/secret_file.hpp"
#include "sketcher/installation/table_identity.hpp"

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

// It need not be there yet; its folder has to let a file be written.
Result<> check_state_folder(const std::filesystem::path& state_file) {
  const std::filesystem::path folder =
      state_file.has_parent_path() ? state_file.parent_path() : ".";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return io_error(folder.string());
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

bool uses_certificates(const Installation& installation) {
  const auto any = [](const auto& clients) {
    return std::any_of(clients.begin(), clients.end(),
                       [](const auto& client) { return client != nullptr; });
  };
  return installation.tls->any() ||
         std::any_of(installation.groups.begin(), installation.groups.end(),
                     [&](const auto& group) { return any(group.tls) || any(group.shadow_tls); });
}

Result<Installation> load_installation(const std::filesystem::path& config) {
  auto settings = load_settings(config);
  if (!settings) return settings.error();
  if (settings->limits.request.body_bytes_max > settings->spool.from_bytes) {
    if (auto checked = check(settings->spool); !checked)
      return Error{ErrorKind::invalid,
                   config.string() + ": spool.folder: " + checked.error().message};
  }
  if (auto checked = check_state_folder(settings->state_file); !checked) {
    return Error{ErrorKind::invalid,
                 config.string() + ": sketcher.state_file: " + checked.error().message};
  }
  std::vector<std::optional<PbftMembership>> memberships;
  for (const GroupSettings& group : settings->groups) {
    memberships.emplace_back();
    if (group.kind != GroupKind::pbft) continue;
    auto loaded = load_membership(config, group);
    if (!loaded) return loaded.error();
    memberships.back() = std::move(*loaded);
  }
  auto secret = sketch::load_sketch_secret(settings->sketch_key_file);
  if (!secret) return secret.error();
  const WipeAtEnd wipe(*secret);
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
