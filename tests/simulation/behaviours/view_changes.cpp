// Replicas that lie when a view is changed: signed and well-formed, so that nothing but the rules
// of the protocol can tell.
#include <deque>
#include <utility>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/view_change.hpp"
#include "simulation/behaviours/families.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::size_t kFramesKept = 32;

// Frames of other replicas that still count for something.
class Collection {
 public:
  explicit Collection(pbft::MessageType type) : type_(type) {}

  void see(const pbft::Frame& frame) {
    const auto header = pbft::peek_header(*frame);
    if (!header || header->type != type_) return;
    frames_.push_back(frame);
    if (frames_.size() > kFramesKept) frames_.pop_front();
  }
  [[nodiscard]] bool empty() const { return frames_.empty(); }
  [[nodiscard]] const pbft::Frame& draw(Random& random) const {
    return frames_[random.below(frames_.size())];
  }

 private:
  pbft::MessageType type_;
  std::deque<pbft::Frame> frames_;
};

// One lie about what happened; `kept` holds frames that the message then views into.
pbft::Frame forge(pbft::ViewChangeMessage message, Villain& villain,
                  const Collection& checkpoints) {
  Random& random = villain.random;
  std::vector<pbft::Frame> kept;
  switch (random.below(7)) {
    case 0:
      message.prepared.clear();
      break;
    case 1:
      message.prepared.clear();
      message.pre_prepared.clear();
      break;
    case 2: {  // another batch, prepared in the newest view of all
      const auto batch = villain.draw_digest();
      for (auto* records : {&message.prepared, &message.pre_prepared}) {
        for (pbft::BatchRecord& record : *records) {
          record.batch = batch;
          record.view = message.view - 1;
        }
      }
      break;
    }
    case 3:
      message.view += random.below(4);
      break;
    case 4:
      message.stable = 0;
      message.certificate.clear();
      break;
    case 5: {  // a checkpoint that never was, certified by itself alone
      message.stable += random.between(1, 20);
      const auto order = villain.draw_digest();
      kept.push_back(pbft::encode_checkpoint(message.stable, order, order, order, villain.keys,
                                             message.incarnation));
      const std::uint64_t times = random.between(1, villain.replicas());
      message.certificate.assign(times, ByteView(*kept.back()));
      std::erase_if(message.prepared, [&](const auto& r) { return r.sequence <= message.stable; });
      std::erase_if(message.pre_prepared,
                    [&](const auto& r) { return r.sequence <= message.stable; });
      break;
    }
    default:  // a certificate of others' signatures, of whatever they have signed
      for (ByteView& frame : message.certificate) {
        if (!checkpoints.empty()) frame = *kept.emplace_back(checkpoints.draw(random));
      }
      break;
  }
  return pbft::encode_view_change(message, villain.keys);
}

class ForgedViewChanges final : public Behaviour {
 public:
  explicit ForgedViewChanges(Villain villain) : villain_(villain) {}

  bool receive(const pbft::Frame& frame) override {
    checkpoints_.see(frame);
    return true;
  }
  void send(const Sending& honest, std::vector<Sending>& out) override {
    out.push_back(honest);
    const auto message = pbft::decode_view_change(*honest.what.frame, villain_.replicas());
    if (!message || !villain_.random.chance(80)) return;
    // The same lie to all, more often than not.
    if (lie_ == nullptr || lie_about_ != message->view || villain_.random.chance(30)) {
      lie_ = forge(*message, villain_, checkpoints_);
      lie_about_ = message->view;
    }
    if (villain_.random.chance(20)) out.push_back(honest);
    out.back().what.frame = lie_;
  }

 private:
  Villain villain_;
  Collection checkpoints_{pbft::MessageType::checkpoint};
  std::uint64_t lie_about_ = 0;
  pbft::Frame lie_;
};

class ForgedNewViews final : public Behaviour {
 public:
  explicit ForgedNewViews(Villain villain) : villain_(villain) {}

  bool receive(const pbft::Frame& frame) override {
    view_changes_.see(frame);
    checkpoints_.see(frame);
    return true;
  }
  void send(const Sending& honest, std::vector<Sending>& out) override {
    out.push_back(honest);
    const auto message = pbft::decode_new_view(*honest.what.frame, villain_.replicas());
    if (message && message->primary == villain_.self() && villain_.random.chance(80)) {
      out.back().what.frame = forge_new_view(*message);
    }
  }

