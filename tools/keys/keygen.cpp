#include "tools/keys/keygen.hpp"

#include <span>

#include "base/random.hpp"
#include "base/wipe.hpp"
#include "pbft/group/group_file.hpp"
#include "sketch/secret_file.hpp"
#include "tools/keys/key_files.hpp"

namespace prophecy::tools {

namespace {

std::string group_header(std::span<const std::uint8_t> id, std::span<const std::uint8_t> founded,
                         const KeygenRequest& request) {
  return "# What all members of one replica group share. It holds no secret.\n\n[group]\nid = \"" +
         to_hex(id) + "\"\nfounded = \"" + to_hex(founded) +
         "\"\nnumber = 1\nfaults = " + std::to_string(request.faults) + "\n" +
         (request.encrypted_links ? "encrypted_links = true\n" : "");
}

// Adds the file of the member's private keys; returns the lines of its public ones.
Result<std::string> add_member(const std::string& file_name, std::vector<KeyFile>& files) {
  const auto private_keys = pbft::generate_private_keys();
  if (!private_keys) return private_keys.error();
  const auto public_keys = pbft::public_keys_of(*private_keys);
  if (!public_keys) return public_keys.error();
  files.push_back({file_name, pbft::to_file_text(*private_keys), FileSecrecy::secret});
  return "public_key = \"" + pbft::to_string(public_keys->exchange) +
         "\"\npublic_signing_key = \"" + pbft::to_string(public_keys->signing) + "\"\n";
}

KeyFile make_sketch_secret() {
  sketch::Secret secret{};
  const WipeAtEnd wipe(secret);
  SecureRandom().fill(secret);
  return {"sketch.key", sketch::sketch_secret_text(secret), FileSecrecy::secret};
}

Result<std::vector<KeyFile>> make_files(const KeygenRequest& request) {
  if (request.replica_addresses.empty()) return std::vector{make_sketch_secret()};
  SecureRandom random;
  std::array<std::uint8_t, pbft::kGroupIdSize> id{};
  random.fill(id);
  std::array<std::uint8_t, pbft::kGroupIdSize> founded{};
  random.fill(founded);
  std::vector<KeyFile> files;
  std::string group = group_header(id, founded, request);
  for (std::size_t replica = 0; replica < request.replica_addresses.size(); ++replica) {
    auto keys = add_member("replica-" + std::to_string(replica) + ".key", files);
    if (!keys) return keys.error();
    group += "\n[[replica]]\nid = " + std::to_string(replica) + "\naddress = \"" +
             to_string(request.replica_addresses[replica]) + "\"\n" + *keys;
  }
  for (std::uint32_t index = 0; index < request.clients; ++index) {
    const std::string client = std::to_string(kFirstClientId + index);
    auto keys = add_member("client-" + client + ".key", files);
    if (!keys) return keys.error();
    group += "\n[[client]]\nid = " + client + "\n" + *keys;
  }
  files.push_back(make_sketch_secret());
  // What we write has to pass what will read it: this is where wrong addresses are told.
  if (auto parsed = pbft::parse_group_file(group, "group.toml"); !parsed) return parsed.error();
  files.push_back({"group.toml", std::move(group), FileSecrecy::open});
  return files;
}

}  // namespace

Result<std::vector<std::filesystem::path>> generate_group(const KeygenRequest& request) {
  auto files = make_files(request);
  if (!files) return files.error();
  return create_files(request.directory, *files);
}

}  // namespace prophecy::tools
