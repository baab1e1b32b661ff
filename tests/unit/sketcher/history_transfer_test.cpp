// Exports and imports of a sketcher's history: what an import promises whom it serves.
#include "sketcher/history/history_transfer.hpp"

#include <numeric>

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "sketcher/installation/table_identity.hpp"

namespace prophecy::sketcher {
namespace {

Sketch sketch_number(std::uint64_t number) {
  Sketch sketch{};
  for (std::size_t i = 0; i < sketch.size(); ++i)
    sketch[i] = static_cast<std::uint8_t>((number + 1) * 0x9e3779b97f4a7c15ULL >> i * 3);
  return sketch;
}

// One with a group that has an order, and one that has none.
struct SmallSketcher {
  explicit SmallSketcher(std::uint64_t seed, std::size_t bytes = HistoryTable::kBytesMin)
      : table(std::move(*HistoryTable::create(bytes, seed, BlockStore::kBytesMin,
                                              HistoryTable::kLimitedShare, 2))),
        shared(*SharedState::map({.workers = 1, .groups = 2, .routes = 1}, table.companion())) {
    table.attach(3);
    table.set_floor_seed(99);
    installation.settings.groups.resize(2);
    installation.settings.groups[0].kind = GroupKind::pbft;
    installation.settings.groups[1].kind = GroupKind::vote;
    installation.table_identity = {.digest = 1, .key = {2}, .groups = {3}};
    installation.transfer_key = {4};
  }
  [[nodiscard]] GroupNumbers& numbers(std::uint32_t group) const {
    return *shared.group(group).numbers;
  }
  // As a read of the group with an order does it.
  UpdateOutcome read(std::uint64_t key, std::uint64_t answer, Sigma sigma) {
    SigmaOrder& order = numbers(0).order;
    return table.update(sketch_number(key), sketch_number(answer),
                        order.place(order.submit(), sigma).sigma);
  }
  UpdateOutcome vote(std::uint64_t key, std::uint64_t answer) {
    replica_client::SigmaCounter& votes = numbers(1).votes;
    const Sigma asked = votes.newest();
    return table.update_unordered(sketch_number(key), sketch_number(answer), asked, votes.next());
  }
  [[nodiscard]] std::optional<Sketch> answer(std::uint64_t key) const {
    const auto entry = table.lookup(sketch_number(key));
    return entry ? std::optional(entry->answer) : std::nullopt;
  }

