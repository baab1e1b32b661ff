#include "pbft/group/group_file.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file.hpp"
#include "base/wipe.hpp"

namespace prophecy::pbft {

namespace {

constexpr std::size_t kKeyFileBytesMax = 4096;

PublicKeys read_public_keys(ConfigSection& section) {
  PublicKeys keys;
  const auto exchange = parse_public_key(section.text({"public_key", "Its X25519 key."}));
  if (exchange) {
    keys.exchange = *exchange;
  } else if (section.has("public_key")) {
    section.mistake("public_key", exchange.error().message);
  }
  // That it is missing is told once for all, see check_signing_keys().
  const auto signing = parse_public_signing_key(
      section.has("public_signing_key") ? section.text({"public_signing_key", "Its Ed25519 key."})
                                        : std::string());
  if (signing) {
    keys.signing = *signing;
  } else if (section.has("public_signing_key")) {
    section.mistake("public_signing_key", signing.error().message);
  }
  return keys;
}

void read_group(ConfigSection section, GroupFile& group) {
  const std::string id =
      section.text({"id", "32 hexadecimal digits; part of every key that members share."});
  if (section.has("id") && !from_hex(id, group.id)) {
    section.mistake("id", "expected 32 hexadecimal digits");
  }
  const std::string founded =
      section.has("founded")
          ? section.text({"founded",
                          "32 random hexadecimal digits; others each time that the group begins "
                          "anew. Part of every key that members share and of all that they sign."})
          : std::string();
  if (!section.has("founded")) {
    section.mistake("founded",
                    "expected 32 random hexadecimal digits, others each time that the group begins "
                    "anew (prophecyctl keygen makes them), found nothing");
  } else if (!from_hex(founded, group.founded)) {
    section.mistake("founded", "expected 32 hexadecimal digits");
  }
  group.number = section.number({"number",
                                 "Rises with each change of a member's keys or address; a replica "
                                 "that keeps a store takes no lower one any more."},
                                1, kGroupNumberMax, 1);
  group.faults = static_cast<std::uint32_t>(
      section.number({"faults", "The number f of replicas that may be faulty."}, 1, kFaultsMax));
  group.encrypted_links = section.flag(
      {"encrypted_links",
       "TLS 1.3 between agents, and from sketchers to agents; each side shows its signing key. All "
       "members need the same: a link of which one side alone encrypts is refused at both."},
      false);
}

void read_replicas(ConfigSection root, GroupFile& group) {
  auto sections = root.sections({"replica", "3f+1 of them."});
  std::size_t expected = 3 * std::size_t{group.faults} + 1;
  // Then any number may be meant.
  if (root.section("group").is_wrong("faults")) expected = std::max(expected, sections.size());
  if (sections.size() != expected && !root.section("group").is_wrong("faults")) {
    root.mistake("replica", "expected " + std::to_string(expected) +
                                " tables [[replica]], 3 * faults + 1, found " +
                                std::to_string(sections.size()));
  }
  group.replicas.resize(expected);
  std::vector<bool> seen(expected, false);
  std::vector<Endpoint> addresses;
  for (ConfigSection& section : sections) {
    const auto id = static_cast<NodeId>(
        section.number(Key{"id", "Its number, from 0."}.within("0 to 3f"), 0, expected - 1));
    const GroupReplica replica{section.endpoint({"address", "Where its agent listens."}),
                               read_public_keys(section)};
    const bool has_id = !section.is_wrong("id");
    if (has_id && seen[id]) section.mistake("id", "expected an id that no other replica has");
    if (std::find(addresses.begin(), addresses.end(), replica.address) != addresses.end()) {
      section.mistake("address", "expected an address that no other replica has");
    }
    if (replica.address.port == 0) section.mistake("address", "expected a port other than 0");
    if (has_id) seen[id] = true;
    addresses.push_back(replica.address);
    group.replicas[id] = replica;
  }
}

void read_clients(ConfigSection root, GroupFile& group) {
  auto sections = root.sections({"client", "One for each sketcher."});
  if (sections.size() > kGroupClientsMax) {
    root.mistake("client", "expected at most " + std::to_string(kGroupClientsMax) +
                               " clients, found " + std::to_string(sections.size()));
  }
  for (ConfigSection& section : sections) {
    const auto id = static_cast<NodeId>(
        section.number({"id", "Its number, `client_id` in the sketcher's configuration."},
                       kFirstClientId, kLastClientId));
    if (group.has_client(id)) section.mistake("id", "expected an id that no other client has");
    group.clients.push_back({id, read_public_keys(section)});
  }
  std::sort(group.clients.begin(), group.clients.end(),
            [](const GroupClient& a, const GroupClient& b) { return a.id < b.id; });
}

// A file that was made before there were signing keys lacks every one.
void check_signing_keys(ConfigSection root) {
  for (const char* kind : {"replica", "client"}) {
    for (ConfigSection& section : root.sections(kind)) {
      if (section.has("public_signing_key")) continue;
      section.mistake("public_signing_key",
                      "expected a signing key, found nothing; if the file was made before there "
                      "were signing keys, make the "
                      "group's keys anew with prophecyctl keygen");
      return;
    }
  }
}

// Whether each member has its own place and its keys: none is wrong, missing, or of another one.
bool knows_all_members(ConfigSection root, const GroupFile& group) {
  const std::vector<ConfigSection> replicas = root.sections("replica");
  const std::vector<ConfigSection> clients = root.sections("client");
  const auto is_known = [](const ConfigSection& section) {
    return !section.is_wrong("id") && section.has("public_key") &&
           !section.is_wrong("public_key") && section.has("public_signing_key") &&
           !section.is_wrong("public_signing_key");
  };
  return replicas.size() == group.replicas.size() &&
         std::all_of(replicas.begin(), replicas.end(), is_known) &&
         std::all_of(clients.begin(), clients.end(), is_known);
}

// One key for two members would make them one: each could speak for the other.
void check_distinct_keys(ConfigSection root, const GroupFile& group) {
  std::vector<Member> members = group.members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const PublicKeys& one = members[i].public_keys;
      const PublicKeys& other = members[j].public_keys;
      const std::string both = "members " + std::to_string(members[j].id) + " and " +
                               std::to_string(members[i].id) + " have the same public ";
      if (one.exchange == other.exchange) root.mistake("replica", both + "key");
      if (one.signing == other.signing) root.mistake("replica", both + "signing key");
    }
  }
}

