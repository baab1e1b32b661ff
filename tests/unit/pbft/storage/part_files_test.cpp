// A part store on files that refuse, stall and cannot be read.
#include <map>
#include <optional>
#include <set>

#include <catch2/catch.hpp>

#include "pbft/storage/file_part_store.hpp"

namespace prophecy::pbft::test {
namespace {

struct Desk {
  std::map<Digest, Bytes> files;
  std::set<Digest> unsynced;
  std::optional<Digest> unreadable;
  bool syncs = true;
  bool writes = true;
  std::size_t synced = 0;  // times
  std::function<void()> work;
  std::function<void()> done;
};

class Files final : public PartFiles {
 public:
  explicit Files(Desk& desk) : desk_(desk) {}
  [[nodiscard]] Result<std::vector<Digest>> list() override {
    std::vector<Digest> names;
    for (const auto& [name, content] : desk_.files)
      names.push_back(name);
    return names;
  }
  [[nodiscard]] Result<Bytes> read(const Digest& name) const override {
    if (desk_.unreadable == name) return Error{ErrorKind::io, "unreadable"};
    const auto file = desk_.files.find(name);
    if (file == desk_.files.end()) return Error{ErrorKind::damaged, "no such file"};
    return file->second;
  }
  [[nodiscard]] bool write(const Digest& name, ByteView content) override {
    if (!desk_.writes) return false;
    desk_.files[name] = Bytes(content.begin(), content.end());
    desk_.unsynced.insert(name);
    if (desk_.unreadable == name) desk_.unreadable.reset();  // it lies elsewhere
    return true;
  }
  void remove(const Digest& name) override { desk_.files.erase(name); }
  [[nodiscard]] bool sync() override {
    ++desk_.synced;
    if (desk_.syncs) desk_.unsynced.clear();
    return std::exchange(desk_.syncs, true);  // an error is told once
  }
  [[nodiscard]] bool has_room(std::uint64_t) const override { return true; }

 private:
  Desk& desk_;
};

// Works when it is told to.
class Writer final : public PartWriter {
 public:
  explicit Writer(Desk& desk) : desk_(desk) {}
  void run(std::function<void()> work, std::function<void()> done) override {
    REQUIRE(!desk_.work);
    desk_.work = std::move(work);
    desk_.done = std::move(done);
  }

 private:
  Desk& desk_;
};

struct Subject {
  Subject() { reopen(); }
  void reopen() {
    desk.work = nullptr;
    store = *FilePartStore::open(std::make_unique<Files>(desk), std::make_unique<Writer>(desk),
                                 SyncPolicy::always);
  }
  // A file system that has the new names, and not what lies there.
  void lose_power() {
    for (const Digest& name : std::exchange(desk.unsynced, {}))
      desk.files[name].clear();
    reopen();
  }
  Digest keep(const std::string& payload, const std::vector<Digest>& children = {}) const {
    const Bytes part = encode_part(children, as_bytes(payload));
    REQUIRE(store->keep(sha256(part), part));
    return sha256(part);
  }
  // One piece of work; false when none is under way.
  bool work() {
    if (!desk.work) return false;
    std::exchange(desk.work, nullptr)();
    std::exchange(desk.done, nullptr)();
    return true;
  }
  FilePartStore::Done note(std::optional<bool>& answer) const {
    return [&answer](bool done) { answer = done; };
  }

