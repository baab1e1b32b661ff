#include "simulation/hosts/disk.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/decode.hpp"

namespace prophecy::simulation {

// The files, as a process sees them.
class Disk::Files final : public pbft::PartFiles {
 public:
  explicit Files(Disk& disk) : disk_(disk) {}

  [[nodiscard]] Result<std::vector<pbft::Digest>> list() override {
    std::vector<pbft::Digest> names;
    for (const auto& [name, file] : disk_.files_)
      names.push_back(name);
    return names;
  }
  [[nodiscard]] Result<Bytes> read(const pbft::Digest& name) const override {
    const auto file = disk_.files_.find(name);
    if (file == disk_.files_.end()) return Error{ErrorKind::damaged, "no such file"};
    if (file->second.is_unreadable) return Error{ErrorKind::io, "unreadable"};
    return file->second.content;
  }
  [[nodiscard]] bool write(const pbft::Digest& name, ByteView content) override {
    if (!may_change()) return false;
    disk_.files_[name] = {Bytes(content.begin(), content.end()), false, false};
    return true;
  }
  void remove(const pbft::Digest& name) override {
    if (may_change()) disk_.files_.erase(name);
  }
  [[nodiscard]] bool sync() override {
    if (!may_change()) return false;
    for (auto& [name, file] : disk_.files_)
      file.is_synced = true;
    return true;
  }
  [[nodiscard]] bool has_room(std::uint64_t /*bytes*/) const override { return true; }

 private:
  [[nodiscard]] bool may_change() const {
    if (!disk_.is_dying_) return true;
    if (disk_.writes_left_ == 0) return false;
    --disk_.writes_left_;
    return true;
  }

  Disk& disk_;
};

// Work is done at one instant, and its end is told at a later one.
class Disk::Writer final : public pbft::PartWriter {
 public:
  explicit Writer(Disk& disk) : disk_(disk) {}

  void run(std::function<void()> work, std::function<void()> done) override {
    work_ = std::move(work);
    const auto then = [this](Duration usual, std::function<void()> what) {
      const std::uint64_t process = disk_.process_;
      disk_.scheduler_.at(disk_.end_of(usual), [disk = &disk_, process, what = std::move(what)] {
        if (disk->process_ == process) what();
      });
    };
    then(microseconds(disk_.random_.between(5, 4000)), [this, then, done = std::move(done)] {
      std::exchange(work_, nullptr)();
      then(microseconds(disk_.random_.between(5, 1000)), done);
    });
  }
  // Some of it is done yet.
  void die() {
    if (work_) std::exchange(work_, nullptr)();
  }

