#include "pbft/storage/promise_database.hpp"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

using rocksdb::WALRecoveryMode;

// Our own entry, and the first byte of the caller's keys.
constexpr std::string_view kMarkKey = "m";
constexpr char kPromise = 'p';

// What matters comes back as a status; a log beside it would only grow.
class Silence final : public rocksdb::Logger {
 public:
  Silence() : Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
  using Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Slice slice(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
ByteView bytes_of(const rocksdb::Slice& slice) {
  return as_bytes({slice.data(), slice.size()});
}

// How a log is read whose last record is cut short, as every log is that a crash has ended:
//
//   kTolerateCorruptedTailRecords  drops the record, and reports a wrong checksum anywhere; but
//                                  goes on with the next log, over the hole
//   kPointInTimeRecovery           stops at the first record that is not right, whatever it is
//   kAbsoluteConsistency           calls it damage
//
// The third would make every crash a loss of the disk. The first finds damage, the second leaves
// no holes; open() asks both, and both have to come to the newest write whose mark lies on the
// disk.
rocksdb::Options options_for(WALRecoveryMode recovery) {
  constexpr std::size_t kMebibyte = 1024 * 1024;
  rocksdb::Options options;
  options.paranoid_checks = true;
  options.wal_recovery_mode = recovery;
  // A log that is written over an older one ends where the old one shines through: what is cut
  // short could not be told from what is damaged.
  options.recycle_log_file_num = 0;

  // Small and flat: a promise is erased some hundred writes later, so that most never leave memory,
  // and nothing is read but at the start.
  options.write_buffer_size = 8 * kMebibyte;
  options.max_write_buffer_number = 2;
  options.max_total_wal_size = 32 * kMebibyte;
  options.target_file_size_base = 8 * kMebibyte;
  options.max_bytes_for_level_base = 32 * kMebibyte;
  options.max_background_jobs = 1;
  options.max_open_files = 64;
  options.max_manifest_file_size = kMebibyte;
  options.manifest_preallocation_size = 64 * 1024;
  // newest_mark() looks for marks in plain bytes.
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(8 * kMebibyte);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

  options.info_log = std::make_shared<Silence>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.max_bgerror_resume_count = 0;  // fail-stop: a disk that was full is an operator's matter
  return options;
}

Error damaged(const std::filesystem::path& folder, const std::string& what) {
  return {ErrorKind::damaged, folder.string() + ": " + what};
}

// What the system refuses (no permission, no space) says nothing about the store. All else does: a
// file that is not there, a checksum, a file that makes no sense, a sector that cannot be read. Of
// an error RocksDB tells but the text.
Error error_of(const std::filesystem::path& folder, const rocksdb::Status& status) {
  std::string text = status.ToString();
  const bool is_unreadable = text.find(std::strerror(EIO)) != std::string::npos;
  const bool refused = status.IsIOError() && !status.IsPathNotFound() && !is_unreadable;
  for (char& character : text) {
    if (character == '\n') character = ' ';
  }
  return {refused || status.IsNoSpace() ? ErrorKind::io : ErrorKind::damaged,
          folder.string() + ": " + text};
}

rocksdb::ReadOptions checked_reading() {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  return options;
}

Result<std::uint64_t> read_mark(rocksdb::DB& database, const std::filesystem::path& folder,
                                const MarkSecret& secret) {
  std::string value;
  const auto status = database.Get(checked_reading(), slice(as_bytes(kMarkKey)), &value);
  if (!status.ok()) return error_of(folder, status);
  const auto mark = decode_mark(secret, as_bytes(value));
  if (!mark) return damaged(folder, "the mark of the last write is not one of this store");
  return *mark;
}

// The newest write as one way of recovery sees it, with nothing changed on the disk.
Result<std::uint64_t> last_write_seen(const std::filesystem::path& folder, const MarkSecret& secret,
                                      WALRecoveryMode recovery) {
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::OpenForReadOnly(options_for(recovery), folder.string(), &opened);
  const std::unique_ptr<rocksdb::DB> database(opened);
  if (!status.ok()) return error_of(folder, status);
  return read_mark(*database, folder, secret);
}

// The number of the last write, when nothing is missing.
Result<std::uint64_t> check_whole(const std::filesystem::path& folder, const MarkSecret& secret) {
  auto newest = newest_mark(folder, secret);
  if (!newest) return newest;
  for (const auto recovery :
       {WALRecoveryMode::kTolerateCorruptedTailRecords, WALRecoveryMode::kPointInTimeRecovery}) {
    auto seen = last_write_seen(folder, secret, recovery);
    if (!seen) return seen;
    if (*seen != *newest) {
      return damaged(folder, "write " + std::to_string(*newest) + " was completed, but only " +
                                 std::to_string(*seen) + " can be read");
    }
  }
  return newest;
}

}  // namespace

struct PromiseDatabase::Handle {
  std::filesystem::path folder;
  MarkSecret secret;
  std::unique_ptr<rocksdb::DB> database;
  std::uint64_t writes = 0;

