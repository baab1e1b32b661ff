// `OriginLinks` are the connections on which one worker's verified reads share their way to the
// origins of a simulated run. Which request an answer belongs to is decided by the object that real
// connections use (http/pipeline/answer_queue.hpp), and who may share by the real pace
// (http/pipeline/origin_pace.hpp), except in runs that share whatever that says.
//
// A liar hangs, answers out of turn, twice or not at all, or closes. Of a correct origin each
// answer has to reach the read that it was made for, or nobody.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "consistency/oracles/attribution.hpp"
#include "consistency/oracles/tally.hpp"
#include "consistency/origins/origins.hpp"
#include "http/exchange_end.hpp"
#include "http/pipeline/answer_queue.hpp"

namespace prophecy::consistency {

class OriginStream;

class OriginLinks {
 public:
  OriginLinks(Origins& origins, const RunSettings& settings, simulation::Random& random,
              Attribution& attribution, Tally& tally);

  // The stream's request goes on a connection of its own, or behind others.
  void join(OriginStream& stream, std::size_t origin, const std::string& wire, TimePoint now);
  // Its answer is not wanted any more.
  void leave(OriginStream& stream);
  // Something happens on its connection: that ends the stream, or another one, or none.
  void advance(OriginStream& stream, std::uint64_t failing_percent, TimePoint now);

 private:
  struct Ask : http::QueuedAsk {
    OriginStream* stream = nullptr;  // null: it has left
    std::uint64_t number = 0;
    std::string wire;
    bool sent = false;
    [[nodiscard]] bool is_wanted() const { return stream != nullptr; }
    [[nodiscard]] bool has_left() const { return sent; }
    [[nodiscard]] bool is_sent() const { return sent; }
    void forget() { stream = nullptr; }
  };
  // As the origin sees it.
  struct Received {
    std::uint64_t number = 0;
    std::string wire;
  };
  struct Link {
    std::size_t origin = 0;
    http::AnswerQueue<Ask> queue;
    std::deque<Received> received{};
    std::size_t answered = 0;
    TimePoint first_since{};
    Duration late_after{};
    bool is_late = false;
    bool is_stuck = false;  // the origin answers nothing on it any more
  };
  using LinkPlace = std::list<Link>::iterator;

  [[nodiscard]] LinkPlace find(const OriginStream& stream);
  [[nodiscard]] bool may_share(const Link& link, http::PathClass of, TimePoint now) const;
  void note_first(Link& link, TimePoint now) const;
  void send(Link& link);
  void delay_overdue(LinkPlace link, TimePoint now);
  // The origin answers; false: the link is gone.
  [[nodiscard]] bool answer(LinkPlace link, TimePoint now);
  void play_tricks(Link& link);
  // The front fails, if there is one, and the others are asked for again.
  void close(LinkPlace link, std::optional<http::ExchangeEnd> front, TimePoint now);

  Origins& origins_;
  const RunSettings& settings_;
  simulation::Random& random_;
  Attribution& attribution_;
  Tally& tally_;
  std::vector<http::OriginPace> paces_;  // by origin
  std::list<Link> links_;
  std::uint64_t asks_ = 0;
};

}  // namespace prophecy::consistency