 private:
  Disk& disk_;
  std::function<void()> work_;
};

Disk::Disk(const Scenario& scenario, NodeId replica, Scheduler& scheduler)
    : scenario_(scenario),
      replica_(replica),
      scheduler_(scheduler),
      random_(scenario.seed, kPurposeDisk + replica) {}

Disk::~Disk() = default;

TimePoint Disk::end_of(Duration usual) const {
  const TimePoint now = scheduler_.now();
  TimePoint end = now + usual;
  for (const Ingredient& ingredient : scenario_.ingredients) {
    const bool is_here =
        ingredient.kind == IngredientKind::stalled_disk && contains(ingredient.nodes, replica_);
    if (is_here && now < ingredient.until && end >= ingredient.from) {
      end = std::max(end, ingredient.until + usual);
    }
  }
  return end;
}

void Disk::open() {
  auto writer = std::make_unique<Writer>(*this);
  writer_ = writer.get();
  auto parts = pbft::FilePartStore::open(std::make_unique<Files>(*this), std::move(writer),
                                         pbft::SyncPolicy::always);
  ASSERT(parts.has_value());
  parts_ = std::move(*parts);
  last_commit_ = scheduler_.now();
  forgotten_ = 0;
}

void Disk::commit(std::vector<pbft::DurableWrite> writes, std::function<void()> done) {
  Duration usual = microseconds(random_.between(50, 2000));
  if (random_.chance(3)) usual += milliseconds(random_.below(40));
  last_commit_ = std::max(last_commit_, end_of(usual));
  pending_.push_back(std::move(writes));
  scheduler_.at(last_commit_, [this, process = process_, done = std::move(done)] {
    if (process_ != process) return;
    commit_lasts();
    done();
  });
}

void Disk::end_event() {
  const std::uint64_t forgotten = parts_->forgotten();
  if (forgotten == forgotten_) return;
  forgotten_ = forgotten;
  if (pending_.empty()) return parts_->remove_up_to(forgotten);
  scheduler_.at(last_commit_, [this, process = process_, forgotten] {
    if (process_ == process) parts_->remove_up_to(forgotten);
  });
}

void Disk::commit_lasts() {
  ASSERT(!pending_.empty());
  for (const pbft::DurableWrite& write : pending_.front()) {
    if (write.value == nullptr) {
      records_.erase(write.key);
    } else {
      records_[write.key] = *write.value;
    }
  }
  pending_.erase(pending_.begin());
}

void Disk::crash(bool power_loss) {
  for (std::uint64_t kept = random_.below(pending_.size() + 1); kept > 0; --kept)
    commit_lasts();
  pending_.clear();
  is_dying_ = true;
  writes_left_ = random_.below(20);
  if (writer_ != nullptr) writer_->die();
  writer_ = nullptr;
  writes_left_ = 0;
  ++process_;
  parts_.reset();
  is_dying_ = false;
  if (!power_loss) return;
  for (auto file = files_.begin(); file != files_.end();) {
    if (file->second.is_synced || random_.chance(30)) {
      ++file;
    } else if (random_.chance(50)) {
      file = files_.erase(file);
    } else {
      (file++)->second.content.clear();
    }
  }
}

void Disk::lose_everything() {
  lost_ = true;
  rots_ = false;
  records_.clear();
  pending_.clear();
  files_.clear();
}

void Disk::rot(std::uint64_t percent) {
  rots_ = true;
  std::vector<pbft::Digest> gone;
  for (auto& [name, file] : files_) {
    if (!random_.chance(percent)) continue;
    switch (random_.below(4)) {
      case 0:
        gone.push_back(name);  // its write was lost
        break;
      case 1:
        file.is_unreadable = true;
        break;
      case 2:
        file.content = files_.begin()->second.content;  // another was written in its place
        break;
      default:
        if (!file.content.empty()) file.content[random_.below(file.content.size())] ^= 1;
        break;
    }
  }
  for (const pbft::Digest& name : gone)
    files_.erase(name);
}

std::uint64_t Disk::recorded_numbers() const {
  constexpr std::size_t kKindAndNumber = 9;  // pbft/core/state/journal.hpp
  std::set<Bytes> numbers;
  for (const auto& [key, value] : records_) {
    const bool is_of_peer = key.front() == 'i';
    if (key.size() < kKindAndNumber || is_of_peer) continue;
    numbers.emplace(key.begin() + 1, key.begin() + kKindAndNumber);
  }
  return numbers.size();
}

pbft::StoredRecords Disk::records() const {
  return {records_.begin(), records_.end()};
}

bool Disk::holds_all(const pbft::Digest& root) const {
  const auto file = files_.find(root);
  if (file == files_.end() || file->second.is_unreadable) return false;
  const auto part = pbft::decode_part(file->second.content);
  return part && sha256(file->second.content) == root &&
         std::all_of(part->children.begin(), part->children.end(),
                     [this](const pbft::Digest& child) { return holds_all(child); });
}

std::string Disk::missing(std::uint32_t replicas) const {
  if (rots_) return "";
  const auto remembered = pbft::read_journal(records(), replicas);
  if (!remembered) return "";  // found out elsewhere
  if (remembered->base) {
    for (const pbft::Digest& root :
         {remembered->base->order, remembered->base->replies, remembered->base->service}) {
      if (root != pbft::Digest{} && !holds_all(root)) {
        return "the state at " + std::to_string(remembered->base->sequence);
      }
    }
  }
  std::uint64_t stable = 0;
  for (const pbft::Frame& frame : remembered->certificate) {
    if (const auto claim = pbft::decode_checkpoint(*frame)) stable = claim->sequence;
  }
  for (const pbft::Remembered::Proposed& proposed : remembered->proposed) {
    if (proposed.sequence <= stable) continue;  // nobody depends on it any more
    // A primary's new-view message stands for a batch, whether it has that or not.
    if (proposed.view > 0 && proposed.view % replicas == replica_) continue;
    const pbft::Frame content = content_of(*remembered, proposed.sequence, proposed.batch);
    const auto message =
        content != nullptr ? pbft::decode_pre_prepare(*content, replicas) : std::nullopt;
    if (!message) continue;
    for (const pbft::RequestMessage& request : message->requests) {
      if (request.body && !holds_all(request.body->root)) {
        return "a body of batch " + std::to_string(proposed.sequence);
      }
    }
  }
  return "";
}

}  // namespace prophecy::simulation