  Installation installation;
  HistoryTable table;
  SharedState shared;
};

const IsWanted kAlways = [] { return true; };

UniqueFd export_of(const SmallSketcher& sketcher) {
  UniqueFd file(::memfd_create("export", MFD_CLOEXEC));
  REQUIRE(file);
  const auto done = export_history(file.get(), sketcher.installation, sketcher.table, 77, kAlways);
  REQUIRE(done.has_value());
  CHECK(done->buckets_skipped == 0);
  return file;
}

Result<ImportReport> try_to_import(SmallSketcher& sketcher, const UniqueFd& file,
                                   const ImportOptions& options = {},
                                   const IsWanted& is_wanted = kAlways) {
  return import_history(file.get(), options, sketcher.installation, sketcher.table, sketcher.shared,
                        is_wanted);
}

ImportReport import_into(SmallSketcher& sketcher, const UniqueFd& file,
                         const ImportOptions& options = {}) {
  const auto done = try_to_import(sketcher, file, options);
  REQUIRE(done.has_value());
  CHECK(done->made_at == 77);
  CHECK(done->entries == done->taken + done->known + done->contradicted + done->forgotten +
                             done->full + (options.takes_marks ? 0 : done->marks));
  return *done;
}

}  // namespace

TEST_CASE("A new sketcher knows what the other one knew, and takes newer answers of any group") {
  SmallSketcher from(1);
  for (std::uint64_t key = 0; key < 100; ++key)
    from.read(key, 1000 + key, 5000 + key);
  for (std::uint64_t key = 100; key < 120; ++key)
    from.vote(key, 1000 + key);
  const UniqueFd file = export_of(from);
  SmallSketcher to(2);
  CHECK(import_into(to, file).taken == 120);
  for (std::uint64_t key = 0; key < 120; ++key)
    CHECK(to.answer(key) == sketch_number(1000 + key));
  // The group may have begun anew since.
  CHECK(to.read(3, 7, 1) == UpdateOutcome::replaced);
  CHECK(to.vote(110, 8) == UpdateOutcome::replaced);
  CHECK(to.read(500, 9, 2) == UpdateOutcome::inserted);
  CHECK(to.answer(3) == sketch_number(7));
  CHECK(to.answer(110) == sketch_number(8));
}

TEST_CASE(
    "Of what a sketcher knows, an import leaves what it confirms; forgotten stays forgotten") {
  SmallSketcher from(1);
  for (std::uint64_t key = 0; key < 10; ++key)
    from.read(key, 1000 + key, 5000 + key);
  const UniqueFd file = export_of(from);
  SmallSketcher to(2);
  to.read(0, 2000, 3);  // a smaller number, of a later history for all that is known
  to.read(1, 2001, 4);
  REQUIRE(to.table.erase(sketch_number(1)) == ChangeOutcome::done);
  const ImportReport report = import_into(to, file);
  CHECK(report.contradicted == 1);
  CHECK(report.forgotten >= 1);
  CHECK(to.answer(0) == Sketch{});
  CHECK_FALSE(to.answer(1));
  // What was agreed under the old numbers, and was on its way, does not go in front of it.
  CHECK(import_into(to, file).taken == 0);
  CHECK(to.read(0, 2002, 5) == UpdateOutcome::replaced);
}

TEST_CASE("What was under way while an import came does not count as newer") {
  SmallSketcher from(1);
  from.read(0, 1000, 5000);
  from.vote(1, 1001);
  const UniqueFd file = export_of(from);
  SmallSketcher to(2);
  SigmaOrder& order = to.numbers(0).order;
  replica_client::SigmaCounter& votes = to.numbers(1).votes;
  while (votes.next() < 9000) {
  }
  const auto submitted = order.submit();
  const Sigma asked = votes.newest();
  CHECK(import_into(to, file).taken == 2);
  CHECK(order.place(submitted, 5001).doubtful);
  CHECK(to.table.update_unordered(sketch_number(1), sketch_number(5), asked, votes.next()) ==
        UpdateOutcome::unordered);
  CHECK(to.answer(1) == Sketch{});
}

// What `key` has for a read of the URI, as far as no write has made it out of date.
bool counts(const SmallSketcher& sketcher, std::uint64_t key, std::string_view uri) {
  const WriteFloors floors = sketcher.table.floors(0);
  const auto entry = sketcher.table.lookup(sketch_number(key));
  REQUIRE(entry);
  return floors.admit(entry, floors.slot_of("host", uri)).has_value();
}

TEST_CASE("What was out of date is so where it is imported, and what was written there stays so") {
  const std::size_t from_bytes = GENERATE(1, 4) * HistoryTable::kBytesMin;
  const std::size_t to_bytes = GENERATE(1, 2, 16, 2048) * HistoryTable::kBytesMin;
  SmallSketcher from(1, from_bytes);
  SmallSketcher to(2, to_bytes);
  REQUIRE((from_bytes == to_bytes) ==
          (from.table.floors(0).words().size() == to.table.floors(0).words().size()));
  const auto make_out_of_date = [](const SmallSketcher& sketcher, std::string_view uri) {
    const WriteFloors floors = sketcher.table.floors(0);
    floors.raise(floors.slot_of("host", uri), sketcher.numbers(0).order.newest());
  };
  from.read(0, 1000, 5000);
  make_out_of_date(from, "/written-there");
  from.read(1, 1001, 5001);
  from.read(2, 1002, 5002);
  // By an answer's Location the write may be the first that its group hears of.
  if (GENERATE(true, false)) to.read(3, 1003, 10);
  make_out_of_date(to, "/written-here");
  // As many as the sketcher with fewer of them has for its URI.
  const double raised = import_into(to, export_of(from)).floors_raised;
  CHECK(raised > 0);
  CHECK(raised == to.table.floors_raised());
  CHECK_FALSE(counts(to, 0, "/written-there"));
  CHECK(counts(to, 1, "/written-there"));
  CHECK_FALSE(counts(to, 2, "/written-here"));
  CHECK(counts(to, 2, "/neither"));
  to.read(0, 1004, 20);
  CHECK(counts(to, 0, "/written-there"));
  CHECK(counts(to, 0, "/written-here"));
  // A write of the old numbering that is answered only now covers all that was imported.
  make_out_of_date(to, "/written-now");
  CHECK_FALSE(counts(to, 2, "/written-now"));
}

TEST_CASE("What a sketcher knew before an import counts only as far as the import confirms it") {
  SmallSketcher from(1);
  from.read(0, 1000, 5000);
  from.read(1, 1001, 5001);
  from.read(2, 0, 5002);
  REQUIRE(from.table.erase(sketch_number(2)) == ChangeOutcome::done);
  SmallSketcher to(2);
  to.read(0, 1000, 10);
  to.read(1, 2001, 11);  // older than what clients have of the other one
  to.read(2, 2002, 12);
  to.vote(3, 2003);
  const ImportReport report = import_into(to, export_of(from));
  CHECK(report.known == 1);
  CHECK(report.contradicted == 1);
  CHECK(counts(to, 0, "/any"));
  CHECK(to.answer(1) == Sketch{});
  CHECK_FALSE(counts(to, 2, "/any"));
  CHECK_FALSE(counts(to, 3, "/any"));
  // What it agrees on from now on does. And what does not count is in no export of its own.
  to.read(2, 3002, 13);
  CHECK(counts(to, 2, "/any"));
  SmallSketcher third(3);
  CHECK(import_into(third, export_of(to)).taken == 2);
  CHECK(third.answer(0) == sketch_number(1000));
  CHECK(third.answer(2) == sketch_number(3002));
}

TEST_CASE("What the group numbers while an import begins counts no more, however far it jumps") {
  SmallSketcher from(1);
  from.read(0, 1000, 5000);
  SmallSketcher to(2);
  SigmaOrder& order = to.numbers(0).order;
  const auto submitted = order.submit();
  import_into(to, export_of(from));
  CHECK(order.place(submitted, Sigma{1} << 50).doubtful);
  // A vote that was asked for before the import finds its floor, whatever it is about.
  CHECK(to.table.floors(1).at(0) > 1);
}

TEST_CASE("Marks are an operator's word here, and imported only where he says so") {
  SmallSketcher from(1);
  from.read(0, 1000, 5000);
  REQUIRE(from.table.set_mark(sketch_number(1), Mark::whitelisted) == ChangeOutcome::done);
  const UniqueFd file = export_of(from);
  SmallSketcher to(2);
  const ImportReport without = import_into(to, file);
  CHECK(without.marks == 1);
  CHECK(without.taken == 1);
  CHECK_FALSE(to.table.lookup(sketch_number(1)));
  CHECK(import_into(to, file, {.takes_marks = true}).taken == 1);
  CHECK(to.table.lookup(sketch_number(1))->mark == Mark::whitelisted);
}

TEST_CASE("An export that is too old is refused, and one that is not is named before it is taken") {
  SmallSketcher from(1);
  from.read(0, 1000, 5000);
  const UniqueFd file = export_of(from);
  SmallSketcher to(2);
  ImportOptions options{.made_after = 77};
  const auto refused = try_to_import(to, file, options);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message == "the export is refused: it was made at 77, not after 77");
  CHECK(to.table.stats().entries == 0);
  CHECK(to.numbers(0).order.newest() == 0);
  options.made_after = 76;
  bool was_asked = false;
  options.on_checked = [&](std::uint64_t made_at, std::uint64_t entries) {
    was_asked = true;
    CHECK(made_at == 77);
    CHECK(entries == 1);
    CHECK(to.table.stats().entries == 0);
    CHECK(to.numbers(0).order.newest() == 0);
  };
  CHECK(import_into(to, file, options).taken == 1);
  CHECK(was_asked);
}

