#include "replica_client/vote_group.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/assert.hpp"
#include "replica_client/core/request_note.hpp"

namespace prophecy::replica_client {
namespace {

// Decided reads that wait for late votes. An origin that hangs would pile them up.
constexpr std::size_t kDecidedMax = 256;
// A vote that must wait for its origin's budget is looked at again after so long.
constexpr Duration kBudgetPause = milliseconds(20);
// A write with a body in a file has a second more for so much of it, as in a group with agents.
constexpr std::uint64_t kBodyBytesPerSecondMin = 4 << 20;

// Equal for equal answers, and for no others.
Sha256::Digest digest_of(const sketch::AnswerForm& form) {
  const std::array<std::uint64_t, 3> sizes{form.head.size(), form.blocks.length,
                                           form.blocks.block_bytes};
  Sha256 hash;
  hash.update({reinterpret_cast<const std::uint8_t*>(sizes.data()), sizeof sizes});
  hash.update(form.head);
  hash.update(form.in_blocks() ? form.blocks.digests : as_bytes(form.body));
  return hash.finish();
}

}  // namespace

// One request at all origins, until the last of them has answered, or will not.
class VoteGroup::Ballot {
 public:
  Ballot(VoteGroup& group, std::uint64_t id, const ReplicatedRequest& request,
         ReplicatedHandler& handler)
      : group_(group),
        id_(id),
        wire_(request.wire),
        body_(request.body),
        is_read_(request.is_read()),
        is_safe_(request.is_safe()),
        is_head_(request.is_head()),
        asked_(group.sigmas_.newest()),
        handler_(&handler),
        age_timer_(group.loop_),
        tally_(group.size(), group.faults_) {
    note_.assign(request);
    for (NodeId origin = 0; origin < group.size(); ++origin)
      votes_.push_back(std::make_unique<Vote>(*this, origin));
  }

  void begin() {
    begun_ = std::chrono::steady_clock::now();
    http::ExchangeRequest request;
    request.wire = wire_;
    request.body = body_.get();
    request.answers_head = is_head_;
    if (is_read_ && !is_head_) request.piece_bytes = group_.profile_.block_bytes();
    // A write that an origin may have carried out already is not sent again.
    request.repeat_when_stale = is_safe_;
    request.fresh_connection = !is_safe_;
    for (NodeId origin = 0; origin < votes_.size(); ++origin)
      group_.origins_[origin]->start(votes_[origin]->exchange, request);
    if (body_ != nullptr) limit_age();
  }

  // Its client has left. The votes are still compared.
  void forget_handler() { handler_ = nullptr; }
  // Its origin's budget has bytes again.
  void resume(NodeId origin) {
    Vote& vote = *votes_[origin];
    if (!std::exchange(vote.is_paused, false) || !vote.exchange.active()) return;
    if (has_time()) return vote.exchange.resume();
    cut_off(vote);
  }
  [[nodiscard]] std::uint64_t id() const { return id_; }

 private:
  struct Vote final : http::OriginHandler {
    Vote(Ballot& of, NodeId from)
        : ballot(of),
          origin(from),
          collector(of.group_.profile_, of.group_.answer_bytes_max_),
          exchange(*this) {}
    void on_exchange_progress(http::OriginExchange& /*exchange*/,
                              http::Response& response) override {
      if (!collector.on_progress(response) || ballot.is_too_long(*this)) {
        exchange.cancel();
        return ballot.on_answer(*this, http::ExchangeEnd::too_large, response);
      }
      ballot.on_bytes(*this, collector.bytes_let_go() + response.body.size());
    }
    void on_exchange_end(http::OriginExchange& /*exchange*/, http::ExchangeEnd end,
                         http::Response& response) override {
      ballot.on_answer(*this, end, response);
    }
    Ballot& ballot;
    NodeId origin;
    sketch::AnswerCollector collector;
    http::OriginExchange exchange;
    std::uint64_t bytes = 0;  // of the body, so far
    bool is_paused = false;   // until its origin's budget has bytes
    std::uint16_t status = 0;
    std::optional<http::ExchangeEnd> ended;
  };