GroupFile read(ConfigSection root) {
  GroupFile group;
  read_group(root.section({"group", "The group as a whole."}), group);
  read_replicas(root, group);
  read_clients(root, group);
  group.profile = sketch::Profile::from_config(root.section(
      {"canonical", "Optional: additions to the canonical form of requests and answers."}));
  return group;
}

Result<GroupFile> read(Result<ConfigFile> file) {
  if (!file) return file.error();
  ConfigSection root = file->root();
  GroupFile group = read(root);
  check_signing_keys(root);
  // Missing keys are reported as such, not as equal ones.
  if (knows_all_members(root, group)) check_distinct_keys(root, group);
  const auto readers = [](ConfigSection all) { static_cast<void>(read(std::move(all))); };
  if (auto finished = file->finish(readers); !finished) return finished.error();
  return group;
}

Result<PrivateKeys> load_private_keys(const std::filesystem::path& key_file) {
  auto text = read_secret_file(key_file, kKeyFileBytesMax);
  if (!text) return text.error();
  const WipeAtEnd wipe(*text);
  auto keys = parse_private_keys(*text);
  if (!keys) return Error{keys.error().kind, key_file.string() + ": " + keys.error().message};
  return keys;
}

}  // namespace

std::vector<Endpoint> GroupFile::addresses() const {
  std::vector<Endpoint> result;
  for (const GroupReplica& replica : replicas)
    result.push_back(replica.address);
  return result;
}

std::vector<Member> GroupFile::members() const {
  std::vector<Member> result;
  for (NodeId replica = 0; replica < replicas.size(); ++replica) {
    result.push_back({replica, replicas[replica].public_keys});
  }
  for (const GroupClient& client : clients)
    result.push_back({client.id, client.public_keys});
  return result;
}

Bytes GroupFile::life() const {
  Bytes both(id.begin(), id.end());
  both.insert(both.end(), founded.begin(), founded.end());
  return both;
}

bool GroupFile::has_client(NodeId wanted) const {
  return std::any_of(clients.begin(), clients.end(),
                     [&](const GroupClient& client) { return client.id == wanted; });
}

Result<GroupFile> load_group_file(const std::filesystem::path& path) {
  return read(ConfigFile::load(path));
}

Result<GroupFile> parse_group_file(std::string_view text, std::string name) {
  return read(ConfigFile::parse(text, std::move(name)));
}

std::string describe_group_file() {
  ConfigFile file = ConfigFile::schema();
  static_cast<void>(read(file.root()));
  return file.describe();
}

Result<KeyRing> load_key_ring(const GroupFile& group, NodeId self,
                              const std::filesystem::path& key_file) {
  const auto private_keys = load_private_keys(key_file);
  if (!private_keys) return private_keys.error();
  const std::vector<Member> members = group.members();
  auto keys = KeyRing::derive(self, *private_keys, group.life(), members);
  if (!keys) return Error{keys.error().kind, key_file.string() + ": " + keys.error().message};
  return keys;
}

Result<std::shared_ptr<const LinkTls>> load_link_tls(const GroupFile& group, NodeId self,
                                                     const std::filesystem::path& key_file) {
  if (!group.encrypted_links) return std::shared_ptr<const LinkTls>();
  const auto private_keys = load_private_keys(key_file);
  if (!private_keys) return private_keys.error();
  return LinkTls::make(self, *private_keys, group.members());
}

}  // namespace prophecy::pbft
