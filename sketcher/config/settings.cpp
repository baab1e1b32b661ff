#include "sketcher/config/settings.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/config/shared_settings.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/config/setting_bounds.hpp"
#include "sketcher/config/units.hpp"
#include "sketcher/core/read/divergence.hpp"

namespace prophecy::sketcher {
namespace {

std::optional<Account> read_account(ConfigSection& section) {
  const Key user_key =
      Key{"user",
          "Account of the workers, the health checker, and exports and imports of the history; the "
          "master has to be started by root, or as this account. The master stays root: it opens "
          "listeners, reads keys and certificates, and writes the files that FILES in "
          "prophecy-sketcher(8) lists. "
          "`[spool]` `folder` has to be writable by the account. On `SIGHUP` the workers cannot "
          "read root's files, so they are replaced, one after the other; see SIGNALS in "
          "prophecy-sketcher(8)."}
          .otherwise("none");
  const Key group_key =
      Key{"group", "The only group of these processes."}.otherwise("the groups of `user`");
  const std::string user = section.has("user") ? section.text(user_key) : std::string();
  std::optional<std::string> group;
  if (section.has("group")) group = section.text(group_key);
  if (!section.has("user")) {
    if (group) section.mistake("group", "expected user as well");
    return std::nullopt;
  }
  auto account = find_account(user, group);
  if (account) return std::move(*account);
  section.mistake("user", "expected an account and a group that exist: " + account.error().message);
  return std::nullopt;
}

void read_sketcher(ConfigSection section, Settings& settings) {
  const std::uint64_t cores =
      std::clamp(std::thread::hardware_concurrency(), 1U, static_cast<unsigned>(kWorkersMax));
  settings.workers = static_cast<std::uint32_t>(section.number(
      Key{"workers", "Worker processes."}.otherwise("one per core"), 1, kWorkersMax, cores));
  settings.account = read_account(section);
  settings.core_dumps =
      section.flag({"core_dumps",
                    "Whether a process that crashes may leave a core file, and whether a debugger "
                    "of the same user may attach. A core file holds the installation's keys."},
                   false);
  settings.admin_socket = section.socket_path({"admin",
                                               "Unix socket for prophecyctl(1). A stale socket is "
                                               "replaced; any other file there is an error."});
  settings.state_file = section.path(
      Key{"state_file",
          "File, of mode 0600, that keeps the changes of `prophecyctl route` and `prophecyctl "
          "bypass`, and of a member of a ring what all members have agreed on. A start applies "
          "them over the configuration, and logs each difference as a "
          "warning (`bypass-restored`, `route-mode-restored`). A damaged file is logged "
          "(`switches-forgotten`) and ignored; so is a route in it that no longer exists "
          "(`route-mode-forgotten`). Its folder has to be writable. A folder in `/run` is emptied "
          "when the machine starts: put the file elsewhere if a switch is to outlast that."}
          .otherwise("the path of `admin`, with `.state`"),
      settings.admin_socket.string() + ".state");
  settings.certificates_looked_at = section.duration(
      {"certificates_looked_at",
       "How often the files of certificates, keys and authorities are looked at. Once changed "
       "ones have stayed the same between two looks, they are read as on `SIGHUP`; if they are not "
       "in order, the former ones stay, and the event `certificates-not-reloaded` has the reason. "
       "`\"0s\"`: only `SIGHUP` has them read."},
      Duration::zero(), kDurationMax, seconds(10));
  if (section.has("acme_challenges"))
    settings.acme_challenges = section.path(Key{
        "acme_challenges",
        "A local folder in which an ACME client (RFC 8555) puts the answers to its authority's "
        "http-01 "
        "challenges, a file of at most 1 KiB for each: a read of "
        "`/.well-known/acme-challenge/TOKEN`, at any listener and for any host, is answered "
        "with the file `TOKEN`. Where there is no such file, a route takes the request. Workers "
        "have to be able to read it, and wait for it: a worker looks for 100 files a second, and "
        "answers more such reads 503 (`challenge-budget`)."}
                                                .otherwise("none"));
  if (section.has("metrics"))
    settings.metrics = section.endpoint(
        Key{"metrics", "Address that answers `GET /metrics` for Prometheus."}.otherwise("none"));
  if (section.has("divergence_log"))
    settings.divergence_log = section.path(Key{
        "divergence_log",
        "File to append divergences to, one JSON object a line; see FILES in prophecy-sketcher(8)."}
                                               .otherwise("none")
                                               .reloaded());
  settings.divergence_log_bytes_max = section.bytes(
      {"divergence_log_bytes_max", "Size of that file beyond which nothing is appended."},
      kEventBytesMax + kKiB, 1024 * kGiB, kGiB);
  if (section.has("access_log"))
    settings.access_log = section.path(
        Key{"access_log",
            "File to append a line of JSON to for each answer; see FILES in prophecy-sketcher(8). "
            "Each worker writes its lines once a second. `prophecy-measure follow` and "
            "`prophecyctl transitions` read it. The file is not bounded: rotate it."}
            .otherwise("none")
            .reloaded());
}

void read_origins(ConfigSection section, Settings& settings) {
  settings.origin_connections_max =
      section.number({"connections_max", "Connections for fast reads, for each worker and origin."},
                     1, 65'536, 256);
  settings.origin_pipeline_max = section.number(
      {"pipeline_max",
       "Verified GET requests that may be under way on one of these connections, once two of them "
       "are busy (RFC 9112, section 9.3.2). A request waits for the answers in front of it. So it "
       "is put behind others only where answers of all of their paths have lately taken at most 10 "
       "ms from the one before, and for at most 256 KiB of answers. Paths of which that is not "
       "known are tried behind one other. Nor is a request put behind the first answer of a "
       "connection if that one's path takes more than 10 ms and much longer than its own. After "
       "80 ms behind others a request is sent to another origin. Where more than one read in 400 "
       "waits for a late answer (one in 80, where the "
       "origin is as often late for reads with none in front), these paths, or all of the origin, "
       "are asked one at a time for 250 ms or longer. The sketch detects an answer that "
       "an origin gives to the wrong request. Unverified reads (in modes other than `enforce`, or "
       "whitelisted) are not pipelined, and agents never do. 1: one at a time."},
      1, 64, 16);
  settings.origin_tunnels_max =
      section.number({"tunnels_max",
                      "Tunnels, for each worker and origin, beside these. When all origins have "
                      "so many, a request for another is answered 503 (`too-many-tunnels`)."},
                     1, 65'536, 256);
  settings.origin_streams_max = section.number(
      {"streams_max",
       "Answers that are streamed (routes in mode `\"stream\"`), for each worker and origin, "
       "beside "
       "these. When all origins that reads are drawn from have so many, a request for another is "
       "answered 503 (`origin-unavailable`)."},
      1, 65'536, 256);
  settings.timeouts.origin_idle = section.duration(
      {"idle",
       "Unused connections are closed after this time. Keep it below the origins' own limit."},
      kDurationMin, kDurationMax, seconds(4));
}

// Where this sketcher listens.
std::vector<Endpoint> own_addresses(const Settings& settings) {
  std::vector<Endpoint> own;
  for (const ListenerSettings& listener : settings.listeners)
    own.push_back(listener.address);
  if (settings.metrics) own.push_back(*settings.metrics);
  for (const Endpoint& address : own_addresses(settings.ring))
    own.push_back(address);
  if (settings.ring && settings.ring->living) own.push_back(settings.ring->living->hand_over);
  return own;
}

void read_sketch(ConfigSection section, Settings& settings) {
  settings.sketch_key_file = section.path(
      {"key_file",
       "The secret of the sketches, mode 0600; the same for all sketchers of an installation."});
  // In the order of DigestKind.
  settings.digest = static_cast<sketch::DigestKind>(section.choice(
      {"digest",
       "`\"sha1\"` or `\"sha256\"`: HMAC with these hashes, the latter cut to 160 bits. "
       "`\"gmac\"`: AES-256-GMAC, its tag encrypted. It takes a tenth of the time for large bodies "
       "on processors with instructions for AES and carry-less multiplication (`aes` and "
       "`pclmulqdq` in `/proc/cpuinfo`) and none for SHA (`sha_ni`). In exchange it has the "
       "strength of 128 bits. With a leaked secret of `key_file` an attacker can forge an answer "
       "for any sketch, at any time and at no cost; with `\"sha1\"` and `\"sha256\"` a second "
       "preimage of the hash would still have to be found. It also rests on functions of OpenSSL "
       "that are not documented, and not part of its FIPS provider. Without those instructions it "
       "is slower than `\"sha1\"`, and its timing leaks parts of the secret to processes that "
       "share the processor's caches. The digest is the same for all sketchers of an installation, "
       "too. A change of it empties the history, and gives every answer another ETag."},
      {"sha1", "sha256", "gmac"}, static_cast<std::size_t>(settings.digest)));
}

void read_table(ConfigSection section, Settings& settings) {
  settings.table_bytes = section.bytes(
      {"size",
       "Memory for the history table. An entry takes 41 bytes: 25 million fit into 1 GiB. It lies "
       "in huge pages, where the system offers them; the event `table-mapped` has their share. "
       "Without `file` it ends with the sketcher, so it begins empty after each restart, and a new "
       "configuration takes one (see SIGNALS in prophecy-sketcher(8))."},
      HistoryTable::kBytesMin, 1024 * kGiB, 64 * kMiB);
  if (section.has("file"))
    settings.table_file = section.path(
        Key{"file",
            "File of the table, on tmpfs or a disk, in place of memory that ends with the "
            "sketcher. Its entries outlast a restart or an upgrade, and a death of all processes "
            "unless the machine was restarted. The file is made with mode 0600 and takes `size`. "
            "It begins empty, and the event `table-emptied` has the reason, when size, digest, key "
            "file, groups or `style` and `group_client_address` of `[forwarding]` have changed, "
            "when it is damaged, or when the machine stopped while it was in use. A file that is "
            "not a history table is an error and is left as it is, as is one that others may read "
            "or write, or that another process uses."}
            .otherwise("none"));
  settings.block_store_bytes =
      section.bytes({"blocks",
                     "Memory for the lists of blocks that the entries of large answers lead to; "
                     "see `whole_answer` in the group file. A list takes 32 bytes for each block, "
                     "128 KiB for a GiB in blocks of 256 KiB, and may take a quarter of this "
                     "memory. An evicted list makes the next read ask the group again."},
                    BlockStore::kBytesMin, BlockStore::kBytesMax, 16 * kMiB);
  settings.not_found_share = section.fraction(
      {"not_found_share",
       "Share of the table for answers 404 and 410, and for answers that may not be remembered: a "
       "flood of paths that do not exist evicts no more than that."},
      HistoryTable::kLimitedShare);
  settings.activity_bytes =
      section.bytes({"activity",
                     "Memory of all workers for records of single requests, which `prophecyctl "
                     "history` shows, and by which requests are blacklisted automatically. A "
                     "request takes 260 bytes. It ends with the sketcher."},
                    kMiB, 64 * kMiB, 4 * kMiB);
}

Settings read(ConfigSection root) {
  Settings settings;
  read_sketcher(root.section("sketcher"), settings);
  settings.log = read_log_settings(root.section("log"));
  settings.listeners = read_listeners(root);
  settings.ring = read_ring(root, settings.workers, own_addresses(settings));
  if (settings.listeners.empty() && takes_clients(settings.ring))
    root.mistake("listener", "expected at least one [[listener]]");
  settings.forwarding = read_forwarding(root.section("forwarding"));
  settings.groups = read_groups(root, settings.workers, own_addresses(settings));
  settings.routes = read_routes(root, settings.groups);
  read_sketch(root.section("sketch"), settings);
  read_table(root.section("table"), settings);
  settings.limits = read_limits(root.section(
      {"limits",
       "`header` and `header_count` bound the answers of origins to fast reads too. A read whose "
       "fast answer is beyond a limit is replicated; there the agents' own limits count, "
       "`answer_bytes_max` in prophecy-replica(8) for the body. In a group of kind `\"vote\"` all "
       "of this bounds votes as well, and an answer beyond it is no vote."}));
  const std::uint64_t body_bytes_max = settings.limits.request.body_bytes_max;
  settings.spool =
      read_spool(root.section({"spool",
                               "The files of requests' bodies that are too large for memory. They "
                               "have no name, and end with the request, or with the worker."}),
                 body_bytes_max);
  settings.timeouts = read_timeouts(root.section({"timeouts",
                                                  "Time-outs of clients and origins are checked "
                                                  "every 100 ms, so each may be late by as much."}),
                                    body_bytes_max);
  settings.compression = read_compression_limits(root.section("compression"));
  read_origins(root.section("origins"), settings);
  settings.fail_fast_reads = root.section("test").fraction(
      {"fail_fast_reads", "Share of fast reads to treat as changed, for measurements."}, 0.0);
  return settings;
}

}  // namespace

Result<SettingsFile> read_settings(const std::filesystem::path& path) {
  auto file = ConfigFile::load(path);
  if (!file) return file.error();
  Settings settings = read(file->root());
  return SettingsFile{std::move(*file), std::move(settings)};
}

Result<> finish(SettingsFile& settings) {
  return settings.file.finish([](ConfigSection root) { static_cast<void>(read(std::move(root))); });
}

Result<Settings> load_settings(const std::filesystem::path& path) {
  auto settings = read_settings(path);
  if (!settings) return settings.error();
  if (auto finished = finish(*settings); !finished) return finished.error();
  return std::move(settings->settings);
}

Result<std::string> dump_settings(const std::filesystem::path& path) {
  auto settings = read_settings(path);
  if (!settings) return settings.error();
  if (auto finished = finish(*settings); !finished) return finished.error();
  return settings->file.dump();
}

std::string describe_settings() {
  ConfigFile file = ConfigFile::schema();
  static_cast<void>(read(file.root()));
  return file.describe();
}

}  // namespace prophecy::sketcher
