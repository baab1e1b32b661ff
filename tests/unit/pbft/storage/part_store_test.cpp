// Part stores: what is shared, what goes, what is damaged. The rules are the same in memory and on
// the disk.
#include <csignal>
#include <fstream>
#include <optional>
#include <random>
#include <set>

#include <catch2/catch.hpp>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pbft/core/state/memory_part_store.hpp"
#include "pbft/storage/part_folder.hpp"
#include "support/event_loop.hpp"
#include "support/temporary_folder.hpp"

namespace prophecy::pbft::test {
namespace {

namespace fs = std::filesystem;
using prophecy::test::TemporaryFolder;

class OnDisk {
 public:
  explicit OnDisk(SyncPolicy sync = SyncPolicy::always) : sync_(sync) { reopen(); }
  FilePartStore* operator->() { return store_.get(); }
  FilePartStore& operator*() { return *store_; }
  void reopen() {
    store_.reset();
    auto opened = open_part_store({folder_.path(), sync_}, io_.get_executor());
    REQUIRE(opened.has_value());
    store_ = std::move(*opened);
  }
  // Whether the disk took it.
  bool flush() {
    return after([this](const FilePartStore::Done& done) { store_->flush(done); });
  }
  bool make_durable(const Digest& root) {
    return after([&](const FilePartStore::Done& done) { store_->make_durable(root, done); });
  }
  void settle() {
    io_.restart();
    io_.run();
  }
  // The records that named what was forgotten are off the disk.
  void remove_forgotten() {
    store_->remove_up_to(store_->forgotten());
    settle();
  }
  boost::asio::io_context& io() { return io_; }
  [[nodiscard]] fs::path file_of(const Digest& digest) const {
    const std::string name = to_hex(digest);
    return folder_.path() / "parts" / name.substr(0, 2) / name.substr(2);
  }
  // Regular files below the folder.
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      count += entry.is_regular_file() ? 1 : 0;
    return count;
  }
  [[nodiscard]] const fs::path& folder() const { return folder_.path(); }

 private:
  template <typename Request>
  bool after(const Request& request) {
    std::optional<bool> answer;
    request([&](bool done) { answer = done; });
    settle();
    REQUIRE(answer.has_value());
    return *answer;
  }

  TemporaryFolder folder_;
  boost::asio::io_context io_;
  SyncPolicy sync_;
  std::unique_ptr<FilePartStore> store_;
};

class InMemory {
 public:
  MemoryPartStore* operator->() { return &store_; }
  MemoryPartStore& operator*() { return store_; }

