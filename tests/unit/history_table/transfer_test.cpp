// Entries that leave one table for another: looks at buckets beside writers, what a table takes,
// and files that are what somebody with the secret has written, or are refused.
#include <csignal>
#include <functional>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "history_table/bucket_entries.hpp"
#include "history_table/history_table.hpp"
#include "history_table/transfer/export_reader.hpp"
#include "history_table/transfer/export_writer.hpp"
#include "scenarios.hpp"

namespace prophecy::table {
namespace {

constexpr TransferKey kKey{1, 2, 3};
const Identity kIdentity{
    .digest = 1, .key = {1}, .groups = {2}, .ownership_epoch = 3, .group_count = 2};

const std::vector<StoredFloor> kFloors{{0, 3, 7}, {1, 0, 20'000}, {1, 7, 1}};

StoredEntry stored(std::uint64_t key, Sigma sigma) {
  return {tag_of(key_number(key)), answer_for(key, sigma), make_state(sigma, Room::any)};
}

UniqueFd empty_file() {
  UniqueFd fd(::memfd_create("export", MFD_CLOEXEC));
  REQUIRE(fd);
  return fd;
}

UniqueFd file_of(const std::string& text) {
  UniqueFd fd = empty_file();
  REQUIRE(::pwrite(fd.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return fd;
}

std::string text_of(int fd) {
  std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
  REQUIRE(::pread(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return text;
}

Result<ExportTotals> write_export(int fd, std::uint64_t entries, const TransferKey& key = kKey,
                                  const Identity& identity = kIdentity) {
  ExportWriter writer(fd, key);
  if (auto begun = writer.begin({identity, 1234, 8}); !begun) return begun.error();
  for (std::uint64_t i = 0; i < entries; ++i) {
    if (auto added = writer.add(stored(i, i + 1)); !added) return added.error();
  }
  for (const StoredFloor& floor : kFloors) {
    if (auto added = writer.add(floor); !added) return added.error();
  }
  return writer.finish();
}

// All of a file, or why it is refused.
Result<std::vector<StoredEntry>> read_export(int fd, const TransferKey& key = kKey,
                                             const Identity& identity = kIdentity) {
  ExportReader reader(fd, key);
  const auto header = reader.begin(identity);
  if (!header) return header.error();
  std::vector<StoredEntry> all;
  std::vector<StoredFloor> floors;
  for (;;) {
    const auto more = reader.next();
    if (!more) return more.error();
    if (!*more) break;
    all.insert(all.end(), reader.entries().begin(), reader.entries().end());
    floors.insert(floors.end(), reader.floors().begin(), reader.floors().end());
  }
  CHECK(floors == kFloors);
  return all;
}

std::string refusal_of(const std::string& text) {
  const auto read = read_export(file_of(text).get());
  return read ? "" : read.error().message;
}

std::vector<StoredEntry> all_entries(const HistoryTable& table) {
  std::vector<StoredEntry> all;
  for (std::uint64_t i = 0; i < table.bucket_count(); ++i) {
    const auto found = table.bucket_entries(i);
    REQUIRE(found);
    all.insert(all.end(), found->entries.begin(), found->entries.begin() + found->count);
  }
  return all;
}

HistoryTable seeded_table(std::size_t bytes, std::uint64_t seed) {
  auto table = HistoryTable::create(bytes, seed);
  REQUIRE(table.has_value());
  table->attach(1);
  return std::move(*table);
}

// The keys of the scenario whose entries lie in the buckets as looks at them show them.
Contents contents_by_looks(const Region& region, std::uint64_t keys,
                           const std::function<std::optional<BucketEntries>(Bucket&)>& look) {
  std::map<Sketch, std::uint64_t> numbers;  // by what is left of the key
  const auto name = [](const Tag& tag) {
    Sketch sketch{};
    std::memcpy(sketch.data(), &tag.fingerprint, 4);
    std::memcpy(sketch.data() + 4, &tag.middle, 2);
    std::memcpy(sketch.data() + 6, &tag.rest, 4);
    return sketch;
  };
  for (std::uint64_t key = 0; key < keys; ++key)
    numbers[name(tag_of(key_number(key)))] = key;
  Contents contents;
  for (Word i = 0; i < region.bucket_count(); ++i) {
    const auto found = look(region.bucket(i));
    if (!found) continue;
    for (std::size_t e = 0; e < found->count; ++e) {
      const StoredEntry& entry = found->entries[e];
      REQUIRE(numbers.contains(name(entry.tag)));
      contents[numbers[name(entry.tag)]] = {entry.answer, sigma_of(entry.state),
                                            mark_of(entry.state)};
    }
  }
  return contents;
}

struct OvertakenOnce {
  std::size_t steps_left;
  std::function<void()> action;
  bool done = false;
  void step() {
    if (done || steps_left-- != 0) return;
    done = true;
    action();
  }
};

}  // namespace

TEST_CASE("a look at a bucket is of one instant, whatever changes under its eyes") {
  for (const Scenario& scenario : scenarios()) {
    const Contents before = contents_of(scenario.before(), scenario.keys());
    const Contents after = scenario.after();
    for (std::size_t step = 0;; ++step) {
      CAPTURE(scenario.name, step);
      const SmallRegion region = scenario.before();
      OvertakenOnce overtaken{step, [&] { scenario.change(region, 2, kUninterrupted); }};
      const Contents seen = contents_by_looks(
          region, scenario.keys(), [&](Bucket& bucket) { return read_bucket(bucket, overtaken); });
      for (const auto& [key, entry] : seen)
        CHECK((entry == at(before, key) || entry == at(after, key)));
      if (scenario.buckets == 1) CHECK((seen == before || seen == after));
      if (!overtaken.done) break;
    }
  }
}

TEST_CASE("a look at a bucket that is held shows nothing, and one after it all") {
  const Scenario scenario = scenario_named("insert and evict");
  for (std::size_t steps = 0;; ++steps) {
    const SmallRegion region = scenario.before();
    StopAfter stop{steps};
    try {
      scenario.change(region, 2, stop);
      break;
    } catch (const Abandoned&) {
    }
    CHECK(read_bucket(region.bucket(0), kUninterrupted).has_value() == !any_locked(region));
    steady_hand(region, 2).clean_up();
    CHECK(read_bucket(region.bucket(0), kUninterrupted)->count == occupied_slots(region));
  }
}

TEST_CASE("all entries go from one table into another of any size and seed") {
  HistoryTable from = seeded_table(HistoryTable::kBytesMin * 2, 1);
  const std::uint64_t keys = 600;
  for (std::uint64_t key = 0; key < keys; ++key) {
    from.update(key_number(key), answer_for(key, key + 1), key + 1,
                key % 50 == 0 ? Room::limited : Room::any);
  }
  for (std::uint64_t key = keys; key < keys + 10; ++key)
    REQUIRE(from.set_mark(key_number(key), Mark::blacklisted) == ChangeOutcome::done);
  from.update(key_number(keys + 10), Sketch{}, 9);  // keeps older ones out
  // Some that are limited have given others their room.
  const std::uint64_t left = from.stats().entries - 1;
  REQUIRE(left > keys);
  const std::uint64_t limited = from.stats().limited;
  const UniqueFd file = empty_file();
  ExportWriter writer(file.get(), kKey);
  REQUIRE(writer.begin({kIdentity, 7, 8}).has_value());
  for (const StoredEntry& entry : all_entries(from)) {
    if (is_of_use(entry)) REQUIRE(writer.add(entry).has_value());
  }
  for (const StoredFloor& floor : kFloors)
    REQUIRE(writer.add(floor).has_value());
  const auto totals = writer.finish();
  REQUIRE(totals.has_value());
  CHECK(totals->entries == left);
  CHECK(totals->newest == 20'000);
  for (const std::size_t bytes : {HistoryTable::kBytesMin, HistoryTable::kBytesMin * 30}) {
    HistoryTable to = seeded_table(bytes, 2);
    std::map<SeedOutcome, std::uint64_t> outcomes;
    const auto read = read_export(file.get());
    REQUIRE(read.has_value());
    for (const StoredEntry& entry : *read)
      ++outcomes[to.seed(entry)];
    std::uint64_t found = 0;
    for (std::uint64_t key = 0; key < keys + 10; ++key) {
      const auto entry = to.lookup(key_number(key));
      if (!entry) continue;
      ++found;
      CHECK(is_genuine(key, *entry));
    }
    CHECK(found == outcomes[SeedOutcome::taken]);
    CHECK(to.stats().entries == found);
    CHECK(to.stats().evictions == 0);
    CHECK(found + outcomes[SeedOutcome::full] == left);
    if (bytes > HistoryTable::kBytesMin) {
      CHECK(found == left);
      CHECK(to.stats().limited == limited);
    } else {
      CHECK(found <= to.stats().capacity);
      CHECK(outcomes[SeedOutcome::full] > 0);
    }
  }
}

TEST_CASE("a table takes no entry where it may have had an answer for the key") {
  const SmallRegion region = small_region(1);
  auto writer = steady_hand(region, 1);
  Editor<const Uninterrupted> editor(region, 2, kUninterrupted);
  writer.update(0, 5);
  // Another answer: neither counts.
  CHECK(editor.seed(stored(0, 100)) == SeedOutcome::contradicted);
  CHECK(find(region, 0) == HistoryEntry{{}, 100, Mark::none});
  CHECK(editor.seed(stored(0, 50)) == SeedOutcome::contradicted);
  CHECK(find(region, 0) == HistoryEntry{{}, 100, Mark::none});
  CHECK(editor.seed(stored(1, 100)) == SeedOutcome::taken);
  CHECK(find(region, 1) == entry_for(1, 100));
  // The same one: it counts as far as either.
  StoredEntry same = stored(1, 100);
  same.state = make_state(120, Room::any);
  CHECK(editor.seed(same) == SeedOutcome::known);
  CHECK(find(region, 1) == HistoryEntry{same.answer, 120, Mark::none});
  REQUIRE(writer.erase(0) == ChangeOutcome::done);
  CHECK(editor.seed(stored(0, 100)) == SeedOutcome::forgotten);
  CHECK(editor.seed(stored(2, 100)) == SeedOutcome::forgotten);
  CHECK_FALSE(find(region, 0));
  SECTION("a mark is an operator's word, and replaces an answer") {
    const StoredEntry mark{tag_of(key_number(1)), {}, make_state(0, Mark::blacklisted)};
    CHECK(editor.seed(mark) == SeedOutcome::taken);
    CHECK(find(region, 1) == marked_entry(Mark::blacklisted));
    CHECK(writer.update(1, 100) == UpdateOutcome::marked);
    StoredEntry other = mark;
    other.state = make_state(0, Mark::whitelisted);
    CHECK(editor.seed(other) == SeedOutcome::known);
    CHECK(editor.seed(stored(1, 200)) == SeedOutcome::known);
    REQUIRE(writer.set_mark(1, Mark::none) == ChangeOutcome::done);
    CHECK(writer.update(1, 99) == UpdateOutcome::older);
  }
}

TEST_CASE("a table that is full of its own entries evicts none for another's") {
  const SmallRegion region = small_region(1);
  auto writer = steady_hand(region, 1);
  for (std::uint64_t key = 0; key < kSlotsPerBucket; ++key)
    writer.update(key, key + 1);
  Editor<const Uninterrupted> editor(region, 2, kUninterrupted);
  CHECK(editor.seed(stored(20, 100)) == SeedOutcome::full);
  const SmallRegion narrow = small_region(4, 0.0);
  StoredEntry limited = stored(1, 5);
  limited.state = make_state(5, Room::limited);
  CHECK(Editor<const Uninterrupted>(narrow, 2, kUninterrupted).seed(limited) == SeedOutcome::full);
}

TEST_CASE("a process that is killed while it seeds leaves whole entries, and never newer ones") {
  constexpr std::uint64_t kKeys = 1500;
  constexpr Sigma kOwn = 1'000'000;
  std::uint64_t random = 11;
  std::uint64_t recoveries = 0;
  for (int round = 0; round < 300 && recoveries < 3; ++round) {
    HistoryTable table = seeded_table(HistoryTable::kBytesMin, 3);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      table.attach(5);
      for (std::uint64_t key = 0; key < kKeys; ++key)
        table.seed(stored(key, 1 + key));
      ::_exit(0);
    }
    for (int i = 0; i < 10'000 && table.stats().entries == 0; ++i)
      ::usleep(100);  // until it has begun
    std::map<std::uint64_t, Sigma> own;
    const Sigma end = kOwn + next_random(random) % 100;
    for (Sigma sigma = kOwn; sigma < end; ++sigma) {
      const std::uint64_t key = next_random(random) % kKeys;
      table.update(key_number(key), answer_for(key, sigma), sigma);
      own[key] = sigma;
    }
    ::kill(child, SIGKILL);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    table.declare_dead(5);
    recoveries += table.stats().recoveries;
    std::uint64_t found = 0;
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      const auto entry = table.lookup(key_number(key));
      if (!entry) continue;
      ++found;
      // What is imported and what it met contradict each other.
      const bool is_void = own.contains(key) && entry->answer == Sketch{};
      REQUIRE((is_void || is_genuine(key, *entry)));
      if (own.contains(key)) REQUIRE(entry->sigma == own[key]);
    }
    REQUIRE(table.stats().entries == found);
  }
  CHECK(recoveries > 0);
}

TEST_CASE("an export is read again as it was written, over several blocks") {
  const std::uint64_t count = GENERATE(0, 1, 3, kBlockItemsMax, 2 * kBlockItemsMax + 5);
  const UniqueFd file = empty_file();
  const auto totals = write_export(file.get(), count);
  REQUIRE(totals.has_value());
  CHECK(totals->entries == count);
  const auto read = read_export(file.get());
  REQUIRE(read.has_value());
  REQUIRE(read->size() == count);
  for (std::uint64_t i = 0; i < count; ++i)
    CHECK((*read)[i] == stored(i, i + 1));
}

TEST_CASE("an export with any bit changed is refused") {
  const UniqueFd file = empty_file();
  REQUIRE(write_export(file.get(), 3).has_value());
  std::string text = text_of(file.get());
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    CAPTURE(bit);
    const char mask = static_cast<char>(1U << bit % 8);
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
    CHECK(refusal_of(text).starts_with("the export is refused: "));
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
  }
  CHECK(refusal_of(text).empty());
}

TEST_CASE("an export that is cut anywhere, or has something behind it, is refused") {
  const UniqueFd file = empty_file();
  REQUIRE(write_export(file.get(), 3).has_value());
  const std::string text = text_of(file.get());
  for (std::size_t size = 0; size < text.size(); ++size) {
    CAPTURE(size);
    CHECK(refusal_of(text.substr(0, size)) ==
          (size < kExportHeaderBytes ? "the export is refused: it is none of a history"
                                     : "the export is refused: it is cut short"));
  }
  CHECK(refusal_of(text + 'x') == "the export is refused: there is something behind its end");
  CHECK(refusal_of(text + text) == "the export is refused: there is something behind its end");
}

TEST_CASE("an export with a block left out, repeated or of another export is refused") {
  const UniqueFd file = empty_file();
  REQUIRE(write_export(file.get(), 2 * kBlockItemsMax).has_value());
  const std::string text = text_of(file.get());
  const std::size_t header = kExportHeaderBytes + 32;
  const std::size_t block = kBlockHeadBytes + kBlockItemsMax * kEntryBytes + 32;
  const std::string first = text.substr(header, block);
  const std::string second = text.substr(header + block, block);
  const std::string end = text.substr(header + 2 * block);
  const std::string start = text.substr(0, header);
  REQUIRE(refusal_of(start + first + second + end).empty());
  const std::string damaged = "the export is refused: it is damaged, or was changed";
  CHECK(refusal_of(start + first + end) == damaged);
  CHECK(refusal_of(start + end) == damaged);
  CHECK(refusal_of(start + second + first + end) == damaged);
  CHECK(refusal_of(start + first + first + second + end) == damaged);
  CHECK(refusal_of(start + first + second + second + end) == damaged);
}

TEST_CASE("an export of another identity or secret is refused, and says why") {
  const UniqueFd file = empty_file();
  REQUIRE(write_export(file.get(), 3).has_value());
  const auto refusal = [&](const Identity& identity, const TransferKey& key = kKey) {
    const auto read = read_export(file.get(), key, identity);
    REQUIRE_FALSE(read.has_value());
    return read.error().message;
  };
  Identity other = kIdentity;
  other.digest = 0;
  CHECK(refusal(other) == "the export is refused: another digest");
  other = kIdentity;
  other.key[31] = 1;
  CHECK(refusal(other) == "the export is refused: another key_file");
  other = kIdentity;
  other.groups[0] = 9;
  CHECK(refusal(other) == "the export is refused: other groups");
  other = kIdentity;
  other.group_count = 3;
  CHECK(refusal(other) == "the export is refused: other groups");
  other = kIdentity;
  other.ownership_epoch = 4;
  CHECK(refusal(other) == "the export is refused: another ownership of keys");
  CHECK(refusal(kIdentity, {9}) == "the export is refused: it is damaged, or was changed");
}

TEST_CASE("an export with impossible parts is refused, whoever has signed it") {
  const auto refusal = [](const ExportHeader& header, const std::vector<StoredFloor>& floors) {
    const UniqueFd file = empty_file();
    ExportWriter writer(file.get(), kKey);
    REQUIRE(writer.begin(header).has_value());
    for (const StoredFloor& floor : floors)
      REQUIRE(writer.add(floor).has_value());
    REQUIRE(writer.finish().has_value());
    ExportReader reader(file.get(), kKey);
    if (const auto begun = reader.begin(kIdentity); !begun) return begun.error().message;
    const auto more = reader.next();
    return more ? "" : more.error().message;
  };
  const ExportHeader header{kIdentity, 1, 8};
  const std::string damaged = "the export is refused: it is damaged, or was changed";
  CHECK(refusal(header, {{1, 7, 5}}).empty());
  CHECK(refusal(header, {{2, 7, 5}}) == damaged);
  CHECK(refusal(header, {{1, 8, 5}}) == damaged);
  CHECK(refusal(header, {{1, 7, 0}}) == damaged);
  CHECK(refusal(header, {{1, 7, kSigmaMax + 1}}) == damaged);
  CHECK(refusal(header, {{1, 7, 5}, {1, 7, 6}}) == damaged);
  CHECK(refusal(header, {{1, 7, 5}, {0, 7, 6}}) == damaged);
  CHECK(refusal({kIdentity, 1, 0}, {}) == damaged);
  CHECK(refusal({kIdentity, 1, 12}, {}) == damaged);
}

TEST_CASE("a full disk, a limit and a file that cannot be read are errors") {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  REQUIRE(full);
  const auto refused = write_export(full.get(), 3);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message == "cannot write the export: No space left on device");
  const UniqueFd file = empty_file();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = write_export(file.get(), 100);
    ::_exit(!written && written.error().message == "cannot write the export: File too large" ? 7
                                                                                             : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 7));
  CHECK(read_export(full.get()).error().message == "cannot read the export: Bad file descriptor");
}

}  // namespace prophecy::table
