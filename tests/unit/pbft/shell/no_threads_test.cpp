// What becomes of an agent's parts where the system has no thread to give.
#include "no_threads.hpp"

#include "base/io/thread.hpp"
#include "folder_place.hpp"
#include "pbft/services/write_in_flight.hpp"
#include "pbft/storage/part_folder.hpp"
#include "pbft/storage/store.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace prophecy::pbft::test {
namespace {

template <class Outcome>
void check_refused(const Outcome& outcome) {
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().kind == ErrorKind::unavailable);
  CHECK_THAT(outcome.error().message, Catch::StartsWith("no thread can be started: ") &&
                                          Catch::Contains("TasksMax") && !Catch::Contains("\n"));
}

#if defined(__SANITIZE_ADDRESS__)
using LeaksOfRocksDb = __lsan::ScopedDisabler;
#else
struct LeaksOfRocksDb {
  LeaksOfRocksDb() {}
};
#endif

}  // namespace

TEST_CASE("A thread that is not to be had is an error, and may be had later") {
  bool has_run = false;
  std::thread thread;
  {
    const NoThreads limit;
    check_refused(start_thread(thread, [&] { has_run = true; }));
  }
  CHECK_FALSE(has_run);
  REQUIRE(start_thread(thread, [&] { has_run = true; }).has_value());
  thread.join();
  CHECK(has_run);
}

TEST_CASE("A snapshot or restore without a thread fails, and the next one has it") {
  Place place;
  place.write("page", "content");
  MapPartStore parts;
  {
    const NoThreads limit;
    check_refused(place.keeper->open());
    check_refused(place.snapshot(parts));
    check_refused(place.restore(parts, Digest{}));
  }
  const auto root = place.snapshot(parts);
  REQUIRE(root.has_value());
  CHECK(place.restore(parts, *root).has_value());
}

TEST_CASE("No store is opened, nor taken for a damaged one, where threads are not to be had") {
  TemporaryFolder folder;
  boost::asio::io_context io{1};
  const StoreSettings settings{folder.path() / "store", SyncPolicy::os};
  const auto open = [&] { return Store::open(settings, {{}, {}, 1}, io.get_executor()); };
  const bool is_there = GENERATE(false, true);
  if (is_there) REQUIRE(open().has_value());
  {
    // Debian's RocksDB 7.8 forgets what it has made of a database, where its own thread is not to
    // be had.
    const LeaksOfRocksDb excused;
    const NoThreads limit;
    check_refused(open());
    fs::create_directory(folder.path() / "other");
    check_refused(open_part_store({folder.path() / "other", SyncPolicy::os}, io.get_executor()));
  }
  const auto store = open();
  REQUIRE(store.has_value());
  CHECK((*store)->fresh() != is_there);
}

TEST_CASE("No write is sent without a thread that records it") {
  TemporaryFolder folder;
  boost::asio::io_context io{1};
  const NoThreads limit;
  WriteInFlight in_flight(io);
  check_refused(in_flight.open(folder.path() / "write-in-flight"));
}

}  // namespace prophecy::pbft::test
