#include "pbft/core/state/journal.hpp"

#include <algorithm>
#include <utility>

#include "base/codec.hpp"
#include "pbft/core/state/journal_check.hpp"
#include "pbft/wire/header_codec.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

enum class Kind : std::uint8_t {
  view = 'v',
  new_view = 'n',
  proposed = 'q',
  content = 'c',
  prepared = 'p',
  decided = 'd',
  base = 'k',
  certificate = 's',
  membership = 'm',
  peer = 'i',
};

Bytes key_of(Kind kind) {
  return {static_cast<std::uint8_t>(kind)};
}

Bytes key_of(Kind kind, std::uint64_t number) {
  Bytes key = key_of(kind);
  for (int shift = 56; shift >= 0; shift -= 8)
    key.push_back(static_cast<std::uint8_t>(number >> shift));
  return key;
}

Bytes key_of(Kind kind, std::uint64_t number, const Digest& digest) {
  Bytes key = key_of(kind, number);
  key.insert(key.end(), digest.begin(), digest.end());
  return key;
}

std::uint64_t read_number(Reader& reader) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i)
    number = number << 8 | reader.integer<std::uint8_t>();
  return number;
}

// Reads one record into `all`; false when it is none.
class RecordReader {
 public:
  explicit RecordReader(Remembered& all) : all_(all) {}

  bool read(const Bytes& key_bytes, const Bytes& value_bytes) {
    Reader key(key_bytes);
    Reader value(value_bytes);
    switch (static_cast<Kind>(key.integer<std::uint8_t>())) {
      case Kind::view:
        all_.has_view = true;
        all_.view = value.integer<std::uint64_t>();
        all_.changing_view = value.integer<std::uint8_t>() == 1;
        break;
      case Kind::new_view:
        all_.new_view = std::make_shared<const Bytes>(value_bytes);
        return key.complete();
      case Kind::content: {
        const std::uint64_t sequence = read_number(key);
        Digest batch{};
        key.fixed(batch);
        all_.contents[{sequence, batch}] = std::make_shared<const Bytes>(value_bytes);
        return key.complete();
      }
      case Kind::decided:
        for (std::uint64_t sequence = read_number(key); value.remaining() > 0; ++sequence)
          value.fixed(all_.decided[sequence]);
        break;
      case Kind::proposed: {
        Remembered::Proposed proposed;
        proposed.sequence = read_number(key);
        key.fixed(proposed.batch);
        proposed.view = value.integer<std::uint64_t>();
        all_.proposed.push_back(proposed);
        break;
      }
      case Kind::prepared: {
        Remembered::Prepared prepared;
        prepared.sequence = read_number(key);
        prepared.record.view = value.integer<std::uint64_t>();
        value.fixed(prepared.record.batch);
        all_.prepared.push_back(prepared);
        break;
      }
      case Kind::base:
        all_.base.emplace();
        all_.base->sequence = value.integer<std::uint64_t>();
        value.fixed(all_.base->order);
        value.fixed(all_.base->replies);
        value.fixed(all_.base->service);
        break;
      case Kind::certificate:
        for (std::uint32_t left = value.integer<std::uint16_t>(); left > 0; --left) {
          const ByteView frame = value.sized(kFrameBytesMax);
          if (value.failed()) return false;
          all_.certificate.push_back(std::make_shared<const Bytes>(frame.begin(), frame.end()));
        }
        break;
      case Kind::membership:
        all_.membership.incarnation = value.integer<std::uint64_t>();
        all_.membership.boot = value.integer<std::uint64_t>();
        all_.membership.silent_until = value.integer<std::uint64_t>();
        all_.membership.state_lost = value.integer<std::uint8_t>() == 1;
        break;
      case Kind::peer: {
        const auto peer = static_cast<NodeId>(read_number(key));
        all_.rebirths[peer].incarnation = value.integer<std::uint64_t>();
        all_.rebirths[peer].view = value.integer<std::uint64_t>();
        break;
      }
      default:
        return false;
    }
    return key.complete() && value.complete();
  }

 private:
  Remembered& all_;
};

}  // namespace

Frame content_of(const Remembered& remembered, std::uint64_t sequence, const Digest& batch) {
  const auto content = remembered.contents.find({sequence, batch});
  return content != remembered.contents.end() ? content->second : nullptr;
}

