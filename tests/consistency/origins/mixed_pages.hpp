// `MixedPages` are the reads of one origin that has quick and slow pages side by side, in virtual
// time. Which read is put behind which others is decided by the objects that real connections use
// (http/pipeline/), and what an answer takes by the page: alone on its connection, or behind
// others, where some pages cost next to nothing.
//
// Oracle: a read of a quick page that is known behind others waits there no longer than the bound
// `held-up-ms` says, however slow the other pages are (docs/pipelining.md).
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <vector>

#include "consistency/oracles/cost.hpp"
#include "consistency/oracles/tally.hpp"
#include "http/pipeline/answer_queue.hpp"
#include "simulation/random.hpp"

namespace prophecy::consistency {

class MixedPages {
 public:
  MixedPages(std::uint64_t seed, Cost& cost, Tally& tally);

  void run();

 private:
  struct Page {
    http::PathClass path_class = 0;
    Duration alone{};
    Duration behind{};
  };
  struct Ask : http::QueuedAsk {
    const Page* page = nullptr;
    bool is_known = false;  // its class, behind others, when it was put there
    bool wanted = true;
    [[nodiscard]] bool is_wanted() const { return wanted; }
    [[nodiscard]] bool has_left() const { return true; }
    [[nodiscard]] bool is_sent() const { return true; }
    void forget() { wanted = false; }
  };
  struct Link {
    http::AnswerQueue<Ask> queue;
    TimePoint first_since{};
    TimePoint answered_at{};  // the front, by the origin
    Duration late_after{};
    bool is_late = false;
  };

  void add_page(Duration alone, Duration behind);
  [[nodiscard]] Duration between(std::uint64_t from_us, std::uint64_t to_us);
  [[nodiscard]] bool may_share(const Link& link, http::PathClass of) const;
  // False: it has to wait for a connection.
  [[nodiscard]] bool place(const Page& page);
  void join(Link& link, const Page& page);
  void begin_first(Link& link);
  void answer_first(Link& link);
  // As often as a pool does.
  void look_at_waiting();
  void check_wait(const Ask& ask);

  simulation::Random random_;
  Cost& cost_;
  Tally& tally_;
  http::OriginPace pace_{{1, 2}};
  TimePoint now_ = TimePoint{} + seconds(100);
  std::size_t links_max_;
  std::vector<Page> pages_;
  std::list<Link> links_;
  std::deque<const Page*> waiting_;
};

}  // namespace prophecy::consistency