// The content of the one becomes that of the other.
void overwrite(const UniqueFd& file, const UniqueFd& other, off_t from = 0) {
  const off_t size = ::lseek(other.get(), 0, SEEK_END);
  Bytes content(static_cast<std::size_t>(size - from));
  REQUIRE(::pread(other.get(), content.data(), content.size(), from) == size - from);
  REQUIRE(::pwrite(file.get(), content.data(), content.size(), from) == size - from);
  REQUIRE(::ftruncate(file.get(), size) == 0);
}

TEST_CASE("An export that is replaced between the looks at it is noticed") {
  constexpr std::uint64_t kEntries = 6000;  // more than a block has
  constexpr std::size_t kBytes = 16 * HistoryTable::kBytesMin;
  SmallSketcher from(1, kBytes);
  SmallSketcher other(1, kBytes);
  for (std::uint64_t key = 0; key < kEntries; ++key) {
    from.read(key, 1000 + key, 5000 + key);
    other.read(key, 9000 + key, 5000 + key);
  }
  const UniqueFd file = export_of(from);
  const UniqueFd another = export_of(other);
  SmallSketcher to(2, kBytes);
  ImportOptions options;
  SECTION("by another one that is right as well") {
    options.on_checked = [&](std::uint64_t, std::uint64_t) { overwrite(file, another); };
    const auto done = try_to_import(to, file, options);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().message ==
          "the export was changed meanwhile; 0 entries had been taken already");
    CHECK(to.table.stats().entries == 0);
  }
  SECTION("in its second block") {
    options.on_checked = [&](std::uint64_t, std::uint64_t) { overwrite(file, another, 200'000); };
    const auto done = try_to_import(to, file, options);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().message ==
          "the export is refused: it is damaged, or was changed; 4096 entries had been taken "
          "already");
    CHECK(to.table.stats().entries == 4096);
  }
}

