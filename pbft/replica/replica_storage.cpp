#include "pbft/replica/replica_storage.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/assert.hpp"
#include "base/codec.hpp"
#include "pbft/core/state/journal.hpp"

namespace prophecy::pbft {
namespace {

// The shell's own record, in front of all of the core's: this store was empty when its replica
// began, and nothing was forgotten.
const Bytes kInitialisedKey{0x00};

// Likewise: the highest number of a group file that this store was opened with.
const Bytes kGroupNumberKey{0x01};

DurableWrite group_number(std::uint64_t number) {
  Bytes value;
  Writer(value).integer(number);
  return {kGroupNumberKey, std::make_shared<const Bytes>(std::move(value))};
}

std::uint64_t milliseconds_since_1970() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

StoreIdentity identity_of(const ReplicaIdentity& identity) {
  return {identity.group.id, identity.group.founded, identity.config.id};
}

}  // namespace

Result<> ReplicaStorage::init(const ReplicaIdentity& identity) {
  if (!identity.config.storage) {
    return Error{ErrorKind::invalid, "the configuration has no [storage] that could be made"};
  }
  boost::asio::io_context io(1);
  auto store = Store::open(*identity.config.storage, identity_of(identity), io.get_executor());
  if (!store) return store.error();
  if (!(*store)->fresh()) {
    return Error{ErrorKind::invalid, identity.config.storage->folder.string() +
                                         ": there is a store already; it was left as it is"};
  }
  Result<> made;
  (*store)->commit(
      {{kInitialisedKey, std::make_shared<const Bytes>()}, group_number(identity.group.number)},
      [&](Result<> outcome) { made = std::move(outcome); });
  io.run();
  return made;
}

Result<std::unique_ptr<ReplicaStorage>> ReplicaStorage::open(boost::asio::io_context& io,
                                                             const ReplicaIdentity& identity,
                                                             Logger& log) {
  std::unique_ptr<ReplicaStorage> storage(new ReplicaStorage(io));
  storage->start_.wall_clock = milliseconds_since_1970();
  storage->start_.memory = ReplicaStart::Memory::not_kept;
  if (!identity.config.storage) return storage;
  const StoreSettings& settings = *identity.config.storage;
  const auto open_all = [&]() -> Result<> {
    if (auto opened = storage->open_store(settings, identity); !opened) return opened;
    auto parts = open_part_store(settings, io.get_executor());
    if (!parts) return parts.error();
    storage->file_parts_ = std::move(*parts);
    return {};
  };
  auto opened = open_all();
  if (!opened && opened.error().kind == ErrorKind::damaged) {
    storage->store_.reset();
    const auto aside = set_aside(settings.folder);
    if (!aside) return aside.error();
    log.warning("store-damaged", {{"folder", settings.folder.string()},
                                  {"reason", opened.error().message},
                                  {"set_aside", aside->string()}});
    opened = open_all();
  }
  if (!opened) return opened.error();
  if (storage->start_.memory == ReplicaStart::Memory::lost) {
    log.warning("memory-lost", {{"folder", settings.folder.string()},
                                {"consequence",
                                 "rejoins the group as one that has forgotten what "
                                 "it said, and votes again behind a checkpoint"}});
  }
  return storage;
}

Result<> ReplicaStorage::open_store(const StoreSettings& settings,
                                    const ReplicaIdentity& identity) {
  auto store = Store::open(settings, identity_of(identity), io_.get_executor());
  if (!store) return store.error();
  store_ = std::move(*store);
  if (auto read = read_records(identity.keys.replicas()); !read) return read;
  const std::uint64_t number = identity.group.number;
  if (number < group_number_) {
    return Error{ErrorKind::invalid, settings.folder.string() + ": was opened with number " +
                                         std::to_string(group_number_) +
                                         " of the group file; number " + std::to_string(number) +
                                         " may list keys that were replaced"};
  }
  // Before all that is sent, which waits for later writes.
  if (number > group_number_) store_->commit({group_number(number)}, [](const Result<>&) {});
  return {};
}

Result<> ReplicaStorage::read_records(std::uint32_t replicas) {
  StoredRecords records;
  bool initialised = false;
  auto loaded = store_->load([&](ByteView key, ByteView value) {
    if (to_bytes(as_text(key)) == kInitialisedKey) {
      initialised = true;
    } else if (to_bytes(as_text(key)) == kGroupNumberKey) {
      group_number_ = Reader(value).integer<std::uint64_t>();
    } else {
      records.emplace_back(to_bytes(as_text(key)), to_bytes(as_text(value)));
    }
  });
  if (!loaded) return loaded.error();
  if (!read_journal(records, replicas)) {
    return Error{ErrorKind::damaged, "the store holds what is no journal of a replica"};
  }
  const bool is_whole = initialised || !records.empty();
  start_.memory = is_whole ? ReplicaStart::Memory::whole : ReplicaStart::Memory::lost;
  start_.records = std::move(records);
  return {};
}

ReplicaStart ReplicaStorage::take_start() {
  return std::move(start_);
}

PartStore& ReplicaStorage::parts() {
  if (file_parts_) return *file_parts_;
  return memory_parts_;
}

void ReplicaStorage::commit(std::vector<DurableWrite> writes, Store::Done done) {
  ASSERT(store_ != nullptr);
  store_->commit(std::move(writes), std::move(done));
}

void ReplicaStorage::make_durable(const Digest& root, FilePartStore::Done done) {
  if (file_parts_) return file_parts_->make_durable(root, std::move(done));
  boost::asio::post(io_, [done = std::move(done)] { done(true); });
}

void ReplicaStorage::flush_parts(FilePartStore::Done done) {
  if (file_parts_) return file_parts_->flush(std::move(done));
  boost::asio::post(io_, [done = std::move(done)] { done(true); });
}

void ReplicaStorage::sweep() {
  if (file_parts_) return file_parts_->sweep();
  memory_parts_.sweep();
}

void ReplicaStorage::end_event() {
  if (!file_parts_ || is_removing_ || file_parts_->forgotten() == removable_) return;
  is_removing_ = true;
  // Behind all commits before it.
  store_->commit({}, [this, forgotten = file_parts_->forgotten()](const Result<>& outcome) {
    is_removing_ = false;
    removable_ = forgotten;
    if (outcome) file_parts_->remove_up_to(forgotten);
  });
}

std::optional<ReplicaStorage::Counters> ReplicaStorage::counters() const {
  if (!store_) return std::nullopt;
  return Counters{store_->counters(), file_parts_->counters(), file_parts_->parts(),
                  file_parts_->bytes_in_memory()};
}

}  // namespace prophecy::pbft