 private:
  pbft::Frame forge_new_view(const pbft::NewViewMessage& message) {
    Random& random = villain_.random;
    std::vector<ByteView> view_changes = message.view_changes;
    pbft::Frame kept;
    // Nothing is left of one that was forged, and sent again, often enough.
    if (view_changes.empty()) return pbft::encode_new_view(message.view, {}, villain_.keys);
    ByteView& victim = view_changes[random.below(view_changes.size())];
    switch (random.below(4)) {
      case 0:
        view_changes.pop_back();
        break;
      case 1:
        victim = view_changes.front();
        break;
      case 2:  // what somebody has said of another view
        if (view_changes_.empty()) break;
        kept = view_changes_.draw(random);
        victim = *kept;
        break;
      default:  // in its own name, where it stood for another's
        if (const auto own = pbft::decode_view_change(victim, villain_.replicas())) {
          kept = forge(*own, villain_, checkpoints_);
          victim = *kept;
        }
        break;
    }
    return pbft::encode_new_view(message.view, view_changes, villain_.keys);
  }

  Villain villain_;
  Collection view_changes_{pbft::MessageType::view_change};
  Collection checkpoints_{pbft::MessageType::checkpoint};
};

// One replica twice, where different ones have to be counted.
class DoubledVoices final : public Behaviour {
 public:
  explicit DoubledVoices(Villain villain) : villain_(villain) {}

  bool receive(const pbft::Frame& frame) override {
    checkpoints_.see(frame);
    return true;
  }
  void send(const Sending& honest, std::vector<Sending>& out) override {
    out.push_back(honest);
    const auto also = [&](pbft::Frame frame) {
      out.push_back(honest);
      out.back().what.frame = std::move(frame);
    };
    const Bytes& frame = *honest.what.frame;
    const std::uint32_t replicas = villain_.replicas();
    for (const auto type : {pbft::MessageType::prepare, pbft::MessageType::commit}) {
      const auto vote = pbft::decode_vote(frame, type, replicas);
      if (vote) also(std::make_shared<const Bytes>(frame));
    }
    // A primary stands for its proposal by proposing it, and prepares nothing.
    if (const auto proposal = pbft::decode_pre_prepare(frame, replicas)) {
      also(pbft::encode_vote(pbft::MessageType::prepare, proposal->view, proposal->sequence,
                             batch_digest(*proposal), villain_.keys));
    }
    auto asked = pbft::decode_view_change(frame, replicas);
    if (asked && !asked->certificate.empty() && villain_.random.chance(80)) {
      out.back().what.frame = with_doubled_certificate(std::move(*asked));
    }
    const auto begun = pbft::decode_new_view(frame, replicas);
    const bool is_own = begun && begun->primary == villain_.self() && !begun->view_changes.empty();
    if (is_own && villain_.random.chance(60)) {
      std::vector<ByteView> doubled = begun->view_changes;
      doubled.back() = doubled.front();
      out.back().what.frame = pbft::encode_new_view(begun->view, doubled, villain_.keys);
    }
  }

 private:
  pbft::Frame with_doubled_certificate(pbft::ViewChangeMessage message) {
    Random& random = villain_.random;
    pbft::Frame kept;
    auto& certificate = message.certificate;
    switch (random.below(5)) {
      case 0:  // one signer in another's place
        certificate.back() = certificate.front();
        break;
      case 1:  // or in addition
        certificate.back() = certificate.front();
        certificate.push_back(certificate.front());
        break;
      case 2:
        certificate.pop_back();
        break;
      case 3: {  // an own claim of another history among the others' of the right one
        const auto order = villain_.draw_digest();
        kept = pbft::encode_checkpoint(message.stable, order, order, order, villain_.keys,
                                       message.incarnation);
        certificate[random.below(certificate.size())] = *kept;
        break;
      }
      default:  // the claims of several checkpoints
        if (checkpoints_.empty()) break;
        kept = checkpoints_.draw(random);
        certificate[random.below(certificate.size())] = *kept;
        break;
    }
    return pbft::encode_view_change(message, villain_.keys);
  }

  Villain villain_;
  Collection checkpoints_{pbft::MessageType::checkpoint};
};

}  // namespace

BehaviourPointer make_forged_view_changes(Villain villain) {
  return std::make_unique<ForgedViewChanges>(villain);
}
BehaviourPointer make_forged_new_views(Villain villain) {
  return std::make_unique<ForgedNewViews>(villain);
}
BehaviourPointer make_doubled_voices(Villain villain) {
  return std::make_unique<DoubledVoices>(villain);
}

}  // namespace prophecy::simulation
