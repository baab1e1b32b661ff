#include "sketcher/installation.hpp"

#include "base/file.hpp"
#include "sketch/secret_file.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kKeyFileBytesMax = 4096;

Result<pbft::KeyRing> load_keys(const Settings& settings, const pbft::GroupFile& group) {
  const auto& path = settings.group.key_file;
  const auto text = read_secret_file(path, kKeyFileBytesMax);
  if (!text) return text.error();
  const auto key = pbft::parse_private_key(*text);
  if (!key) return Error{key.error().kind, path.string() + ": " + key.error().message};
  auto ring = pbft::KeyRing::derive(settings.group.client_id, *key, group.id, group.members());
  if (!ring) return Error{ring.error().kind, path.string() + ": " + ring.error().message};
  return ring;
}

}  // namespace

Result<Installation> load_installation(const std::filesystem::path& config) {
  auto settings = load_settings(config);
  if (!settings) return settings.error();
  auto group = pbft::load_group_file(settings->group.file);
  if (!group) return group.error();
  if (settings->origins.size() != group->replicas.size()) {
    return Error{ErrorKind::invalid,
                 config.string() + ":1: origin: expected " +
                     std::to_string(group->replicas.size()) + " of them, one for each replica of " +
                     settings->group.file.string() + ", got " +
                     std::to_string(settings->origins.size())};
  }
  auto keys = load_keys(*settings, *group);
  if (!keys) return keys.error();
  const auto secret = sketch::load_sketch_secret(settings->sketch_key_file);
  if (!secret) return secret.error();
  sketch::SketchFunction function(settings->digest, *secret, group->profile);
  return Installation{std::move(*settings), std::move(*group), std::move(*keys),
                      std::move(function)};
}

}  // namespace prophecy::sketcher
