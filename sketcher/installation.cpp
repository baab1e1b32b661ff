#include "sketcher/installation.hpp"

#include "sketch/secret_file.hpp"

namespace prophecy::sketcher {
namespace {

Result<PbftMembership> load_membership(const std::filesystem::path& config,
                                       const Settings& settings) {
  auto group = pbft::load_group_file(settings.group.file);
  if (!group) return group.error();
  if (settings.origins.size() != group->replicas.size()) {
    return Error{ErrorKind::invalid,
                 config.string() + ": origin: expected " + std::to_string(group->replicas.size()) +
                     " of them, one for each replica of " + settings.group.file.string() +
                     ", got " + std::to_string(settings.origins.size())};
  }
  auto keys = pbft::load_key_ring(*group, settings.group.client_id, settings.group.key_file);
  if (!keys) return keys.error();
  return PbftMembership{std::move(*group), std::move(*keys)};
}

}  // namespace

Result<Installation> load_installation(const std::filesystem::path& config) {
  auto settings = load_settings(config);
  if (!settings) return settings.error();
  std::optional<PbftMembership> membership;
  if (settings->group.kind == GroupKind::pbft) {
    auto loaded = load_membership(config, *settings);
    if (!loaded) return loaded.error();
    membership = std::move(*loaded);
  }
  sketch::Profile profile = membership ? membership->group.profile : settings->group.profile;
  const auto secret = sketch::load_sketch_secret(settings->sketch_key_file);
  if (!secret) return secret.error();
  sketch::SketchFunction function(settings->digest, *secret, profile);
  return Installation{std::move(*settings), std::move(membership), std::move(profile), function};
}

}  // namespace prophecy::sketcher