std::optional<Remembered> read_journal(const StoredRecords& records, std::uint32_t replicas) {
  Remembered all;
  RecordReader reader(all);
  for (const auto& [key, value] : records) {
    if (!reader.read(key, value)) return std::nullopt;
  }
  if (!is_plausible(all, replicas)) return std::nullopt;
  // The order in which they were proposed, which decides what is left out where there are too many.
  std::stable_sort(all.proposed.begin(), all.proposed.end(),
                   [](const auto& a, const auto& b) { return a.view < b.view; });
  return all;
}

void Journal::resume(const Remembered& remembered) {
  has_promised_ = remembered.has_view || !remembered.certificate.empty() ||
                  !remembered.proposed.empty() || !remembered.prepared.empty() ||
                  (remembered.base && remembered.base->sequence > 0);
  for (const Remembered::Prepared& prepared : remembered.prepared)
    written_[prepared.sequence].prepared = prepared.record.batch;
  // Where a record of them begins is not told apart: an erased key that is none does no harm.
  for (const auto& [sequence, batch] : remembered.decided) {
    written_[sequence].decided = batch;
    written_[sequence].begins = true;
  }
  const auto batch_at = [&](std::uint64_t sequence, const Digest& batch) -> Written& {
    auto& batches = written_[sequence].batches;
    const auto known = std::find_if(batches.begin(), batches.end(),
                                    [&](const Written& one) { return one.batch == batch; });
    return known != batches.end() ? *known : batches.emplace_back(Written{batch, std::nullopt, 0});
  };
  for (const Remembered::Proposed& proposed : remembered.proposed)
    batch_at(proposed.sequence, proposed.batch).view = proposed.view;
  for (const auto& [place, content] : remembered.contents) {
    batch_at(place.first, place.second).content_bytes = content->size();
    bytes_ += content->size();
  }
}

Journal::Written& Journal::find(std::uint64_t sequence, const Digest& batch, ReplicaActions& out) {
  AtNumber& at = written_[sequence];
  auto& batches = at.batches;
  const auto known = std::find_if(batches.begin(), batches.end(),
                                  [&](const Written& written) { return written.batch == batch; });
  if (known != batches.end()) return *known;
  if (batches.size() >= kProposalsMax) {
    const auto is_kept = [&](const Written& one) {
      return one.batch == at.prepared || one.batch == at.decided;
    };
    const auto oldest = std::min_element(
        batches.begin(), batches.end(), [&](const Written& one, const Written& other) {
          return std::pair(is_kept(one), one.view) < std::pair(is_kept(other), other.view);
        });
    erase(sequence, *oldest, out);
    batches.erase(oldest);
  }
  return batches.emplace_back(Written{batch, std::nullopt, 0});
}

void Journal::write_content(std::uint64_t sequence, Written& written, const Frame& content,
                            ReplicaActions& out) {
  if (content == nullptr || written.content_bytes > 0) return;
  written.content_bytes = content->size();
  bytes_ += written.content_bytes;
  if (sequence <= stable_) stable_bytes_ += written.content_bytes;
  out.writes.push_back({key_of(Kind::content, sequence, written.batch), content});
}

void Journal::erase_content(std::uint64_t sequence, Written& written, ReplicaActions& out) {
  if (written.content_bytes == 0) return;
  if (sequence <= stable_) stable_bytes_ -= written.content_bytes;
  bytes_ -= std::exchange(written.content_bytes, 0);
  out.writes.push_back({key_of(Kind::content, sequence, written.batch), nullptr});
}

void Journal::erase(std::uint64_t sequence, Written& written, ReplicaActions& out) {
  if (written.view) {
    out.writes.push_back({key_of(Kind::proposed, sequence, written.batch), nullptr});
  }
  erase_content(sequence, written, out);
}

void Journal::erase_up_to(std::uint64_t last, ReplicaActions& out) {
  for (auto at = written_.begin(); at != written_.end() && at->first <= last;
       at = written_.erase(at)) {
    for (Written& written : at->second.batches)
      erase(at->first, written, out);
    if (at->second.begins) out.writes.push_back({key_of(Kind::decided, at->first), nullptr});
    if (at->second.prepared) out.writes.push_back({key_of(Kind::prepared, at->first), nullptr});
  }
}

// Up to a checkpoint, so that no record of decided batches goes on behind it.
void Journal::let_go(std::uint64_t stable, ReplicaActions& out) {
  if (is_kept_ && stable <= stable_) erase_up_to(stable, out);
}

void Journal::view(std::uint64_t view, bool changing, ReplicaActions& out) {
  has_promised_ = true;
  if (!is_kept_) return;
  Bytes value;
  Writer writer(value);
  writer.integer(view);
  writer.integer(static_cast<std::uint8_t>(changing ? 1 : 0));
  out.writes.push_back({key_of(Kind::view), share(std::move(value))});
}