 private:
  MemoryPartStore store_;
};

Digest keep(PartStore& store, const std::string& payload,
            const std::vector<Digest>& children = {}) {
  const Bytes part = encode_part(children, as_bytes(payload));
  const Digest digest = sha256(part);
  REQUIRE(store.keep(digest, part));
  REQUIRE(store.holds(digest));
  return digest;
}

std::string payload_of(const PartStore& store, const Digest& digest) {
  const auto bytes = store.read(digest);
  if (!bytes) return "nothing";
  const auto part = decode_part(*bytes);
  REQUIRE(part.has_value());
  return std::string(as_text(part->payload));
}

// A chain of parts, the last of which is the root.
Digest chain(PartStore& store, std::uint32_t height, const std::string& name) {
  Digest digest = keep(store, name);
  for (std::uint32_t i = 1; i < height; ++i)
    digest = keep(store, name + std::to_string(i), {digest});
  return digest;
}

TEMPLATE_TEST_CASE("Parts are read as they were kept", "", InMemory, OnDisk) {
  TestType store;
  const Digest leaf = keep(*store, "leaf");
  const Digest root = keep(*store, "root", {leaf, leaf});
  CHECK(keep(*store, "leaf") == leaf);
  CHECK(store->parts() == 2);
  CHECK(payload_of(*store, leaf) == "leaf");
  CHECK(payload_of(*store, root) == "root");
  const Digest absent = sha256(as_bytes("absent"));
  CHECK_FALSE(store->holds(absent));
  CHECK_FALSE(store->read(absent).has_value());
  CHECK_FALSE(store->pin(absent));
  const std::string largest(kPartBytesMax - 2, 'x');
  CHECK(payload_of(*store, keep(*store, largest)) == largest);
}

TEST_CASE("What is too much for memory is written as soon as it is kept") {
  OnDisk store;
  const Bytes part = encode_part({}, as_bytes("much"));
  REQUIRE(store->keep_written(sha256(part), part));
  CHECK(payload_of(*store, sha256(part)) == "much");
  store.settle();
  CHECK(store->bytes_in_memory() == 0);
  CHECK(store->counters().written == 1);
  CHECK(payload_of(*store, sha256(part)) == "much");
  store->discard(sha256(part));
  CHECK(store->parts() == 0);
}

TEMPLATE_TEST_CASE("What two roots share goes with the last of them", "", InMemory, OnDisk) {
  TestType store;
  const Digest shared_leaf = keep(*store, "shared leaf");
  const Digest shared = keep(*store, "shared", {shared_leaf, shared_leaf});
  const Digest own = keep(*store, "own");
  const Digest first = keep(*store, "first", {shared, own});
  const Digest second = keep(*store, "second", {shared, shared_leaf});
  const Digest third = keep(*store, "third", {second});  // a root below another root
  REQUIRE(store->pin(first));
  REQUIRE(store->pin(second));
  REQUIRE(store->pin(second));
  REQUIRE(store->pin(third));
  store->sweep();
  CHECK(store->parts() == 6);

  store->unpin(first);
  CHECK_FALSE(store->holds(first));
  CHECK_FALSE(store->holds(own));
  CHECK(payload_of(*store, shared) == "shared");
  store->unpin(second);
  store->unpin(second);
  CHECK(store->parts() == 4);
  CHECK(payload_of(*store, second) == "second");
  SECTION("by its own root") {
    store->unpin(third);
    CHECK(store->parts() == 0);
  }
  SECTION("unless it is pinned itself") {
    REQUIRE(store->pin(shared));
    store->unpin(third);
    CHECK(store->parts() == 2);
    CHECK(payload_of(*store, shared_leaf) == "shared leaf");
    store->unpin(shared);
    CHECK(store->parts() == 0);
  }
}

TEMPLATE_TEST_CASE("A sweep removes what no root leads to", "", InMemory, OnDisk) {
  TestType store;
  const Digest leaf = keep(*store, "leaf");
  const Digest root = keep(*store, "root", {leaf});
  REQUIRE(store->pin(root));
  const Digest left = keep(*store, "left", {leaf});
  CHECK(store->parts() == 3);
  store->sweep();
  CHECK_FALSE(store->holds(left));
  CHECK_FALSE(store->read(left).has_value());
  CHECK(payload_of(*store, leaf) == "leaf");
  CHECK(store->parts() == 2);
}

TEMPLATE_TEST_CASE("A root to which a part is missing is not pinned, and leaves nothing", "",
                   InMemory, OnDisk) {
  TestType store;
  const Digest shared = keep(*store, "shared");
  const Digest other = keep(*store, "other", {shared});
  REQUIRE(store->pin(other));
  const Digest leaf = keep(*store, "leaf");
  const Digest left = keep(*store, "left", {leaf, shared, leaf});
  const Bytes late = encode_part({}, as_bytes("late"));
  const Digest root = keep(*store, "root", {shared, left, sha256(late), other});
  CHECK_FALSE(store->pin(root));
  CHECK_FALSE(store->pin(root));
  CHECK(store->parts() == 5);

  SECTION("what it shares with another has its old references") {
    store->unpin(other);
    CHECK_FALSE(store->holds(other));
    CHECK_FALSE(store->holds(shared));
    store->sweep();
    CHECK(store->parts() == 0);
  }
  SECTION("it can be pinned when the part has come") {
    REQUIRE(store->keep(sha256(late), late));
    REQUIRE(store->pin(root));
    store->unpin(other);
    store->sweep();
    CHECK(store->parts() == 6);
    store->unpin(root);
    CHECK(store->parts() == 0);
  }
}

TEMPLATE_TEST_CASE("The height of a tree is bounded, however it is reached", "", InMemory, OnDisk) {
  TestType store;
  const Digest highest = chain(*store, kPartHeightMax, "a");
  CHECK_FALSE(store->pin(keep(*store, "higher", {highest})));
  REQUIRE(store->pin(highest));
  CHECK_FALSE(store->pin(keep(*store, "higher", {highest})));
  const Digest walked = keep(*store, "walked");
  CHECK_FALSE(store->pin(keep(*store, "higher", {walked, highest})));
  store->unpin(highest);
  store->sweep();
  CHECK(store->parts() == 0);
  CHECK_FALSE(store->pin(chain(*store, kPartHeightMax + 1000, "b")));
}

TEST_CASE("A tree of few parts and many places is walked once for each part") {
  // 4096 places a part, each of which names the part below: 4096^50 paths lead to the last.
  MemoryPartStore store;
  Digest digest = keep(store, "leaf");
  for (int i = 1; i < 50; ++i)
    digest = keep(store, std::to_string(i), std::vector<Digest>(kPartChildrenMax, digest));
  REQUIRE(store.pin(digest));
  store.sweep();
  CHECK(store.parts() == 50);
  CHECK(store.bytes() > 49 * kPartChildrenMax * sizeof(Digest));
  store.unpin(digest);
  CHECK(store.parts() == 0);
  CHECK(store.bytes() == 0);
}

TEST_CASE("What was kept but is no part is not pinned") {
  MemoryPartStore store;
  const Bytes bytes{0xff, 0xff, 0x00};
  REQUIRE(store.keep(sha256(bytes), bytes));
  CHECK_FALSE(store.pin(sha256(bytes)));
  CHECK_FALSE(store.pin(keep(store, "root", {sha256(bytes)})));
}

TEST_CASE("Any order of pins of random trees leaves what a walk from the roots finds") {
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    MemoryPartStore store;
    std::map<Digest, std::vector<Digest>> children;
    std::vector<Digest> all;
    for (int i = 0; i < 40; ++i) {
      std::vector<Digest> below;
      for (int child = static_cast<int>(random() % 4); child > 0 && !all.empty(); --child)
        below.push_back(all[random() % all.size()]);
      const Digest digest = keep(store, std::to_string(i), below);
      all.push_back(digest);
      children[digest] = below;
    }
    std::multiset<Digest> pinned;
    for (int step = 0; step < 100; ++step) {
      const Digest& digest = all[random() % all.size()];
      if (random() % 2 == 0) {
        if (store.pin(digest)) pinned.insert(digest);
      } else if (pinned.contains(digest)) {
        pinned.erase(pinned.find(digest));
        store.unpin(digest);
      }
      if (step % 10 == 0) store.sweep();
      std::set<Digest> reached;
      std::vector<Digest> open(pinned.begin(), pinned.end());
      while (!open.empty()) {
        const Digest next = open.back();
        open.pop_back();
        if (!reached.insert(next).second) continue;
        open.insert(open.end(), children[next].begin(), children[next].end());
      }
      for (const Digest& digest_reached : reached)
        REQUIRE(store.holds(digest_reached));
      if (step % 10 == 0) REQUIRE(store.parts() == reached.size());
    }
  }
}

