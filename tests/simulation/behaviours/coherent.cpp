// Liars that use what really occurred: digests, numbers and views that others know, so that a rule
// which only asks whether something is known does not stop them.
#include <algorithm>
#include <map>
#include <vector>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/view_change.hpp"
#include "simulation/behaviours/families.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::size_t kNumbersKept = 64;
constexpr std::size_t kBatchesKept = 8;

// Batches that were proposed or voted on, by number.
class Vocabulary {
 public:
  void see(const Bytes& frame, std::uint32_t replicas) {
    if (const auto head = pbft::decode_pre_prepare(frame, replicas)) {
      note(head->sequence, head->view, batch_digest(*head));
    }
    for (const auto type : {pbft::MessageType::prepare, pbft::MessageType::commit}) {
      if (const auto vote = pbft::decode_vote(frame, type, replicas)) {
        note(vote->sequence, vote->view, vote->batch);
      }
    }
    if (const auto asked = pbft::decode_view_change(frame, replicas)) {
      for (const pbft::BatchRecord& record : asked->pre_prepared)
        note(record.sequence, record.view, record.batch);
    }
  }
  void note(std::uint64_t sequence, std::uint64_t view, const pbft::Digest& batch) {
    auto& known = batches_[sequence];
    const bool is_new = std::none_of(known.begin(), known.end(),
                                     [&](const auto& one) { return one.batch == batch; });
    if (is_new && known.size() < kBatchesKept) known.push_back({sequence, view, batch});
    if (batches_.size() > kNumbersKept) batches_.erase(batches_.begin());
  }
  // Null when nothing is known there.
  [[nodiscard]] const pbft::BatchRecord* draw(std::uint64_t sequence, Random& random) const {
    const auto known = batches_.find(sequence);
    return known != batches_.end() ? &known->second[random.below(known->second.size())] : nullptr;
  }
  [[nodiscard]] const std::map<std::uint64_t, std::vector<pbft::BatchRecord>>& all() const {
    return batches_;
  }

 private:
  std::map<std::uint64_t, std::vector<pbft::BatchRecord>> batches_;
};

// In the place of all that it has prepared itself. Q goes along with it.
pbft::Frame claim(pbft::ViewChangeMessage message, std::vector<pbft::BatchRecord> prepared,
                  const pbft::KeyRing& keys) {
  std::erase_if(prepared, [&](const auto& record) {
    return record.sequence <= message.stable || record.view >= message.view;
  });
  std::erase_if(message.pre_prepared, [&](const pbft::BatchRecord& honest) {
    return std::any_of(prepared.begin(), prepared.end(),
                       [&](const auto& other) { return other.sequence == honest.sequence; });
  });
  message.prepared = prepared;
  message.pre_prepared.insert(message.pre_prepared.end(), prepared.begin(), prepared.end());
  std::stable_sort(message.pre_prepared.begin(), message.pre_prepared.end(),
                   [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  return pbft::encode_view_change(message, keys);
}

// Says of one batch what is so of another one.
class LiveLies final : public Behaviour {
 public:
  explicit LiveLies(Villain villain) : villain_(villain) {}

  bool receive(const pbft::Frame& frame) override {
    known_.see(*frame, villain_.replicas());
    return true;
  }
  void send(const Sending& honest, std::vector<Sending>& out) override {
    known_.see(*honest.what.frame, villain_.replicas());
    out.push_back(honest);
    if (const pbft::Frame lie = lie_about(*honest.what.frame)) out.back().what.frame = lie;
  }

 private:
  pbft::Frame lie_about(const Bytes& frame) {
    Random& random = villain_.random;
    const std::uint32_t replicas = villain_.replicas();
    if (const auto asked = pbft::decode_view_change(frame, replicas)) return in_view(*asked);
    for (const auto type :
         {pbft::MessageType::prepare, pbft::MessageType::commit, pbft::MessageType::decision}) {
      const auto vote = pbft::decode_vote(frame, type, replicas);
      if (!vote || !random.chance(30)) continue;
      const pbft::BatchRecord* other = known_.draw(vote->sequence, random);
      if (other == nullptr) return nullptr;
      return pbft::encode_vote(type, random.chance(30) ? other->view : vote->view, vote->sequence,
                               other->batch, villain_.keys);
    }
    auto pledge = pbft::decode_pledge(frame, replicas);
    if (!pledge || known_.all().empty() || !random.chance(50)) return nullptr;
    const auto& oldest = *known_.all().begin();
    pledge->checkpoint = std::min(pledge->checkpoint, oldest.first);
    pledge->view = std::min(pledge->view, oldest.second.front().view);
    return pbft::encode_pledge(*pledge, villain_.keys);
  }
  // The same to all.
  pbft::Frame in_view(const pbft::ViewChangeMessage& asked) {
    if (lie_ != nullptr && lie_about_ == asked.view) return lie_;
    std::vector<pbft::BatchRecord> prepared;
    for (const auto& [sequence, batches] : known_.all()) {
      if (villain_.random.chance(20)) continue;
      pbft::BatchRecord record = *known_.draw(sequence, villain_.random);
      if (villain_.random.chance(80)) record.view = asked.view - 1;
      prepared.push_back(record);
    }
    lie_about_ = asked.view;
    lie_ = claim(asked, std::move(prepared), villain_.keys);
    return lie_;
  }

  Villain villain_;
  Vocabulary known_;
  std::uint64_t lie_about_ = 0;
  pbft::Frame lie_;
};

// Shows a proposal to one backup alone, and never again; when its view is over, says that it has
// prepared it. So the next view may begin with a batch that only that backup has.
class Conspiring final : public Behaviour {
 public:
  explicit Conspiring(Villain villain) : villain_(villain) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    const Bytes& frame = *honest.what.frame;
    if (const auto proposal = pbft::decode_pre_prepare(frame, villain_.replicas())) {
      if (proposal->primary != villain_.self()) return;
      proposed_.note(proposal->sequence, proposal->view, batch_digest(*proposal));
      if (honest.what.to == accomplice_of(proposal->view, proposal->sequence)) {
        out.push_back(honest);
      }
      return;
    }
    out.push_back(honest);
    const auto asked = pbft::decode_view_change(frame, villain_.replicas());
    if (!asked) return;
    std::vector<pbft::BatchRecord> prepared;
    for (const auto& [sequence, batches] : proposed_.all())
      prepared.push_back(batches.back());
    out.back().what.frame = claim(*asked, std::move(prepared), villain_.keys);
  }

 private:
  // Sometimes nobody, so that the batches behind are the ones that matter.
  [[nodiscard]] NodeId accomplice_of(std::uint64_t view, std::uint64_t sequence) const {
    Random random(view, sequence / 3);
    return static_cast<NodeId>(random.below(villain_.replicas()));
  }

  Villain villain_;
  Vocabulary proposed_;
};

}  // namespace

BehaviourPointer make_live_lies(Villain villain) {
  return std::make_unique<LiveLies>(villain);
}
BehaviourPointer make_conspiring(Villain villain) {
  return std::make_unique<Conspiring>(villain);
}

}  // namespace prophecy::simulation
