#include "tools/keygen_command.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/io/core_dumps.hpp"
#include "tools/keys/keygen.hpp"
#include "tools/keys/ring_keygen.hpp"

namespace prophecy::tools {

namespace {

struct KeygenOptions {
  std::string directory;
  std::uint32_t faults = 1;
  std::uint32_t clients = 1;
  std::vector<std::string> addresses;
  std::vector<std::string> ring_members;
  bool encrypted_links = false;
};

int print(const Result<std::vector<std::filesystem::path>>& files) {
  if (!files) {
    std::cerr << "prophecyctl: " << files.error().message << '\n';
    return files.error().kind == ErrorKind::invalid ? 2 : 1;
  }
  for (const auto& file : *files)
    std::cout << file.string() << '\n';
  return 0;
}

int run_keygen(const KeygenOptions& options) {
  if (auto forbidden = forbid_core_dumps(); !forbidden) {
    std::cerr << "prophecyctl: " << forbidden.error().message << '\n';
    return 1;
  }
  KeygenRequest request{
      options.directory, options.faults, {}, options.clients, options.encrypted_links};
  for (const std::string& text : options.addresses) {
    const auto address = parse_endpoint(text);
    if (!address) {
      std::cerr << "prophecyctl: --replica-addresses: " << address.error().message << '\n';
      return 2;
    }
    request.replica_addresses.push_back(*address);
  }
  const bool makes_ring = !options.ring_members.empty();
  if (!makes_ring || !request.replica_addresses.empty()) {
    if (const int status = print(generate_group(request)); status != 0) return status;
  }
  return makes_ring ? print(generate_ring_keys({options.directory, options.ring_members})) : 0;
}

}  // namespace

void add_keygen_command(Command program) {
  auto options = std::make_shared<KeygenOptions>();
  const Command command =
      program.add_command("keygen", "Make the group file, the keys and the secret of a new group");
  command.add("--directory", options->directory, "Where to; made when there is none").required();
  const Option faults =
      command.add("--faults", options->faults, "f, the faulty replicas to withstand")
          .between(1u, 21u);
  const Option addresses =
      command
          .add("--replica-addresses", options->addresses,
               "The 3f+1 agents' addresses, ADDRESS:PORT, separated by commas; "
               "without agents, only the sketchers' secret is made")
          .separated_by(',')
          .needs(faults);
  faults.needs(addresses);
  command.add("--clients", options->clients, "Number of sketchers")
      .between(1u, 256u)
      .needs(addresses);
  command
      .flag("--encrypted-links", options->encrypted_links,
            "The group file has encrypted_links: TLS between agents, and from sketchers to them")
      .needs(addresses);
  command
      .add("--ring-members", options->ring_members,
           "Names of sketchers in [ring], separated by commas: makes their certificates, and the "
           "ring's authority unless it is there; without --replica-addresses nothing else")
      .separated_by(',');
  command.on_run([options] { return run_keygen(*options); });
}

}  // namespace prophecy::tools