TEST_CASE("Parts lie there when the store is opened again, and are swept unless pinned") {
  OnDisk store;
  const Digest leaf = keep(*store, "leaf");
  const Digest root = keep(*store, "root", {leaf});
  const Digest other = keep(*store, "other");
  REQUIRE(store->pin(root));
  REQUIRE(store->pin(other));
  CHECK(store.files() == 0);
  REQUIRE(store.flush());
  CHECK(store->bytes_in_memory() == 0);
  // What a process that was killed leaves, and what is none of ours.
  std::ofstream(store.file_of(leaf).string() + ".new") << "half";
  std::ofstream(store.folder() / "parts" / "readme") << "mine";
  store.reopen();
  CHECK_FALSE(fs::exists(store.file_of(leaf).string() + ".new"));
  CHECK(store->parts() == 3);
  REQUIRE(store->pin(root));
  store->sweep();
  CHECK(store->parts() == 2);
  CHECK_FALSE(store->holds(other));
  CHECK(payload_of(*store, leaf) == "leaf");
  store.remove_forgotten();
  CHECK(store.files() == 3);
  store->unpin(root);
  store.remove_forgotten();
  CHECK(store.files() == 1);
  CHECK(store->counters().removed == 3);
}

TEST_CASE("What a vote depends on is put on the disk without a flush of all else") {
  OnDisk store;
  const Digest leaf = keep(*store, "leaf");
  const Digest root = keep(*store, "root", {leaf});
  keep(*store, "another, of which nobody knows what it is for");
  REQUIRE(store->pin(root));
  REQUIRE(store.make_durable(root));
  CHECK(store.files() == 2);
  store.reopen();
  REQUIRE(store->pin(root));
  REQUIRE(store.make_durable(root));
  CHECK(payload_of(*store, leaf) == "leaf");
}