  // A large vote has the time of an answer for each block, but only as long as it may decide what
  // somebody waits for: an origin could go on for ever.
  [[nodiscard]] bool has_time() const {
    return handler_ != nullptr && std::chrono::steady_clock::now() - begun_ < group_.age_max_;
  }

  // An origin that takes a body has its time anew again and again; the client and the file are not
  // held for longer than this for it.
  void limit_age() {
    age_timer_.expires_after(group_.age_max_ + seconds(body_->size() / kBodyBytesPerSecondMin));
    age_timer_.async_wait([&group = group_, id = id_](const boost::system::error_code& error) {
      if (error) return;
      if (const auto found = group.ballots_.find(id); found != group.ballots_.end())
        found->second->on_too_old();
    });
  }

  void on_too_old() {
    for (const auto& vote : votes_) {
      if (vote->exchange.active()) cut_off(*vote);
    }
  }

  void cut_off(Vote& vote) {
    http::Response none;
    const http::ExchangeEnd end = vote.exchange.end_without_time();
    vote.exchange.cancel();
    on_answer(vote, end, none);
  }

  // The vote's body has grown to so many bytes. All of them are hashed here: an origin that sends
  // more than its budget has to wait.
  void on_bytes(Vote& vote, std::uint64_t bytes) {
    if (vote.is_paused) return;  // what had been read already; it is counted with what follows
    ByteBudget& budget = group_.budgets_[vote.origin];
    const TimePoint now = std::chrono::steady_clock::now();
    budget.take(bytes - std::exchange(vote.bytes, bytes), now);
    if (!budget.has_some(now)) return wait_for_budget(vote);
    if (vote.collector.bytes_let_go() > 0 && has_time()) vote.exchange.extend();
  }

  void wait_for_budget(Vote& vote) {
    if (!has_time()) return cut_off(vote);
    vote.is_paused = true;
    vote.exchange.pause();
    group_.resume_later(id_, vote.origin);
  }

  // A vote that can be equal to no other one need not be read to its end, if it has one: it is
  // longer than what is agreed on already; or there will be no agreement; or it is longer than all
  // others, which are whole.
  [[nodiscard]] bool is_too_long(const Vote& vote) const {
    const std::uint64_t bytes = vote.collector.bytes_let_go();
    switch (tally_.state()) {
      case VoteTally::State::agreed:
        return bytes > agreed_bytes_;
      case VoteTally::State::open:
        return tally_.left() == 1 && group_.faults_ > 0 && bytes > longest_bytes_;
      case VoteTally::State::disputed:
      case VoteTally::State::starved:
        return bytes > longest_bytes_;
    }
    UNREACHABLE();
  }

  // What any other is answered than a read can be read only once: it is whole, or has no form.
  [[nodiscard]] bool make_form(Vote& vote, http::Response& response, sketch::AnswerForm& form) {
    sketch::AnswerCanonicalizer& canonicalizer = group_.canonicalizer_;
    const sketch::AnswerFault fault =
        is_read_ ? vote.collector.finish(canonicalizer, response, is_head_, form)
                 : canonicalizer.canonicalize(response, is_head_, form);
    if (!canonicalizer.leaked().empty()) {
      group_.refutations_.on_leak(vote.origin, canonicalizer.leaked());
    }
    return fault == sketch::AnswerFault::none;
  }

  void on_answer(Vote& vote, http::ExchangeEnd end, http::Response& response) {
    const NodeId origin = vote.origin;
    vote.ended = end;
    sketch::AnswerForm form;
    const bool usable = end == http::ExchangeEnd::answered && make_form(vote, response, form);
    const bool formless = end == http::ExchangeEnd::answered && !usable;
    // One that had begun, and that nobody waited for any more, was not given its time.
    const bool is_cut_short = end == http::ExchangeEnd::timed_out && handler_ == nullptr &&
                              vote.collector.bytes_let_go() > 0;
    if (!is_cut_short)
      group_.refutations_.on_vote(origin, formless ? http::ExchangeEnd::malformed : end);
    const bool was_open = tally_.state() == VoteTally::State::open;
    if (usable) {
      votes_[origin]->status = form.status;
      longest_bytes_ = std::max(longest_bytes_, form.body_bytes());
      tally_.on_vote(origin, digest_of(form));
    } else {
      tally_.on_no_vote(origin);
    }
    if (tally_.state() == VoteTally::State::agreed) {
      if (was_open) {
        answer_ = sketch::encode(form);
        agreed_bytes_ = form.body_bytes();
      }
      report_refuted();
      report_strong_agreement();
    }
    if (tally_.state() != VoteTally::State::open && (is_safe_ || tally_.all_voted())) decide();
    if (tally_.all_voted()) group_.on_ended(*this);
  }

