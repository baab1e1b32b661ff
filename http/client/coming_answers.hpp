// `ComingAnswers` bounds what answers hold in memory while they are read from origins, of all pools
// of one worker. Each connection that reads a large body has a share, and says how much it holds.
//
// Beyond the limit one gives way at once: the one for which bytes times time is most. An answer
// that comes at the speed of a network is young while it is large, and one that has stalled is not:
// an origin that leaves its answers unfinished ends its own.
//
// Single-threaded.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.hpp"
#include "base/counter.hpp"

namespace prophecy::http {

class ComingAnswers {
 public:
  class Holder {
   public:
    // The answer is to be let go in a turn of its own: the call may come from anywhere.
    virtual void give_way() = 0;

   protected:
    ~Holder() = default;
  };

  // `held` shows the bytes, `given_way` how many answers had to be let go. Both outlive it.
  ComingAnswers(std::size_t bytes_max, Counter& held, Counter& given_way)
      : bytes_max_(bytes_max), held_(held), given_way_(given_way) {}
  ComingAnswers(const ComingAnswers&) = delete;
  ComingAnswers& operator=(const ComingAnswers&) = delete;

  // It must not outlive the whole.
  class Share {
   public:
    // Null: nothing is counted.
    Share(ComingAnswers* all, Holder& holder) : all_(all), holder_(holder) {}
    ~Share() { set(0, {}); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    // A share that has been empty is as old as its first bytes.
    void set(std::size_t bytes, TimePoint now) {
      if (bytes != bytes_ && all_ != nullptr) all_->change(*this, bytes, now);
    }

   private:
    friend class ComingAnswers;

    ComingAnswers* all_;
    Holder& holder_;
    std::size_t bytes_ = 0;
    TimePoint since_{};
    std::size_t place_ = 0;  // among all shares that are not empty
    bool gives_way_ = false;
  };

 private:
  void change(Share& share, std::size_t bytes, TimePoint now);
  void make_room(TimePoint now);

  std::size_t bytes_max_;
  Counter& held_;
  Counter& given_way_;
  std::size_t bytes_ = 0;         // of those that do not give way
  std::vector<Share*> shares_{};  // that are not empty
};

}  // namespace prophecy::http