  Result<> write(rocksdb::WriteBatch& batch, SyncPolicy sync) {
    batch.Put(slice(as_bytes(kMarkKey)), slice(encode_mark(secret, ++writes)));
    rocksdb::WriteOptions options;
    options.sync = sync == SyncPolicy::always;
    const auto status = database->Write(options, &batch);
    if (!status.ok()) return Error{ErrorKind::io, folder.string() + ": " + status.ToString()};
    return {};
  }
};

PromiseDatabase::PromiseDatabase(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
PromiseDatabase::PromiseDatabase(PromiseDatabase&&) noexcept = default;
PromiseDatabase::~PromiseDatabase() = default;

Result<> PromiseDatabase::make(const std::filesystem::path& folder, const MarkSecret& secret) {
  auto options = options_for(WALRecoveryMode::kPointInTimeRecovery);
  options.create_if_missing = true;
  options.error_if_exists = true;
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::Open(options, folder.string(), &opened);
  Handle handle{folder, secret, std::unique_ptr<rocksdb::DB>(opened)};
  if (!status.ok()) return Error{ErrorKind::io, folder.string() + ": " + status.ToString()};
  rocksdb::WriteBatch batch;
  return handle.write(batch, SyncPolicy::always);
}

Result<PromiseDatabase> PromiseDatabase::open(const std::filesystem::path& folder,
                                              const MarkSecret& secret) {
  const auto whole = check_whole(folder, secret);
  if (!whole) return whole.error();
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::Open(options_for(WALRecoveryMode::kPointInTimeRecovery),
                                        folder.string(), &opened);
  auto handle = std::make_unique<Handle>();
  handle->database.reset(opened);
  if (!status.ok()) return error_of(folder, status);
  const auto last = read_mark(*opened, folder, secret);
  if (!last) return last.error();
  if (*last != *whole) return damaged(folder, "it changed while it was opened");
  handle->folder = folder;
  handle->secret = secret;
  handle->writes = *last;
  return PromiseDatabase(std::move(handle));
}

Result<> PromiseDatabase::load(const Visit& visit) const {
  const std::unique_ptr<rocksdb::Iterator> entry(handle_->database->NewIterator(checked_reading()));
  for (entry->Seek(rocksdb::Slice(&kPromise, 1)); entry->Valid(); entry->Next()) {
    const ByteView key = bytes_of(entry->key());
    if (key.front() != static_cast<std::uint8_t>(kPromise)) break;
    visit(key.subspan(1), bytes_of(entry->value()));
  }
  if (!entry->status().ok()) return error_of(handle_->folder, entry->status());
  return {};
}

Result<> PromiseDatabase::write(std::span<const std::vector<DurableWrite>> commits,
                                SyncPolicy sync) {
  rocksdb::WriteBatch batch;
  std::string key;
  for (const auto& writes : commits) {
    for (const DurableWrite& write : writes) {
      key.assign(1, kPromise);
      key += as_text(write.key);
      if (write.value) {
        batch.Put(key, slice(*write.value));
      } else {
        batch.Delete(key);
      }
    }
  }
  return handle_->write(batch, sync);
}

}  // namespace prophecy::pbft