  Desk desk;
  std::unique_ptr<FilePartStore> store;
};

TEST_CASE("A part that cannot be read is missing, and lies there again once it is kept") {
  Subject subject;
  const Digest leaf = subject.keep("leaf");
  const Digest root = subject.keep("root", {leaf});
  std::optional<bool> durable;
  REQUIRE(subject.store->pin(root));
  subject.store->make_durable(root, subject.note(durable));
  REQUIRE(subject.work());
  REQUIRE(durable == true);
  subject.desk.unreadable = leaf;
  CHECK_FALSE(subject.store->read(leaf).has_value());
  CHECK_FALSE(subject.store->holds(leaf));
  CHECK(subject.store->counters().refused == 1);
  CHECK(subject.store->losses() == 1);
  // It is lost once, however often it is asked for.
  CHECK_FALSE(subject.store->read(leaf).has_value());
  CHECK(subject.store->counters().refused == 2);
  CHECK(subject.store->losses() == 1);
  SECTION("of itself") {
    subject.desk.unreadable.reset();
    CHECK(subject.store->read(leaf).has_value());
    CHECK(subject.store->holds(leaf));
    subject.desk.unreadable = leaf;
    CHECK_FALSE(subject.store->read(leaf).has_value());
    CHECK(subject.store->losses() == 2);
  }
  SECTION("by what others send") {
    subject.keep("leaf");
    CHECK(subject.store->read(leaf).has_value());
    subject.store->make_durable(root, subject.note(durable));
    REQUIRE(subject.work());
    CHECK(durable == true);
    subject.reopen();
    CHECK(subject.store->read(leaf).has_value());
  }
}

TEST_CASE("What another root has in memory is written for the sake of one that is to last") {
  Subject subject;
  const Digest leaf = subject.keep("leaf");
  REQUIRE(subject.store->pin(subject.keep("a state, not flushed yet", {leaf})));
  const Digest body = subject.keep("body", {leaf});
  REQUIRE(subject.store->pin(body));
  std::optional<bool> durable;
  subject.store->make_durable(body, subject.note(durable));
  REQUIRE(subject.work());
  CHECK(durable == true);
  CHECK(subject.desk.files.contains(leaf));
  CHECK(subject.desk.files.size() == 2);
}

TEST_CASE("What is asked for while the disk is busy waits for the next piece of work") {
  Subject subject;
  const Digest first = subject.keep("first");
  REQUIRE(subject.store->pin(first));
  std::optional<bool> flushed;
  subject.store->flush(subject.note(flushed));
  const Digest second = subject.keep("second");
  REQUIRE(subject.store->pin(second));
  std::optional<bool> durable;
  subject.store->make_durable(second, subject.note(durable));
  const Bytes much = encode_part({}, as_bytes("much"));
  REQUIRE(subject.store->keep_written(sha256(much), much));
  REQUIRE(subject.work());
  CHECK(flushed == true);
  CHECK_FALSE(durable.has_value());
  CHECK(subject.desk.files.size() == 1);
  REQUIRE(subject.work());
  CHECK(durable == true);
  CHECK(subject.desk.files.size() == 3);
  CHECK(subject.desk.synced == 2);
  CHECK_FALSE(subject.work());
}

TEST_CASE("While the disk stalls no more than so much waits to be written") {
  Subject subject;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const Bytes part = encode_part({}, as_bytes(std::to_string(i) + std::string(200'000, 'x')));
    if (subject.store->keep_written(sha256(part), part)) ++kept;
  }
  CHECK(subject.store->bytes_in_memory() <= kLeavingBytesMax);
  CHECK(kept == kLeavingBytesMax / 200'010);
  while (subject.work()) {
  }
  CHECK(subject.store->bytes_in_memory() == 0);
  const Bytes part = encode_part({}, as_bytes("later"));
  CHECK(subject.store->keep_written(sha256(part), part));
}

TEST_CASE("After a sync that failed nothing lasts any more, whatever the next one says") {
  Subject subject;
  const Digest body = subject.keep("body");
  REQUIRE(subject.store->pin(body));
  subject.desk.syncs = false;
  std::optional<bool> answer;
  subject.store->make_durable(body, subject.note(answer));
  REQUIRE(subject.work());
  CHECK(answer == false);
  subject.store->make_durable(body, subject.note(answer));
  REQUIRE(subject.work());
  CHECK(answer == false);
  subject.store->flush(subject.note(answer));
  REQUIRE(subject.work());
  CHECK(answer == false);
}

TEST_CASE("A body that nobody wants any more is not written") {
  Subject subject;
  const Digest busy = subject.keep("busy");
  REQUIRE(subject.store->pin(busy));
  std::optional<bool> flushed;
  std::optional<bool> durable;
  subject.store->flush(subject.note(flushed));
  const Digest body = subject.keep("body");
  REQUIRE(subject.store->pin(body));
  subject.store->make_durable(body, subject.note(durable));
  subject.store->unpin(body);
  while (subject.work()) {
  }
  CHECK(durable.has_value());
  CHECK(subject.desk.files.size() == 1);
}

// A part on the disk, and pinned.
Digest keep_on_disk(Subject& subject, const std::string& payload) {
  const Digest part = subject.keep(payload);
  std::optional<bool> flushed;
  REQUIRE(subject.store->pin(part));
  subject.store->flush(subject.note(flushed));
  REQUIRE(subject.work());
  REQUIRE(flushed == true);
  REQUIRE(subject.desk.files.contains(part));
  return part;
}

TEST_CASE("A file stays until the record is off the disk that names its part") {
  Subject subject;
  const Digest part = keep_on_disk(subject, "part");
  const Digest later = keep_on_disk(subject, "forgotten later");
  subject.store->unpin(part);
  CHECK_FALSE(subject.store->holds(part));
  CHECK_FALSE(subject.work());
  CHECK(subject.desk.files.contains(part));
  const std::uint64_t forgotten = subject.store->forgotten();
  subject.store->unpin(later);
  SECTION("which comes with a commit of its own") {
    subject.store->remove_up_to(forgotten);
    CHECK(subject.desk.files.contains(part));  // the disk's thread does it
    REQUIRE(subject.work());
    CHECK_FALSE(subject.desk.files.contains(part));
    CHECK(subject.desk.files.contains(later));
    CHECK(subject.store->counters().removed == 1);
    subject.store->remove_up_to(subject.store->forgotten());
    REQUIRE(subject.work());
    CHECK(subject.desk.files.empty());
  }
  SECTION("and the process ends before") {
    subject.reopen();
    CHECK(subject.store->pin(part));
  }
}

TEST_CASE("A record that still names a part finds it, though it was kept again and power is lost") {
  Subject subject;
  const Digest part = keep_on_disk(subject, "part");
  subject.store->unpin(part);
  // The record that forgets it is not on the disk yet.
  std::optional<bool> flushed;
  if (GENERATE(false, true)) {
    subject.keep("part");
    REQUIRE(subject.store->pin(part));
    subject.store->flush(subject.note(flushed));
  } else {
    const Bytes written = encode_part({}, as_bytes("part"));
    REQUIRE(subject.store->keep_written(part, written));
  }
  if (subject.desk.work) {
    // All is written, and nothing is synced: so far a power cut lets a piece of work come.
    subject.desk.syncs = false;
    std::exchange(subject.desk.work, nullptr)();
  }
  subject.lose_power();
  CHECK(subject.store->pin(part));
}

TEST_CASE("A file that an earlier process may have left damaged is written anew") {
  Subject subject;
  const Digest part = keep_on_disk(subject, "part");
  subject.desk.files[part].clear();
  subject.reopen();
  subject.store->sweep();  // no record names it
  subject.keep("part");
  REQUIRE(subject.store->pin(part));
  std::optional<bool> flushed;
  subject.store->flush(subject.note(flushed));
  REQUIRE(subject.work());
  CHECK(flushed == true);
  subject.reopen();
  CHECK(subject.store->pin(part));
}

TEST_CASE("A part that is kept again has its file, whenever the earlier one was to go") {
  Subject subject;
  const Digest part = keep_on_disk(subject, "part");
  subject.store->unpin(part);
  const std::uint64_t forgotten = subject.store->forgotten();
  const bool is_removed_first = GENERATE(false, true);
  if (is_removed_first) subject.store->remove_up_to(forgotten);
  subject.keep("part");
  REQUIRE(subject.store->pin(part));
  subject.store->remove_up_to(forgotten);
  std::optional<bool> durable;
  subject.store->make_durable(part, subject.note(durable));
  while (subject.work()) {
  }
  CHECK(durable == true);
  CHECK(subject.desk.files.contains(part));
  subject.store->unpin(part);
  subject.store->remove_up_to(subject.store->forgotten());
  while (subject.work()) {
  }
  CHECK(subject.desk.files.empty());
}

TEST_CASE("An earlier file of a part goes with it, though the part has not been written since") {
  Subject subject;
  const Digest part = keep_on_disk(subject, "part");
  subject.store->unpin(part);
  subject.keep("part");
  if (GENERATE(false, true)) {
    std::optional<bool> flushed;
    REQUIRE(subject.store->pin(part));
    subject.store->flush(subject.note(flushed));
    subject.desk.writes = false;
    subject.store->unpin(part);
    while (subject.work()) {
    }
  } else {
    subject.store->discard(part);
  }
  subject.store->remove_up_to(subject.store->forgotten());
  while (subject.work()) {
  }
  CHECK(subject.desk.files.empty());
}

TEST_CASE("Who fills a store waits while more than it holds in memory is to be written") {
  Subject subject;
  const auto keep = [&](std::size_t i) {
    const Bytes part = encode_part({}, as_bytes(std::to_string(i) + std::string(200'000, 'x')));
    return subject.store->keep(sha256(part), part);
  };
  std::size_t kept = 0;
  while (!subject.store->has_backlog() && keep(kept))
    ++kept;
  REQUIRE(subject.store->has_backlog());
  CHECK(subject.store->bytes_in_memory() > kUnwrittenBytesMax);
  CHECK(subject.desk.files.empty());
  bool is_over = false;
  subject.store->after_backlog([&] { is_over = true; });
  CHECK_FALSE(is_over);
  SECTION("until it is") {
    REQUIRE(subject.work());
    CHECK(is_over);
    CHECK(subject.store->bytes_in_memory() == 0);
    CHECK(subject.desk.files.size() == kept);
  }
  SECTION("who does not wait has a bound as well") {
    while (keep(kept))
      ++kept;
    CHECK(subject.store->bytes_in_memory() <= kMemoryBytesMax);
    CHECK(subject.store->counters().refused == 1);
  }
  SECTION("but not for a disk that refuses it") {
    subject.desk.writes = false;
    REQUIRE(subject.work());
    CHECK(is_over);
    CHECK_FALSE(subject.store->has_backlog());
    CHECK(keep(kept));  // which is tried again
    subject.desk.writes = true;
    REQUIRE(subject.work());
    CHECK(subject.desk.files.size() == kept + 1);
  }
}

TEST_CASE("Parts that nobody has pinned yet make room in memory for others") {
  Subject subject;
  const auto part = [](std::size_t i) {
    return encode_part({}, as_bytes(std::to_string(i) + std::string(200'000, 'x')));
  };
  const auto keep_written = [&](std::size_t i) {
    return subject.store->keep_written(sha256(part(i)), part(i));
  };
  // Of bodies whose last parts do not come.
  std::size_t kept = 0;
  for (; subject.store->bytes_in_memory() + part(kept).size() <= kUnwrittenBytesMax; ++kept)
    REQUIRE(subject.store->keep(sha256(part(kept)), part(kept)));
  REQUIRE_FALSE(subject.work());
  CHECK_FALSE(keep_written(kept));
  REQUIRE(subject.work());
  CHECK(subject.desk.files.size() == kept);
  CHECK(keep_written(kept));
}

}  // namespace
}  // namespace prophecy::pbft::test