TEST_CASE("A damaged file is no part, and can be kept again") {
  OnDisk store;
  const Digest leaf = keep(*store, "leaf");
  const Digest root = keep(*store, "root", {leaf});
  const fs::path file = store.file_of(leaf);
  const auto harm = GENERATE(0, 1, 2, 3, 4);
  REQUIRE(store->pin(root));
  REQUIRE(store.flush());
  if (harm == 0) std::ofstream(file) << "";
  if (harm == 1) std::ofstream(file, std::ios::app) << "x";
  if (harm == 2) std::ofstream(file) << std::string(2 * kPartBytesMax, 'x');
  if (harm == 3) fs::remove(file);
  if (harm == 4) {
    fs::remove(file);
    fs::create_directories(file / "inside");
  }
  CHECK_FALSE(store->read(leaf).has_value());
  CHECK_FALSE(store->holds(leaf));
  CHECK(store->counters().damaged == 1);
  CHECK(store->losses() == 1);
  CHECK_FALSE(fs::exists(file));
  CHECK(keep(*store, "leaf") == leaf);
  CHECK(payload_of(*store, leaf) == "leaf");
  // It still is the root's.
  store->sweep();
  CHECK(store->holds(leaf));
  store->unpin(root);
  store.remove_forgotten();
  CHECK(store.files() == 0);
}

TEST_CASE("A damaged part is found when its root is pinned") {
  OnDisk store;
  const Digest leaf = keep(*store, "leaf");
  const Digest root = keep(*store, "root", {leaf});
  REQUIRE(store->pin(root));
  REQUIRE(store.flush());
  store.reopen();
  std::ofstream(store.file_of(leaf)) << "x";
  CHECK_FALSE(store->pin(root));
  CHECK(store->counters().damaged == 1);
  keep(*store, "leaf");
  CHECK(store->pin(root));
}

TEST_CASE("A leaf that was kept here is not read again to go") {
  OnDisk store;
  const Digest leaf = keep(*store, "leaf");
  const Digest root = keep(*store, "root", {leaf});
  REQUIRE(store->pin(root));
  REQUIRE(store.flush());
  std::ofstream(store.file_of(leaf)) << "";
  store->unpin(root);
  store.remove_forgotten();
  CHECK(store.files() == 0);
  CHECK(store->counters().removed == 2);
  CHECK(store->counters().damaged == 0);  // nobody has looked
}

