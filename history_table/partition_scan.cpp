#include "history_table/partition_scan.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy {

// Another one may have been killed while it held the table still.
PartitionScan::PartitionScan(HistoryTable& table) : table_(table) {
  table_.hold_still(false);
}

PartitionScan::~PartitionScan() {
  table_.hold_still(false);
}

void PartitionScan::erase(const Set& partitions, std::uint64_t ticket) {
  if (partitions.none()) return done_.push_back(ticket);
  // Before the first bucket is visited.
  if (erasures_.empty()) table_.hold_still(true);
  erasures_.push_back({partitions, ticket, visits_ + table_.bucket_count()});
  erased_ |= partitions;
}

std::optional<std::uint64_t> PartitionScan::take_erased() {
  if (done_.empty()) return std::nullopt;
  const std::uint64_t ticket = done_.front();
  done_.pop_front();
  return ticket;
}

void PartitionScan::note_erasures() {
  erased_.reset();
  for (const Erasure& erasure : erasures_)
    erased_ |= erasure.partitions;
}

void PartitionScan::list(Partition partition) {
  const auto [list, is_new] = lists_.try_emplace(partition);
  if (!is_new) return;
  list->second.end = visits_ + table_.bucket_count();
  listings_.push_back({partition, list->second.end});
  listing_.set(partition);
}

bool PartitionScan::is_listed(Partition partition) const {
  return lists_.contains(partition) && !listing_.test(partition);
}

void PartitionScan::drop_list(Partition partition) {
  lists_.erase(partition);
  listing_.reset(partition);
}

std::uint64_t PartitionScan::read(Partition partition, std::uint64_t cursor, std::size_t wanted,
                                  std::vector<table::StoredEntry>& entries) const {
  ASSERT(is_listed(partition));
  const std::vector<std::uint64_t>& buckets = lists_.at(partition).buckets;
  for (; cursor < buckets.size() && entries.size() < wanted; ++cursor) {
    const auto bucket = table_.bucket_entries(buckets[cursor]);
    if (!bucket) continue;
    for (std::size_t i = 0; i < bucket->count; ++i) {
      const table::StoredEntry& entry = bucket->entries[i];
      if (partition_of(entry.tag) == partition) entries.push_back(entry);
    }
  }
  return cursor < buckets.size() ? cursor : 0;
}

void PartitionScan::step(std::uint64_t buckets) {
  for (std::uint64_t i = 0; i < buckets && !is_idle(); ++i) {
    if (!visit(visits_ % table_.bucket_count())) return;
    ++visits_;
    finish_lists();
    finish_erasures();
  }
}

// False: another writer holds it. It is visited again.
bool PartitionScan::visit(std::uint64_t bucket) {
  if (listing_.any()) {
    const auto found = table_.bucket_entries(bucket);
    for (std::size_t i = 0; found && i < found->count; ++i) {
      const Partition partition = partition_of(found->entries[i].tag);
      if (!listing_.test(partition)) continue;
      std::vector<std::uint64_t>& list = lists_.at(partition).buckets;
      if (list.empty() || list.back() != bucket) list.push_back(bucket);
    }
  }
  return erased_.none() || table_.erase_in_bucket(bucket, erased_) == ChangeOutcome::done;
}

void PartitionScan::finish_lists() {
  for (; !listings_.empty() && listings_.front().end == visits_; listings_.pop_front()) {
    const Listing& listing = listings_.front();
    const auto list = lists_.find(listing.partition);
    const bool is_its = list != lists_.end() && list->second.end == listing.end;
    if (is_its) listing_.reset(listing.partition);
  }
}

void PartitionScan::finish_erasures() {
  if (erasures_.empty() || erasures_.front().end != visits_) return;
  for (; !erasures_.empty() && erasures_.front().end == visits_; erasures_.pop_front())
    done_.push_back(erasures_.front().ticket);
  note_erasures();
  if (erasures_.empty()) table_.hold_still(false);
}

}  // namespace prophecy