TEST_CASE("Two sketchers seed each other as often as they like") {
  SmallSketcher one(1);
  SmallSketcher other(2);
  const Sigma group_at = Sigma{1} << 44;  // after years
  SmallSketcher* from = &one;
  SmallSketcher* to = &other;
  for (std::uint64_t round = 0; round < 200; ++round) {
    from->read(round % 50, round, group_at + round);
    const ImportReport report = import_into(*to, export_of(*from));
    CHECK(report.forgotten + report.full == 0);
    CHECK(to->answer(round % 50) == (round < 50 ? sketch_number(round) : Sketch{}));
    to->read(round % 50, round, group_at + round);
    CHECK(counts(*to, round % 50, "/any"));
    std::swap(from, to);
  }
  CHECK(one.numbers(0).order.newest() < kSigmaMax / 1024);
  CHECK(other.numbers(0).order.newest() < kSigmaMax / 1024);
}

TEST_CASE("An import of what is not right changes nothing") {
  SmallSketcher from(1);
  for (std::uint64_t key = 0; key < 10; ++key)
    from.read(key, 1000 + key, 5000 + key);
  const UniqueFd file = export_of(from);
  SmallSketcher to(2);
  const auto refusal = [&] {
    const auto done = try_to_import(to, file);
    REQUIRE_FALSE(done.has_value());
    CHECK(to.table.stats().entries == 0);
    CHECK(to.numbers(0).order.newest() == 0);
    CHECK(to.numbers(1).votes.newest() == 0);
    return done.error().message;
  };
  SECTION("groups") {
    to.installation.table_identity.groups = {9};
    CHECK(refusal() == "the export is refused: other groups");
  }
  SECTION("the last byte") {
    const off_t end = ::lseek(file.get(), 0, SEEK_END);
    char last = 0;
    REQUIRE(::pread(file.get(), &last, 1, end - 1) == 1);
    last ^= 1;
    REQUIRE(::pwrite(file.get(), &last, 1, end - 1) == 1);
    CHECK(refusal() == "the export is refused: it is damaged, or was changed");
  }
  SECTION("numbers without room behind them") {
    to.numbers(0).order.begin_beyond(kSigmaMax / 4);
    const auto done = try_to_import(to, file);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().message == "the groups' numbers are used up");
    CHECK(to.table.stats().entries == 0);
  }
  SECTION("nobody waits for it") {
    const auto done = try_to_import(to, file, {}, [] { return false; });
    CHECK(done.error().message == "nobody waits for it any more");
    CHECK(to.table.stats().entries == 0);
  }
}

TEST_CASE("An export goes into an empty file and no other") {
  const SmallSketcher from(1);
  UniqueFd file(::memfd_create("export", MFD_CLOEXEC));
  REQUIRE(::write(file.get(), "x", 1) == 1);
  const auto done = export_history(file.get(), from.installation, from.table, 77, kAlways);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().message == "the file is not empty");
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  CHECK(export_history(writing.get(), from.installation, from.table, 77, kAlways).error().message ==
        "not a regular file");
}

TEST_CASE("The example of docs/history-table.md is an export") {
  sketch::Secret secret;
  std::iota(secret.begin(), secret.end(), std::uint8_t{0});
  const std::string zeros(128, '0');
  const std::string hex =
      "50726f7068656379206578706f72740a0200000000000000" + zeros +
      "00000000000000000100000000000000"
      "0100000008000000"
      "6efabf76471e25f9ceb6c750e3d34f57bee7df75a2588db7e627b80c21e34c4f"
      "01000000010000000102030405060708090aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
      "1400000000000000"
      "b290150d71897385cbc468c50fc1bd01808bbf540172c9827120dc17283ba31e"
      "030000000100000001000000000000000500000000000000"
      "13de1b2edd8fc39a8b2dbf8f1f0fb7e8d43ff4721c5e44b1b5cc6246235d2eda";
  Bytes expected(hex.size() / 2);
  REQUIRE(from_hex(hex, expected));
  const UniqueFd file(::memfd_create("export", MFD_CLOEXEC));
  table::ExportWriter writer(file.get(), transfer_key(secret));
  REQUIRE(writer.begin({{.group_count = 1}, 1, 8}).has_value());
  Sketch answer;
  answer.fill(0xaa);
  const table::Tag tag{0x04030201, 0x0605, 0x0a090807};
  REQUIRE(writer.add({tag, answer, table::make_state(5, Room::any)}).has_value());
  REQUIRE(writer.finish().has_value());
  Bytes written(expected.size() + 1);
  REQUIRE(::pread(file.get(), written.data(), written.size(), 0) ==
          static_cast<ssize_t>(expected.size()));
  written.pop_back();
  CHECK(to_hex(written) == to_hex(expected));
}

}  // namespace prophecy::sketcher