  void decide() {
    if (is_decided_) return;
    is_decided_ = true;
    group_.on_decided(*this);
    if (handler_ == nullptr) return;
    ReplicatedHandler& handler = *std::exchange(handler_, nullptr);
    if (is_uncertain()) return handler.on_replicated_failure(ReplicatedFailure::uncertain_write);
    switch (tally_.state()) {
      case VoteTally::State::agreed:
        return handler.on_replicated_answer(take_answer());
      case VoteTally::State::disputed:
        return handler.on_replicated_failure(ReplicatedFailure::no_agreement);
      case VoteTally::State::starved:
        return handler.on_replicated_failure(ReplicatedFailure::too_few_replicas);
      case VoteTally::State::open:
        break;
    }
    UNREACHABLE();
  }

  // A write that reached an origin, and that more than f have not answered as the others have.
  // Requires that all have voted, if it is one.
  [[nodiscard]] bool is_uncertain() const {
    if (is_safe_) return false;
    const bool is_certain = tally_.state() == VoteTally::State::agreed &&
                            tally_.agreeing() + group_.faults_ >= group_.size();
    return !is_certain && std::any_of(votes_.begin(), votes_.end(), [](const auto& vote) {
      return !http::is_unsent(*vote->ended);
    });
  }

  ReplicatedAnswer take_answer() {
    ReplicatedAnswer answer;
    answer.storage = std::move(answer_);
    const auto form = sketch::decode(answer.storage);
    ASSERT(form.has_value());
    answer.form = *form;
    answer.asked = asked_;
    answer.sigma = group_.sigmas_.next();
    answer.digest = tally_.agreed();
    return answer;
  }

  void report_strong_agreement() {
    // In a group of fewer than 3f+1, n - f may be f faulty ones and one that is correct.
    const std::uint32_t needed = std::max(group_.size() - group_.faults_, 2 * group_.faults_ + 1);
    if (is_strong_ || tally_.agreeing() < needed) return;
    is_strong_ = true;
    group_.refutations_.on_strong_agreement(id_);
  }

  void report_refuted() {
    for (std::uint64_t left = tally_.refuted() & ~reported_; left != 0; left &= left - 1) {
      const auto origin = static_cast<NodeId>(std::countr_zero(left));
      reported_ |= std::uint64_t{1} << origin;
      Refutation refutation;
      refutation.replica = origin;
      refutation.call = id_;
      note_.name_in(refutation);
      refutation.vote_digest = *tally_.vote(origin);
      refutation.agreed_digest = tally_.agreed();
      refutation.vote_status = votes_[origin]->status;
      group_.refutations_.on_refuted(refutation);
    }
  }

