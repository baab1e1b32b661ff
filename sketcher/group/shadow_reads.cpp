#include "sketcher/group/shadow_reads.hpp"

#include <algorithm>
#include <chrono>

#include <boost/asio/post.hpp>

#include "base/io/timeout_ticker.hpp"
#include "sketcher/core/policy/shadow_gate.hpp"
#include "sketcher/group/group_context.hpp"
#include "sketcher/shared/divergence.hpp"

namespace prophecy::sketcher {

using http::ExchangeEnd;

namespace {

constexpr Duration kShadowTick = milliseconds(100);
constexpr Duration kIdle = seconds(4);
constexpr std::uint32_t kDraws = 1U << 20;  // a share is so many parts of them

http::OriginSettings shadow_pool(const ShadowSettings& settings, http::OriginSettings origin) {
  origin.connections_max = settings.connections_max;
  origin.queue_max = settings.queue_max;
  origin.pipeline_max = 1;
  origin.answer_limits.body_bytes_max = settings.body_bytes_max;
  return origin;
}

}  // namespace

class ShadowReads::Shadow {
 public:
  Shadow(boost::asio::io_context& loop, GroupContext& group, HistoryTable& table,
         const ShadowSettings& settings, const http::OriginSettings& origin,
         ShadowCounters& counters)
      : loop_(loop),
        group_(group),
        table_(table),
        settings_(settings),
        counters_(counters),
        timeouts_{TimeoutQueue(settings.timeout), TimeoutQueue(settings.timeout),
                  TimeoutQueue(kIdle)},
        ticker_(loop, std::min(kShadowTick, settings.timeout),
                {&timeouts_.connect, &timeouts_.answer, &timeouts_.idle}),
        pool_(loop, shadow_pool(settings, origin), timeouts_),
        gate_(settings.connections_max + settings.queue_max),
        canonicalizer_(group.profile()) {
    ticker_.start();
  }

  [[nodiscard]] double share() const { return settings_.share; }

  void copy(const VerifiedRead& read) {
    const bool fits =
        !read.answer.in_blocks() && read.answer.body.size() <= settings_.body_bytes_max;
    if (!fits || gate_.is_full() || !gate_.admit(TimePoint::clock::now()))
      return counters_.dropped.add();
    if (spare_.empty()) {
      copies_.push_back(std::make_unique<Copy>(*this));
      spare_.push_back(copies_.back().get());
    }
    Copy& copy = *spare_.back();
    spare_.pop_back();
    copy.take(read);
    boost::asio::post(loop_, [&copy] { copy.send(); });
  }

 private:
  // Kept for the next read; the gate bounds how many there are.
  class Copy final : private http::OriginHandler {
   public:
    explicit Copy(Shadow& shadow) : shadow_(shadow), exchange_(*this) {}

    void take(const VerifiedRead& read) {
      request_ = {{},
                  std::string(read.method),
                  std::string(read.request.target),
                  std::string(read.request.authority),
                  read.request.is_head};
      if (read.by_group) {
        read.request.append_group_wire(request_.wire);
      } else {
        request_.wire = read.request.wire;
      }
      key_ = read.key;
      verified_.status = read.answer.status;
      verified_.head.assign(read.answer.head.begin(), read.answer.head.end());
      verified_.body.assign(read.answer.body, 0, Evidence::kBodyBytesMax);
      verified_.body_bytes = read.answer.body.size();
      verified_.sketch = read.sketch;
    }
    void send() {
      http::ExchangeRequest request;
      request.wire = request_.wire;
      request.answers_head = request_.is_head;
      request.repeat_when_stale = true;
      shadow_.pool_.start(exchange_, request);
    }

   private:
    void on_exchange_end(http::OriginExchange& /*exchange*/, ExchangeEnd end,
                         http::Response& response) override {
      shadow_.on_end(*this, end, response);
    }

