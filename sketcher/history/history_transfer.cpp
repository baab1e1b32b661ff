#include "sketcher/history/history_transfer.hpp"

#include <algorithm>

#include <sys/stat.h>

#include "history_table/transfer/export_reader.hpp"

namespace prophecy::sketcher {
namespace {

// Buckets between two looks whether anybody waits for it.
constexpr std::uint64_t kBucketsAtOnce = 4096;
// What an import numbers at most: else those that two sketchers make of each other's exports would
// double the numbers each time, and use them up.
constexpr Sigma kImportedMax = Sigma{1} << 40;
// A writer that was scheduled away has gone on by then.
constexpr int kLooksMax = 1000;
// What a group may number while the others are told to begin anew.
constexpr Sigma kNumbersMeanwhile = Sigma{1} << 20;
constexpr int kNumberingAttemptsMax = 16;

Result<std::uint64_t> size_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return io_error("cannot examine the file");
  if (!S_ISREG(status.st_mode)) return Error{ErrorKind::invalid, "not a regular file"};
  return static_cast<std::uint64_t>(status.st_size);
}

Error unwanted() {
  return {ErrorKind::unavailable, "nobody waits for it any more"};
}

std::optional<table::BucketEntries> entries_of(const HistoryTable& table, std::uint64_t bucket) {
  for (int look = 0; look < kLooksMax; ++look) {
    if (auto entries = table.bucket_entries(bucket)) return entries;
  }
  return std::nullopt;
}

void count(ImportReport& report, SeedOutcome outcome) {
  switch (outcome) {
    case SeedOutcome::taken:
      ++report.taken;
      break;
    case SeedOutcome::known:
      ++report.known;
      break;
    case SeedOutcome::contradicted:
      ++report.contradicted;
      break;
    case SeedOutcome::forgotten:
      ++report.forgotten;
      break;
    case SeedOutcome::full:
      ++report.full;
      break;
  }
}

// False: it is not what it has to be.
using Use = std::function<bool(const table::ExportReader& block)>;

// Of all blocks, one after the other.
Result<table::ExportTotals> for_each_block(table::ExportReader& reader, const IsWanted& is_wanted,
                                           const Use& use) {
  for (;;) {
    if (!is_wanted()) return unwanted();
    const auto more = reader.next();
    if (!more) return more.error();
    if (!*more) return reader.totals();
    if (!use(reader)) return Error{ErrorKind::invalid, "the export was changed meanwhile"};
  }
}

// That of an export of ours. Whose keys its entries were is no part of it: what an import does not
// know of, it makes out of date.
table::Identity identity_of(const Installation& installation) {
  table::Identity identity = installation.table_identity;
  identity.ownership_epoch = 0;
  identity.group_count = static_cast<std::uint32_t>(installation.settings.groups.size());
  return identity;
}

// Once more: what was right may have been changed since, even into another export, whose blocks do
// not have these MACs.
Result<> read_again(int fd, const Installation& installation,
                    const std::vector<table::TransferMac>& macs, const IsWanted& is_wanted,
                    const std::function<void(const table::ExportReader& block)>& use) {
  table::ExportReader reader(fd, installation.transfer_key);
  if (const auto begun = reader.begin(identity_of(installation)); !begun) return begun.error();
  std::size_t number = 0;
  const auto read = for_each_block(reader, is_wanted, [&](const table::ExportReader& block) {
    if (number == macs.size() || block.mac() != macs[number]) return false;
    ++number;
    use(block);
    return true;
  });
  return read ? Result<>() : read.error();
}

// `behind` counts nothing any more: what lies behind it is numbered from there.
Result<> write_floors(table::ExportWriter& writer, const Installation& installation,
                      const HistoryTable& table, Sigma behind) {
  for (std::uint32_t group = 0; group < installation.settings.groups.size(); ++group) {
    const WriteFloors floors = table.floors(group);
    for (WriteFloors::Slot slot = 0; slot < floors.words().size(); ++slot) {
      const Sigma sigma = floors.written_at(slot);
      if (sigma <= behind) continue;
      if (auto added = writer.add(table::StoredFloor{group, slot, sigma - behind}); !added) {
        return added;
      }
    }
  }
  return {};
}

// Was it written to, nobody knows what an import knows of that. `top` is beyond all of it.
void cover_what_was_written_here(const Installation& installation, const HistoryTable& table,
                                 Sigma top) {
  for (std::uint32_t group = 0; group < installation.settings.groups.size(); ++group) {
    const WriteFloors floors = table.floors(group);
    for (WriteFloors::Slot slot = 0; slot < floors.words().size(); ++slot) {
      if (floors.written_at(slot) != 0) floors.raise(slot, top);
    }
  }
}

// Puts an export's numbers behind all that was numbered here. Where they lie too far apart, some
// become the same: floors are rounded up and entries down, so that none counts that did not.
class Renumbering {
 public:
  explicit Renumbering(Sigma newest) : newest_(newest) {
    while (floor(newest_) > kImportedMax)
      ++shift_;
  }
  void put_behind(Sigma before) { before_ = before; }

