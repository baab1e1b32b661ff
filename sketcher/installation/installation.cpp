#include "sketcher/installation/installation.hpp"

#include <algorithm>
#include <span>

#include <unistd.h>

#include "base/file.hpp"
#include "base/wipe.hpp"
#include "sketch/secret_file.hpp"
#include "sketcher/installation/table_identity.hpp"

namespace prophecy::sketcher {
namespace {

// Lines about other files than the configuration.
using Lines = std::string;

// Once, also of a file that two groups name.
void add(Lines& lines, const std::string& more) {
  if (lines.find(more) != Lines::npos) return;
  lines += (lines.empty() ? "" : "\n") + more;
}

std::optional<pbft::GroupFile> load_group(ConfigSection& section, const GroupSettings& settings,
                                          Lines& lines) {
  if (settings.file.empty()) return std::nullopt;  // a mistake that has been noted
  auto text = read_file(settings.file, ConfigFile::kBytesMax);
  if (!text) {
    section.mistake("file", text.error().message);
    return std::nullopt;
  }
  auto group = pbft::parse_group_file(*text, settings.file.string());
  if (group) return std::move(*group);
  add(lines, group.error().message);
  return std::nullopt;
}

std::optional<PbftMembership> load_membership(ConfigSection& section, const GroupSettings& settings,
                                              Lines& lines) {
  auto group = load_group(section, settings, lines);
  if (!group) {
    if (!settings.key_file.empty() && ::access(settings.key_file.c_str(), R_OK) != 0)
      section.mistake("key_file", io_error(settings.key_file.string()).message);
    return std::nullopt;
  }
  if (settings.origins.size() != group->replicas.size()) {
    section.mistake("origin", "expected " + std::to_string(group->replicas.size()) +
                                  " of them, one for each replica of " + settings.file.string() +
                                  ", found " + std::to_string(settings.origins.size()));
  }
  if (settings.key_file.empty()) return std::nullopt;
  auto keys = pbft::load_key_ring(*group, settings.client_id, settings.key_file);
  if (!keys) {
    section.mistake("key_file", keys.error().message);
    return std::nullopt;
  }
  auto links = pbft::load_link_tls(*group, settings.client_id, settings.key_file);
  if (links) return PbftMembership{std::move(*group), std::move(*keys), std::move(*links)};
  section.mistake("key_file", links.error().message);
  return std::nullopt;
}

// The sessions and keys of a client are those of one group: of two with the same client, the
// replicas would answer one alone.
void check_clients(std::vector<ConfigSection>& sections, const std::vector<GroupSettings>& groups,
                   std::span<const std::optional<PbftMembership>> memberships) {
  for (std::size_t i = 0; i < memberships.size(); ++i) {
    for (std::size_t j = 0; j < i && memberships[i]; ++j) {
      if (!memberships[j] || groups[j].client_id != groups[i].client_id ||
          memberships[j]->group.id != memberships[i]->group.id)
        continue;
      sections[i].mistake("client_id", "expected a client that group \"" + groups[j].name +
                                           "\" of the same replicas does not have");
    }
  }
}

using TlsClients = std::vector<std::unique_ptr<transport::TlsClient>>;

// At the end of `clients`; null for a plain one.
void load_tls(ConfigSection section, const OriginAddress& origin, TlsClients& clients) {
  clients.emplace_back();
  if (!origin.tls || origin.tls->ca.empty() || origin.tls->server_name.empty()) return;
  const auto& own = origin.tls->certificate;
  if (own && (own->chain.empty() || own->key.empty())) return;
  auto client = transport::TlsClient::load(*origin.tls);
  if (client) {
    clients.back() = std::move(*client);
  } else {
    section.mistake("tls", client.error().message);
  }
}

struct OriginClients {
  TlsClients origins;
  TlsClients shadows;
};

OriginClients load_tls(ConfigSection& section, const GroupSettings& group) {
  OriginClients clients;
  auto origins = section.sections("origin");
  for (const OriginAddress& origin : group.origins)
    load_tls(origins[origin.place], origin, clients.origins);
  auto shadows = section.sections("shadow");
  for (const ShadowSettings& shadow : group.shadows)
    load_tls(shadows[shadow.origin.place], shadow.origin, clients.shadows);
  return clients;
}

// That none is missing has been checked, and is a mistake of its own.
bool names_all_files(const transport::TlsServerSettings& tls) {
  const bool has_ca =
      tls.client_certificates == transport::ClientCertificates::off || !tls.client_ca.empty();
  return has_ca && !tls.certificates.empty() &&
         std::none_of(tls.certificates.begin(), tls.certificates.end(),
                      [](const auto& files) { return files.chain.empty() || files.key.empty(); });
}

std::unique_ptr<TlsListeners> load_listeners(ConfigSection& root,
                                             std::vector<ListenerSettings> listeners) {
  for (ListenerSettings& listener : listeners) {
    if (listener.tls && !names_all_files(*listener.tls)) listener.tls.reset();
  }
  auto sections = root.sections("listener");
  auto tls = TlsListeners::load(listeners, [&](std::size_t number, const Error& error) {
    sections[number].mistake("tls", error.message);
  });
  if (tls) return std::move(*tls);
  root.mistake("listener", tls.error().message);
  return nullptr;
}

// It need not be there yet; its folder has to let a file be written.
Result<> check_state_folder(const std::filesystem::path& state_file) {
  const std::filesystem::path folder =
      state_file.has_parent_path() ? state_file.parent_path() : ".";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return io_error(folder.string());
  return {};
}

void check_folders(ConfigSection root, const Settings& settings) {
  if (settings.limits.request.body_bytes_max > settings.spool.from_bytes &&
      !settings.spool.folder.empty()) {
    if (auto checked = check(settings.spool); !checked)
      root.section("spool").mistake("folder", checked.error().message);
  }
  if (settings.acme_challenges && !std::filesystem::is_directory(*settings.acme_challenges)) {
    root.section("sketcher").mistake("acme_challenges", "expected a folder");
  }
  if (settings.admin_socket.empty() || settings.state_file.empty()) return;
  if (auto checked = check_state_folder(settings.state_file); !checked)
    root.section("sketcher").mistake("state_file", checked.error().message);
}

std::optional<sketch::Secret> load_secret(ConfigSection section, const Settings& settings) {
  if (settings.sketch_key_file.empty()) return std::nullopt;
  auto secret = sketch::load_sketch_secret(settings.sketch_key_file);
  if (secret) {
    const WipeAtEnd wipe(*secret);
    return *secret;
  }
  section.mistake("key_file", secret.error().message);
  return std::nullopt;
}

// A field that reads would lose must not be set: some origins would answer by it, to writes alone.
void check_set_fields(ConfigSection& section, const RouteSettings& route,
                      const sketch::Profile& profile) {
  const std::string_view name = route.set.without_key(profile);
  if (name.empty()) return;
  section.mistake("set_request_headers", "expected fields that the sketch covers, found \"" +
                                             std::string(name) +
                                             "\", which is not in keyed_headers of the group");
}

// A mistake that has been noted.
bool has_no_path(const std::optional<transport::TlsClientSettings>& tls) {
  return tls && (tls->ca.empty() || (tls->certificate && (tls->certificate->chain.empty() ||
                                                          tls->certificate->key.empty())));
}

std::optional<RingTls> load_ring(ConfigSection root, const std::optional<RingSettings>& settings) {
  if (!settings || settings->ca.empty() || settings->certificate.chain.empty() ||
      settings->certificate.key.empty()) {
    return std::nullopt;
  }
  auto tls = load_ring_tls(*settings);
  if (!tls) {
    root.section("ring").mistake("tls", tls.error().message);
    return std::nullopt;
  }
  if (!settings->living || has_no_path(settings->living->zookeeper_tls)) return std::move(*tls);
  auto zookeeper = load_zookeeper_tls(*settings->living);
  if (zookeeper) {
    tls->zookeeper = std::move(*zookeeper);
  } else {
    root.section("ring").mistake("zookeeper_tls", zookeeper.error().message);
  }
  return std::move(*tls);
}

// The mistakes of the configuration, and of the files that it names.
Result<> finish(SettingsFile& settings, const Lines& others) {
  auto finished = finish(settings);
  if (finished && others.empty()) return finished;
  Lines lines = finished ? "" : finished.error().message;
  if (!others.empty()) add(lines, others);
  return Error{ErrorKind::invalid, lines};
}

}  // namespace

Result<> reload_certificates(const Installation& installation) {
  Result<> first = installation.tls->reload();
  if (installation.ring_tls) {
    if (auto loaded = installation.ring_tls->reload(*installation.settings.ring); !loaded && first)
      first = loaded.error();
  }
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
  return installation.tls->any() || installation.ring_tls ||
         std::any_of(installation.groups.begin(), installation.groups.end(),
                     [&](const auto& group) { return any(group.tls) || any(group.shadow_tls); });
}

Result<Installation> load_installation(const std::filesystem::path& config) {
  auto read = read_settings(config);
  if (!read) return read.error();
  Settings& settings = read->settings;
  ConfigSection root = read->file.root();
  check_folders(root, settings);
  Lines others;
  std::vector<std::optional<PbftMembership>> memberships;
  std::vector<OriginClients> clients;
  auto sections = root.sections("group");
  for (std::size_t i = 0; i < settings.groups.size(); ++i) {
    const GroupSettings& group = settings.groups[i];
    const bool is_pbft = group.kind == GroupKind::pbft;
    memberships.push_back(is_pbft ? load_membership(sections[i], group, others) : std::nullopt);
    clients.push_back(load_tls(sections[i], group));
  }
  check_clients(sections, settings.groups, memberships);
  auto routes = root.sections("route");
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const RouteSettings& route = settings.routes[i];
    if (route.group >= memberships.size()) continue;
    const auto& member = memberships[route.group];
    check_set_fields(routes[i], route,
                     member ? member->group.profile : settings.groups[route.group].profile);
  }
  auto secret = load_secret(root.section("sketch"), settings);
  const WipeAtEnd wipe(secret ? std::span<std::uint8_t>(*secret) : std::span<std::uint8_t>());
  auto tls = load_listeners(root, settings.listeners);
  auto ring_tls = load_ring(root, settings.ring);
  if (auto finished = finish(*read, others); !finished) return finished.error();
  Installation installation{std::move(settings), {}, std::move(tls), std::move(ring_tls)};
  std::uint32_t fields = 0;
  for (std::size_t i = 0; i < memberships.size(); ++i) {
    const GroupSettings& group = installation.settings.groups[i];
    sketch::Profile profile = memberships[i] ? memberships[i]->group.profile : group.profile;
    sketch::SketchFunction sketch(installation.settings.digest, *secret, profile, group.name);
    const std::uint32_t first_field = fields;
    fields += static_cast<std::uint32_t>(profile.rule_count());
    installation.groups.push_back({std::move(memberships[i]), std::move(profile), std::move(sketch),
                                   first_field, std::move(clients[i].origins),
                                   std::move(clients[i].shadows)});
  }
  installation.table_identity = table_identity(installation, *secret);
  installation.transfer_key = transfer_key(*secret);
  installation.settings_key = settings_key(*secret);
  installation.floor_seed = floor_seed(*secret);
  return installation;
}

}  // namespace prophecy::sketcher