    // The parts of the request that the evidence names.
    struct CopiedRequest {
      std::string wire, method, target, authority;
      bool is_head = false;
    };

    friend class Shadow;
    Shadow& shadow_;
    CopiedRequest request_;
    Sketch key_{};
    Evidence verified_;
    http::OriginExchange exchange_;
  };

  void on_end(Copy& copy, ExchangeEnd end, http::Response& response) {
    sketch::AnswerForm form;
    const bool answered = end == ExchangeEnd::answered;
    if (answered && canonicalizer_.canonicalize(response, copy.request_.is_head, form) !=
                        sketch::AnswerFault::none) {
      end = ExchangeEnd::malformed;
    }
    counters_.exchanges[static_cast<std::size_t>(end)].add();
    if (end == ExchangeEnd::answered) compare(copy, form);
    gate_.on_end(answered, TimePoint::clock::now());
    spare_.push_back(&copy);
  }

  void compare(const Copy& copy, const sketch::AnswerForm& form) {
    const std::optional<Sketch> sketch = group_.core().group.sketch_of(form);
    if (sketch == copy.verified_.sketch) return counters_.equal.add();
    const WriteFloors& floors = group_.core().group.floors();
    const auto entry = floors.admit(table_.lookup(copy.key_),
                                    floors.slot_of(copy.request_.authority, copy.request_.target));
    if (sketch && entry && entry->answer == *sketch) return counters_.equal.add();
    if (!entry || entry->mark != Mark::none || entry->answer != *copy.verified_.sketch) {
      return counters_.outdated.add();
    }
    counters_.different.add();
    if (gate_.may_report(TimePoint::clock::now())) report(copy, form, sketch);
  }

  // Where a body is longer than what is kept, a difference at its kept end lies there or behind.
  void report(const Copy& copy, const sketch::AnswerForm& form,
              const std::optional<Sketch>& sketch) const {
    Divergence divergence;
    divergence.kind = DivergenceKind::shadow;
    divergence.replica = settings_.origin.replica;
    divergence.method = copy.request_.method;
    divergence.target = copy.request_.target;
    divergence.authority = copy.request_.authority;
    divergence.differences = sketch::compare(form, copy.verified_.form());
    divergence.answer_digest = sketch ? to_hex(*sketch) : "";
    divergence.agreed_digest = to_hex(*copy.verified_.sketch);
    divergence.answer_status = form.status;
    divergence.agreed_status = copy.verified_.status;
    divergence.answer_body_bytes = form.body.size();
    divergence.agreed_body_bytes = copy.verified_.body_bytes;
    group_.report_shadow(divergence, settings_.origin.address);
  }

  boost::asio::io_context& loop_;
  GroupContext& group_;
  HistoryTable& table_;
  const ShadowSettings& settings_;
  ShadowCounters& counters_;
  http::OriginTimeouts timeouts_;
  TimeoutTicker ticker_;
  http::OriginPool pool_;
  ShadowGate gate_;
  sketch::AnswerCanonicalizer canonicalizer_;
  std::vector<std::unique_ptr<Copy>> copies_;
  std::vector<Copy*> spare_;
};

ShadowReads::ShadowReads(boost::asio::io_context& loop, GroupContext& group, HistoryTable& table,
                         std::span<const ShadowSettings> settings,
                         const std::vector<http::OriginSettings>& origins,
                         std::span<ShadowCounters> counters) {
  for (std::size_t i = 0; i < settings.size(); ++i) {
    shadows_.push_back(
        std::make_unique<Shadow>(loop, group, table, settings[i], origins[i], counters[i]));
  }
}

ShadowReads::~ShadowReads() = default;

void ShadowReads::on_read(const VerifiedRead& read, SecureRandom& random) {
  for (const auto& shadow : shadows_) {
    if (random.below(kDraws) < shadow->share() * kDraws) shadow->copy(read);
  }
}

}  // namespace prophecy::sketcher
