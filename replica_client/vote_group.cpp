#include "replica_client/vote_group.hpp"

#include <bit>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/assert.hpp"

namespace prophecy::replica_client {
namespace {

constexpr std::size_t kNotedHeadBytesMax = 1024;

std::string_view method_of(std::string_view wire) {
  return wire.substr(0, wire.find(' '));
}

}  // namespace

// One request at all origins, until the last of them has answered, or will not.
class VoteGroup::Ballot {
 public:
  Ballot(VoteGroup& group, std::uint64_t id, std::string_view wire, ReplicatedHandler& handler)
      : group_(group),
        id_(id),
        wire_(wire),
        is_read_(http::is_read_method(method_of(wire))),
        is_head_(method_of(wire) == "HEAD"),
        sigma_(group.sigmas_.next()),
        handler_(&handler),
        tally_(group.size(), group.faults_) {
    for (NodeId origin = 0; origin < group.size(); ++origin)
      votes_.push_back(std::make_unique<Vote>(*this, origin));
  }

  void begin() {
    http::ExchangeRequest request;
    request.wire = wire_;
    request.answers_head = is_head_;
    // A write that an origin may have carried out already is not sent again.
    request.repeat_when_stale = is_read_;
    request.fresh_connection = !is_read_;
    for (NodeId origin = 0; origin < votes_.size(); ++origin)
      group_.origins_[origin]->start(votes_[origin]->exchange, request);
  }

  // Its client has left. The votes are still compared.
  void forget_handler() { handler_ = nullptr; }
  [[nodiscard]] std::uint64_t id() const { return id_; }

 private:
  struct Vote final : http::OriginHandler {
    Vote(Ballot& of, NodeId from) : ballot(of), origin(from), exchange(*this) {}
    void on_exchange_end(http::OriginExchange& /*exchange*/, http::ExchangeEnd end,
                         http::Response& response) override {
      ballot.on_answer(origin, end, response);
    }
    Ballot& ballot;
    NodeId origin;
    http::OriginExchange exchange;
  };

  void on_answer(NodeId origin, http::ExchangeEnd end, const http::Response& response) {
    const bool was_open = tally_.state() == VoteTally::State::open;
    Bytes answer;
    sketch::AnswerForm form;
    const bool usable =
        end == http::ExchangeEnd::answered &&
        group_.canonicalizer_.canonicalize(response, is_head_, form) == sketch::AnswerFault::none;
    if (usable) {
      answer = sketch::encode(form);
      tally_.on_vote(origin, sha256(answer));
    } else {
      tally_.on_no_vote(origin);
    }
    switch (tally_.state()) {
      case VoteTally::State::open:
        break;
      case VoteTally::State::agreed:
        report_refuted();
        if (was_open) deliver(std::move(answer));
        break;
      case VoteTally::State::disputed:
        if (was_open) fail(ReplicatedFailure::no_agreement);
        break;
      case VoteTally::State::starved:
        if (was_open) fail(ReplicatedFailure::too_few_replicas);
        break;
    }
    if (tally_.all_voted()) group_.end(*this);
  }

  void deliver(Bytes encoded) {
    if (handler_ == nullptr) return;
    ReplicatedAnswer answer;
    answer.storage = std::move(encoded);
    const auto form = sketch::decode(answer.storage);
    ASSERT(form.has_value());
    answer.form = *form;
    answer.sigma = sigma_;
    std::exchange(handler_, nullptr)->on_replicated_answer(std::move(answer));
  }

  void fail(ReplicatedFailure failure) {
    if (handler_ != nullptr) std::exchange(handler_, nullptr)->on_replicated_failure(failure);
  }

  void report_refuted() {
    for (std::uint64_t left = tally_.refuted() & ~reported_; left != 0; left &= left - 1) {
      const auto origin = static_cast<NodeId>(std::countr_zero(left));
      reported_ |= std::uint64_t{1} << origin;
      group_.refutations_.on_refuted(
          {.replica = origin,
           .request_head = std::string_view(wire_).substr(0, kNotedHeadBytesMax),
           .vote_digest = *tally_.vote(origin),
           .agreed_digest = tally_.agreed()});
    }
  }

  VoteGroup& group_;
  std::uint64_t id_;
  std::string wire_;
  bool is_read_;
  bool is_head_;
  Sigma sigma_;
  ReplicatedHandler* handler_;  // null once it has been called
  VoteTally tally_;
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
      canonicalizer_(profile),
      sigmas_(sigmas),
      refutations_(refutations) {
  for (const http::OriginSettings& origin : settings.origins)
    origins_.push_back(std::make_unique<http::OriginPool>(loop, origin, timeouts));
}

VoteGroup::~VoteGroup() = default;

std::uint32_t VoteGroup::size() const {
  return static_cast<std::uint32_t>(origins_.size());
}

void VoteGroup::fast(http::OriginExchange& exchange, NodeId replica, std::string_view wire,
                     bool is_head) {
  start_fast_read(*origins_[replica], exchange, wire, is_head);
}

std::uint64_t VoteGroup::replicated(ReplicatedKind /*kind*/, std::string_view wire,
                                    ReplicatedHandler& handler) {
  const std::uint64_t id = ++last_id_;
  if (!takes_writes_ && !http::is_read_method(method_of(wire))) {
    refuse(id, ReplicatedFailure::writes_refused, handler);
  } else if (ballots_.size() >= ballots_max_) {
    refuse(id, ReplicatedFailure::overloaded, handler);
  } else {
    ballots_.emplace(id, std::make_unique<Ballot>(*this, id, wire, handler));
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

// One of its exchanges is on the stack.
void VoteGroup::end(Ballot& ballot) {
  boost::asio::post(loop_, [this, id = ballot.id()] { ballots_.erase(id); });
}

}  // namespace prophecy::replica_client
