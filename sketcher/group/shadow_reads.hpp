// Copies of one group's verified reads to its shadows, of one worker. A shadow's answer is compared
// with the verified one, counted, and forgotten: nobody waits for it, it is in no quorum, never
// drawn, and its health is nobody's. Writes are not copied.
//
// A shadow gets the text that the verified answer was given to: with the client's own User-Agent,
// address and so on after a fast read, with constants in their place where the group has answered.
// A shadow that heeds them while its origins do not is found out by the former, and one that heeds
// them as its origins do is not blamed for it by the latter.
//
// The content may change between the two answers. So one that differs is evidence against the
// shadow only if the history holds the verified answer still. (One that changes before the group
// does is taken for different, as an early origin is.)
//
// A copy is made when its client's answer is at hand, and sent in a later turn of the loop. What a
// shadow can take of the worker is bounded: connections, copies, bytes of each, time. Here a gate
// (core/policy/shadow_gate.hpp) lets through no more; what it refuses costs two comparisons.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/random.hpp"
#include "canonical/answer_form.hpp"
#include "canonical/request_form.hpp"
#include "history_table/history_table.hpp"
#include "http/client/origin_pool.hpp"
#include "sketcher/config/shadow_settings.hpp"
#include "sketcher/counters/shadow_counters.hpp"

namespace prophecy::sketcher {

class GroupContext;

// A read that one origin or the group has answered, as the client gets it. Views.
struct VerifiedRead {
  const sketch::RequestForm& request;
  std::string_view method;
  const Sketch& key;  // s(q)
  const sketch::AnswerForm& answer;
  const Sketch& sketch;  // s(r)
  bool by_group = false;
};

class ShadowReads {
 public:
  // `origins` and `counters` are the shadows', one each, as `settings` is.
  ShadowReads(boost::asio::io_context& loop, GroupContext& group, HistoryTable& table,
              std::span<const ShadowSettings> settings,
              const std::vector<http::OriginSettings>& origins, std::span<ShadowCounters> counters);
  ~ShadowReads();
  ShadowReads(const ShadowReads&) = delete;
  ShadowReads& operator=(const ShadowReads&) = delete;

  void on_read(const VerifiedRead& read, SecureRandom& random);

 private:
  class Shadow;
  std::vector<std::unique_ptr<Shadow>> shadows_;
};

}  // namespace prophecy::sketcher