  // How many numbers that takes.
  [[nodiscard]] Sigma count() const { return floor(newest_) - before_; }
  [[nodiscard]] Sigma floor(Sigma sigma) const {
    return before_ + (sigma >> shift_) + Sigma{(sigma & ((Sigma{1} << shift_) - 1)) != 0};
  }
  [[nodiscard]] Sigma entry(Sigma sigma) const {
    return before_ + std::max(sigma >> shift_, Sigma{1});
  }

 private:
  Sigma newest_;
  unsigned shift_ = 0;
  Sigma before_ = 0;
};

// A table of another size has fewer or more slots. A URI's number in the one is its number in the
// other, but for the upper bits.
void raise_all(const WriteFloors& floors, WriteFloors::Slot slot, std::size_t slots, Sigma sigma) {
  const std::size_t count = floors.words().size();
  for (std::size_t at = slot % count; at < count; at += slots)
    floors.raise(static_cast<WriteFloors::Slot>(at), sigma);
}

}  // namespace

Result<ExportReport> export_history(int fd, const Installation& installation,
                                    const HistoryTable& table, std::uint64_t made_at,
                                    const IsWanted& is_wanted) {
  const auto size = size_of(fd);
  if (!size) return size.error();
  if (*size != 0) return Error{ErrorKind::invalid, "the file is not empty"};
  table::ExportWriter writer(fd, installation.transfer_key);
  const auto slots = static_cast<std::uint32_t>(table.floors(0).words().size());
  if (auto begun = writer.begin({identity_of(installation), made_at, slots}); !begun) {
    return begun.error();
  }
  const Sigma behind = table.imported().behind;
  ExportReport report;
  for (std::uint64_t bucket = 0; bucket < table.bucket_count(); ++bucket) {
    if (bucket % kBucketsAtOnce == 0 && !is_wanted()) return unwanted();
    const auto found = entries_of(table, bucket);
    if (!found) {
      ++report.buckets_skipped;
      continue;
    }
    for (std::size_t i = 0; i < found->count; ++i) {
      table::StoredEntry entry = found->entries[i];
      if (!is_of_use(entry)) continue;
      if (table::mark_of(entry.state) == Mark::none) {
        if (table::sigma_of(entry.state) <= behind) continue;
        entry.state -= behind << 2;
      }
      if (auto added = writer.add(entry); !added) return added.error();
    }
  }
  // Last, so that they cover what was out of date when its entry was read.
  if (auto written = write_floors(writer, installation, table, behind); !written) {
    return written.error();
  }
  auto totals = writer.finish();
  if (!totals) return totals.error();
  report.totals = *totals;
  return report;
}