void Journal::new_view(const Frame& frame, ReplicaActions& out) {
  if (is_kept_) out.writes.push_back({key_of(Kind::new_view), frame});
}

void Journal::proposed(std::uint64_t sequence, const Digest& batch, std::uint64_t view,
                       const Frame& content, ReplicaActions& out) {
  has_promised_ = true;
  if (!is_kept_) return;
  Written& written = find(sequence, batch, out);
  write_content(sequence, written, content, out);
  if (written.view && *written.view >= view) return;
  written.view = view;
  Bytes value;
  Writer(value).integer(view);
  out.writes.push_back({key_of(Kind::proposed, sequence, batch), share(std::move(value))});
}

void Journal::decided(std::uint64_t sequence, const Digest& batch, const Frame& content,
                      ReplicaActions& out) {
  if (!is_kept_) return;
  written_[sequence].decided = batch;
  write_content(sequence, find(sequence, batch, out), content, out);
  if (std::exchange(written_[sequence].begins, true)) return;
  out.writes.push_back(
      {key_of(Kind::decided, sequence), std::make_shared<const Bytes>(batch.begin(), batch.end())});
}

void Journal::ordered(std::uint64_t sequence, const Digest& batch, const Frame& content) {
  if (is_kept_) ordered_.push_back({sequence, batch, content});
}

void Journal::executed_to_checkpoint(ReplicaActions& out) {
  if (ordered_.empty()) return;
  Bytes value;
  Writer writer(value);
  for (const Ordered& batch : ordered_) {
    writer.raw(batch.batch);
    written_[batch.sequence].decided = batch.batch;
    write_content(batch.sequence, find(batch.sequence, batch.batch, out), batch.content, out);
  }
  const std::uint64_t first = ordered_.front().sequence;
  written_[first].begins = true;
  out.writes.push_back({key_of(Kind::decided, first), share(std::move(value))});
  ordered_.clear();
}

void Journal::prepared(std::uint64_t sequence, const PreparedRecord& record, ReplicaActions& out) {
  has_promised_ = true;
  if (!is_kept_) return;
  written_[sequence].prepared = record.batch;
  Bytes value;
  Writer writer(value);
  writer.integer(record.view);
  writer.raw(record.batch);
  out.writes.push_back({key_of(Kind::prepared, sequence), share(std::move(value))});
}

void Journal::stable(const Checkpoints& checkpoints, ReplicaActions& out) {
  if (!is_kept_ || checkpoints.stable_sequence() == stable_) return;
  const std::uint64_t before = std::exchange(stable_, checkpoints.stable_sequence());
  for (auto at = written_.upper_bound(before); at != written_.end() && at->first <= stable_; ++at) {
    for (const Written& written : at->second.batches)
      stable_bytes_ += written.content_bytes;
  }
  Bytes proof;
  Writer writer(proof);
  writer.integer(static_cast<std::uint16_t>(checkpoints.certificate().size()));
  for (const Checkpoints::SignedClaim& one : checkpoints.certificate())
    writer.sized(*one.frame);
  out.writes.push_back({key_of(Kind::certificate), share(std::move(proof))});
}

void Journal::base(const CheckpointClaim& claim, ReplicaActions& out) {
  if (!is_kept_) return;
  Bytes value;
  Writer writer(value);
  writer.integer(claim.sequence);
  writer.raw(claim.order);
  writer.raw(claim.replies);
  writer.raw(claim.service);
  out.writes.push_back({key_of(Kind::base), share(std::move(value))});
  erase_up_to(claim.sequence, out);
}

void Journal::no_base(ReplicaActions& out) const {
  if (is_kept_) out.writes.push_back({key_of(Kind::base), nullptr});
}

void Journal::membership(const Membership& membership, ReplicaActions& out) const {
  if (!is_kept_) return;
  Bytes value;
  Writer writer(value);
  writer.integer(membership.incarnation);
  writer.integer(membership.boot);
  writer.integer(membership.silent_until);
  writer.integer(static_cast<std::uint8_t>(membership.state_lost ? 1 : 0));
  out.writes.push_back({key_of(Kind::membership), share(std::move(value))});
}

void Journal::rebirth(NodeId peer, const Rebirth& rebirth, ReplicaActions& out) const {
  if (!is_kept_) return;
  Bytes value;
  Writer writer(value);
  writer.integer(rebirth.incarnation);
  writer.integer(rebirth.view);
  out.writes.push_back({key_of(Kind::peer, peer), share(std::move(value))});
}

}  // namespace prophecy::pbft