  VoteGroup& group_;
  std::uint64_t id_;
  RequestNote note_;
  std::string wire_;
  ByteSourcePtr body_;  // null, or behind the wire
  bool is_read_;
  bool is_safe_;  // it is answered as soon as f+1 agree
  bool is_head_;
  Sigma asked_;
  ReplicatedHandler* handler_;  // null once it has been called
  TimePoint begun_{};
  boost::asio::steady_timer age_timer_;
  VoteTally tally_;
  Bytes answer_;                     // once agreed, until it is taken
  std::uint64_t agreed_bytes_ = 0;   // of the agreed answer's body
  std::uint64_t longest_bytes_ = 0;  // of all whole votes' bodies
  bool is_strong_ = false;           // on_strong_agreement() was called
  bool is_decided_ = false;
  std::uint64_t reported_ = 0;  // bits of the origins
  std::vector<std::unique_ptr<Vote>> votes_;
};

VoteGroup::VoteGroup(boost::asio::io_context& loop, const VoteGroupSettings& settings,
                     const sketch::Profile& profile, http::OriginTimeouts& timeouts,
                     SigmaCounter& sigmas, RefutationHandler& refutations)
    : loop_(loop),
      faults_(settings.faults),
      takes_writes_(settings.takes_writes),
      ballots_max_(settings.ballots_max),
      age_max_(settings.age_max),
      profile_(profile),
      answer_bytes_max_(settings.origins.front().answer_limits.body_bytes_max),
      canonicalizer_(profile, settings.fields),
      resume_timer_(loop),
      sigmas_(sigmas),
      refutations_(refutations) {
  budgets_.assign(settings.origins.size(), ByteBudget(settings.vote_bytes_per_second));
  for (const http::OriginSettings& origin : settings.origins)
    origins_.push_back(std::make_unique<http::OriginPool>(loop, origin, timeouts));
}

VoteGroup::~VoteGroup() = default;

std::uint32_t VoteGroup::size() const {
  return static_cast<std::uint32_t>(origins_.size());
}

void VoteGroup::fast(http::OriginExchange& exchange, NodeId replica, std::string_view wire,
                     const FastForm& form) {
  start_fast_read(*origins_[replica], exchange, wire, form);
}

std::uint64_t VoteGroup::replicated(const ReplicatedRequest& request, ReplicatedHandler& handler) {
  const std::uint64_t id = ++last_id_;
  if (!takes_writes_ && !request.is_safe()) {
    refuse(id, ReplicatedFailure::writes_refused, handler);
  } else if (undecided_ >= ballots_max_) {
    refuse(id, ReplicatedFailure::overloaded, handler);
  } else {
    ++undecided_;
    ballots_.emplace(id, std::make_unique<Ballot>(*this, id, request, handler));
    // An exchange that cannot be begun ends at once: its handler is to know the id by then.
    boost::asio::post(loop_, [this, id] {
      if (const auto found = ballots_.find(id); found != ballots_.end()) found->second->begin();
    });
  }
  return id;
}

void VoteGroup::refuse(std::uint64_t id, ReplicatedFailure failure, ReplicatedHandler& handler) {
  refused_.emplace(id, &handler);
  boost::asio::post(loop_, [this, id, failure] {
    const auto found = refused_.find(id);
    if (found == refused_.end()) return;
    ReplicatedHandler& told = *found->second;
    refused_.erase(found);
    told.on_replicated_failure(failure);
  });
}

void VoteGroup::cancel_replicated(std::uint64_t id) {
  refused_.erase(id);
  if (const auto found = ballots_.find(id); found != ballots_.end())
    found->second->forget_handler();
}

void VoteGroup::resume_later(std::uint64_t ballot, NodeId origin) {
  paused_.push_back({ballot, origin});
  if (paused_.size() == 1) arm_resume();
}

void VoteGroup::arm_resume() {
  resume_timer_.expires_after(kBudgetPause);
  resume_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) resume_paused();
  });
}

// Each goes on with at least what has come meanwhile, and may have to wait again.
void VoteGroup::resume_paused() {
  const TimePoint now = std::chrono::steady_clock::now();
  for (const Paused& paused : std::exchange(paused_, {})) {
    if (!budgets_[paused.origin].has_some(now)) {
      paused_.push_back(paused);
    } else if (const auto found = ballots_.find(paused.ballot); found != ballots_.end()) {
      found->second->resume(paused.origin);
    }
  }
  if (!paused_.empty()) arm_resume();
}

// One of its exchanges is on the stack, here and below.
void VoteGroup::on_decided(Ballot& ballot) {
  --undecided_;
  decided_.push_back(ballot.id());
  if (decided_.size() <= kDecidedMax) return;
  const std::uint64_t oldest = decided_.front();
  decided_.pop_front();
  boost::asio::post(loop_, [this, oldest] { ballots_.erase(oldest); });
}

void VoteGroup::on_ended(Ballot& ballot) {
  boost::asio::post(loop_, [this, id = ballot.id()] {
    decided_.remove(id);
    ballots_.erase(id);
  });
}

}  // namespace prophecy::replica_client