Result<ImportReport> import_history(int fd, const ImportOptions& options,
                                    const Installation& installation, HistoryTable& table,
                                    const SharedState& shared, const IsWanted& is_wanted) {
  if (const auto size = size_of(fd); !size) return size.error();
  bool has_floors = false;
  std::vector<table::TransferMac> macs;  // of the blocks
  table::ExportReader first(fd, installation.transfer_key);
  const auto header = first.begin(identity_of(installation));
  if (!header) return header.error();
  const auto totals = for_each_block(first, is_wanted, [&](const table::ExportReader& block) {
    has_floors = has_floors || !block.floors().empty();
    macs.push_back(block.mac());
    return true;
  });
  if (!totals) return totals.error();
  if (options.made_after && header->made_at <= *options.made_after) {
    return Error{ErrorKind::invalid, "the export is refused: it was made at " +
                                         std::to_string(header->made_at) + ", not after " +
                                         std::to_string(*options.made_after)};
  }
  if (options.on_checked) options.on_checked(header->made_at, totals->entries);

  Renumbering renumbering(totals->newest);
  const auto before =
      make_room_for_numbers(installation.settings, table, shared, renumbering.count());
  if (!before) return before.error();
  cover_what_was_written_here(installation, table, *before + renumbering.count());
  renumbering.put_behind(*before);

  ImportReport report{.made_at = header->made_at, .entries = totals->entries};
  // Before any entry, though they lie behind all: there may be too many to be held.
  Result<> done;
  if (has_floors) {
    done = read_again(fd, installation, macs, is_wanted, [&](const table::ExportReader& block) {
      for (const table::StoredFloor& floor : block.floors())
        raise_all(table.floors(floor.group), floor.slot, header->floor_slots,
                  renumbering.floor(floor.sigma));
    });
  }
  if (done) {
    done = read_again(fd, installation, macs, is_wanted, [&](const table::ExportReader& block) {
      for (table::StoredEntry entry : block.entries()) {
        if (table::mark_of(entry.state) != Mark::none) {
          ++report.marks;
          if (!options.takes_marks) continue;
        } else {
          const Sigma sigma = table::sigma_of(entry.state);
          entry.state += (renumbering.entry(sigma) - sigma) << 2;
        }
        count(report, table.seed(entry));
      }
    });
  }
  if (!done) {
    return Error{done.error().kind, done.error().message + "; " + std::to_string(report.taken) +
                                        " entries had been taken already"};
  }
  report.floors_raised = table.floors_raised();
  return report;
}

Result<Sigma> make_room_for_numbers(const Settings& settings, HistoryTable& table,
                                    const SharedState& shared, Sigma count) {
  const auto groups = static_cast<std::uint32_t>(settings.groups.size());
  const auto newest = [&] {
    Sigma found = 0;
    for (std::uint32_t i = 0; i < groups; ++i) {
      const GroupNumbers& numbers = *shared.group(i).numbers;
      found = std::max({found, numbers.order.newest(), numbers.votes.newest()});
    }
    return found;
  };
  const auto is_used_up = [&](Sigma before) {
    return before > kSigmaMax / 4 || count > kSigmaMax / 4;
  };
  const Error used_up{ErrorKind::limit, "the groups' numbers are used up"};
  if (is_used_up(newest())) return used_up;
  // What is under way from now on is doubtful, so none of it is numbered beyond `before` below,
  // however far apart the group's own numbers are.
  for (std::uint32_t i = 0; i < groups; ++i) {
    if (settings.groups[i].kind == GroupKind::pbft) shared.group(i).numbers->order.begin_beyond(0);
  }
  for (int attempt = 0; attempt < kNumberingAttemptsMax; ++attempt) {
    const Sigma before = newest() + kNumbersMeanwhile;
    if (is_used_up(before)) return used_up;
    // Before any vote has a new number: one that was asked for before finds this, and is void.
    table.begin_import({before, before + count});
    bool is_made = true;
    for (std::uint32_t i = 0; i < groups; ++i) {
      GroupNumbers& numbers = *shared.group(i).numbers;
      if (settings.groups[i].kind == GroupKind::pbft) {
        numbers.order.begin_beyond(before + count);
      } else {
        is_made = is_made && numbers.votes.skip_to(before + count, before);
      }
    }
    if (is_made) return before;
  }
  return Error{ErrorKind::unavailable, "the groups' numbers rise too fast; try again"};
}

}  // namespace prophecy::sketcher
