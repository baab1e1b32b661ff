// `OriginUses` lists what is under way at each origin of a group in one worker: fast reads, bodies
// of large answers, tunnels. So an operator sees what is left at an origin that is drained, and
// what is still there when its time is over is cut.
//
// Nothing that agreement asks of an origin is in it: no origin is taken out of that.
//
// Single-threaded. The lists outlive what is in them.
#pragma once

#include <cstddef>
#include <memory>

#include "base/assert.hpp"
#include "base/ids.hpp"

namespace prophecy::sketcher {

// One thing under way. Listing it is a few pointer writes.
class OriginUse {
 public:
  OriginUse() = default;
  OriginUse(const OriginUse&) = delete;
  OriginUse& operator=(const OriginUse&) = delete;
  virtual ~OriginUse() { end_use(); }

  // It is at no origin (any more).
  void end_use() {
    if (previous_ == nullptr) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }

 protected:
  // The origin's time is over: it ends, or goes on at another origin. It is listed no more.
  virtual void on_cut() = 0;

 private:
  friend class OriginUses;
  OriginUse* previous_ = nullptr;
  OriginUse* next_ = nullptr;
};

class OriginUses {
 public:
  explicit OriginUses(std::size_t origins)
      : size_(origins), heads_(std::make_unique<Head[]>(origins)) {}

  // By replica. What is listed already changes its place.
  void begin(OriginUse& use, NodeId replica) {
    ASSERT(replica < size_);
    use.end_use();
    heads_[replica].take(use);
  }
  [[nodiscard]] std::size_t count(NodeId replica) const {
    ASSERT(replica < size_);
    return heads_[replica].count();
  }
  // All that is at this origin now. Each goes on as it likes, and may come to this origin again.
  void cut(NodeId replica) {
    ASSERT(replica < size_);
    Head cut;
    cut.take_all(heads_[replica]);
    while (OriginUse* const use = cut.first()) {
      use->end_use();
      use->on_cut();
    }
  }

 private:
  // A ring with the list's ends.
  struct Head final : OriginUse {
    Head() { previous_ = next_ = this; }
    void on_cut() override { UNREACHABLE(); }
    [[nodiscard]] OriginUse* first() const { return next_ == this ? nullptr : next_; }
    [[nodiscard]] std::size_t count() const {
      std::size_t count = 0;
      for (const OriginUse* use = next_; use != this; use = use->next_)
        ++count;
      return count;
    }
    void take(OriginUse& use) {
      use.previous_ = previous_;
      use.next_ = this;
      previous_->next_ = &use;
      previous_ = &use;
    }
    void take_all(Head& other) {
      while (OriginUse* const use = other.first()) {
        use->end_use();
        take(*use);
      }
    }
  };

  std::size_t size_;
  std::unique_ptr<Head[]> heads_;
};

}  // namespace prophecy::sketcher