TEST_CASE("A disk that refuses fails a flush, and leaves nothing half-written") {
  // The store's thread is there from its beginning, and would not be in a child that is made later.
  const pid_t child = ::fork();
  if (child == 0) {
    bool as_expected = false;
    {
      OnDisk store;
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{1000, 1000};
      const Digest small = keep(*store, "small");
      const Digest large = keep(*store, std::string(5000, 'x'));
      as_expected = ::setrlimit(RLIMIT_FSIZE, &limit) == 0 && store->pin(small) && store.flush() &&
                    store->pin(large) && !store.flush() && store->counters().refused == 1 &&
                    store->read(large).has_value() && !store.flush() && store.files() == 1;
    }
    ::_exit(as_expected ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

// A file system of its own, with a little more than what bodies leave free. False where that is not
// allowed.
bool mount_small_disk(const fs::path& folder) {
  const std::string options = "size=" + std::to_string(kFreeBytesMin + 3 * kPartBytesMax);
  return ::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", folder.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

TEST_CASE("Bodies leave room on the disk for what a replica promises") {
  constexpr int kNotAllowed = 2;
  TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!mount_small_disk(folder.path())) ::_exit(kNotAllowed);
    boost::asio::io_context io;
    auto store = open_part_store({folder.path(), SyncPolicy::os}, io.get_executor());
    if (!store) ::_exit(1);
    const auto is_durable = [&](const Digest& root) {
      bool durable = false;
      if (!(*store)->pin(root)) return false;
      (*store)->make_durable(root, [&](bool done) { durable = done; });
      io.restart();
      io.run();
      return durable;
    };
    const auto part = [](int number) {
      return encode_part({}, as_bytes(std::to_string(number) + std::string(100'000, 'x')));
    };
    int written = 0;
    while (written < 100 && (*store)->keep_written(sha256(part(written)), part(written))) {
      ++written;
      io.restart();
      io.run();
    }
    const Bytes small = part(100);
    const bool as_expected = written > 0 && written < 100 && (*store)->keep(sha256(small), small) &&
                             !is_durable(sha256(small)) &&   // it would have to be written
                             is_durable(sha256(part(0))) &&  // it lies there
                             (*store)->keep_written(sha256(part(0)), part(0)) &&
                             fs::space(folder.path()).available >= kFreeBytesMin;
    ::_exit(as_expected ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotAllowed) {
    WARN("no file system can be mounted here");
    return;
  }
  CHECK(status == 0);
}

TEST_CASE("What is not pinned any more never reaches the disk") {
  OnDisk store(GENERATE(SyncPolicy::always, SyncPolicy::os));
  const Digest stays = keep(*store, "stays");
  const Digest goes = keep(*store, "goes");
  const Digest unpinned = keep(*store, "unpinned");
  REQUIRE(store->pin(stays));
  REQUIRE(store->pin(goes));
  store->unpin(goes);
  REQUIRE(store.flush());
  CHECK(store.files() == 1);
  CHECK(fs::exists(store.file_of(stays)));
  CHECK(store->holds(unpinned));
  CHECK(store->counters().written == 1);
  REQUIRE(store.flush());
  CHECK(store->counters().written == 1);
}

TEST_CASE("What is unpinned while it is written goes behind the flush, unless it is kept again") {
  OnDisk store;
  const Digest goes = keep(*store, "goes");
  const Digest comes_back = keep(*store, "comes back");
  REQUIRE(store->pin(goes));
  REQUIRE(store->pin(comes_back));
  std::optional<bool> flushed;
  store->flush([&](bool done) { flushed = done; });
  store->unpin(goes);
  store->unpin(comes_back);
  CHECK_FALSE(store->holds(goes));
  keep(*store, "comes back");
  REQUIRE(store->pin(comes_back));
  store.io().run();
  CHECK(flushed == true);
  store.remove_forgotten();
  CHECK_FALSE(fs::exists(store.file_of(goes)));
  CHECK(payload_of(*store, comes_back) == "comes back");
  REQUIRE(store.flush());
  store.reopen();
  CHECK(store->parts() == 1);
  CHECK(payload_of(*store, comes_back) == "comes back");
}

TEST_CASE("Memory is bounded: what is kept beyond is written by the disk's thread") {
  OnDisk store;
  const std::string large(kPartBytesMax - 100, 'x');
  const std::size_t count = kUnwrittenBytesMax / kPartBytesMax + 4;
  for (std::size_t i = 0; i < count; ++i)
    keep(*store, std::to_string(i) + large);
  store.settle();
  CHECK(store->bytes_in_memory() <= kUnwrittenBytesMax);
  CHECK(store.files() >= 3);
  CHECK(store->parts() == count);
  store->sweep();
  CHECK(store->bytes_in_memory() == 0);
  store.remove_forgotten();
  CHECK(store.files() == 0);
}

}  // namespace
}  // namespace prophecy::pbft::test
