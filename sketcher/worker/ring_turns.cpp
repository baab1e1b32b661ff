#include "sketcher/worker/ring_turns.hpp"

#include <utility>

#include <unistd.h>

namespace prophecy::sketcher {
namespace {

// Changes nothing; its answer, whatever it is, has a place in the order. No site has this name.
constexpr std::string_view kAuthority = "ring.prophecy.invalid";
constexpr std::string_view kWire = "OPTIONS * HTTP/1.1\r\nhost: ring.prophecy.invalid\r\n\r\n";

}  // namespace

RingTurns::RingTurns(boost::asio::io_context& loop, const WorkerTurns& turns,
                     const dht::Permissions& permissions, std::uint32_t worker, UniqueFd wake,
                     std::vector<OrderedGroup> groups, bool is_only, std::function<void()> on_words,
                     Logger& log)
    : turns_(turns),
      permissions_(permissions),
      worker_(worker),
      wake_(loop, wake.release()),
      is_only_(is_only),
      on_words_(std::move(on_words)),
      log_(log),
      timer_(loop) {
  for (OrderedGroup& group : groups)
    calls_.emplace_back(*this, std::move(group));
}

void RingTurns::start() {
  // A predecessor may have left a barrier; whoever asked for it asks again.
  ticket_ = turns_.wanted_barrier(worker_);
  wait();
}

void RingTurns::wait() {
  wake_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](const boost::system::error_code& error) {
                     if (error) return;
                     on_wake();
                     wait();
                   });
}

// A turn of its own: whatever was begun before it is over, or has a claim.
void RingTurns::on_wake() {
  std::uint64_t count = 0;
  static_cast<void>(!::read(wake_.native_handle(), &count, sizeof count));
  turns_.pass(worker_);
  const std::uint64_t wanted = turns_.wanted_barrier(worker_);
  if (wanted != ticket_) ask_groups(wanted);
  on_words_();
}

// In the newest view: once it is ordered, no write of an older one is carried out any more.
void RingTurns::ask_groups(std::uint64_t ticket) {
  ticket_ = ticket;
  view_ = permissions_.view();
  number_ = 0;
  have_all_ordered_ = true;
  awaited_ = calls_.size();
  for (Call& call : calls_)
    ask(call);
  timer_.cancel();
  if (is_only_) return;
  timer_.expires_after(kGroupWait);
  timer_.async_wait([this, ticket](const boost::system::error_code& error) {
    if (!error && ticket == ticket_ && awaited_ > 0) end_barrier(0);
  });
}

void RingTurns::ask(Call& call) {
  if (call.id != 0) call.group.group->cancel_replicated(call.id);
  call.submitted = call.group.order->submit();
  call.id = call.group.group->replicated(
      {.method = "OPTIONS", .authority = kAuthority, .target = "*", .wire = kWire, .view = view_},
      call);
}

// A number that may lie before others', though it was made after them, is none.
void RingTurns::Call::on_replicated_answer(replica_client::ReplicatedAnswer answer) {
  id = 0;
  const SigmaOrder::Placed placed = group.order->place(submitted, answer.sigma);
  if (placed.doubtful && owner.is_only_) return owner.fail();
  if (owner.is_only_) owner.number_ = placed.sigma;
  owner.pass_group(true);
}

// One for a view that is over is asked for again in the next one. If there is none, nobody takes a
// partition before an operator has done something about it.
void RingTurns::Call::on_replicated_failure(replica_client::ReplicatedFailure failure) {
  using replica_client::ReplicatedFailure;
  id = 0;
  const bool is_refused =
      failure == ReplicatedFailure::view_too_old || failure == ReplicatedFailure::view_too_new;
  if (is_refused && std::exchange(logged_view, owner.view_) != owner.view_)
    owner.log_refusal(*this, failure);
  if (is_refused || owner.is_only_) return owner.fail();
  owner.pass_group(false);
}

void RingTurns::log_refusal(const Call& call, replica_client::ReplicatedFailure failure) {
  log_.error("ring-view-refused",
             {{"group", call.group.name},
              {"view", view_},
              {"reason", replica_client::to_string(failure)},
              {"problem",
               "the agents have ordered a newer view, or this one is too far beyond it; if no "
               "newer view comes, see first_view in [ring], and epoch in the agents' status"}});
}

void RingTurns::fail() {
  if (awaited_ > 0) end_barrier(std::nullopt);
}

void RingTurns::pass_group(bool has_ordered) {
  if (awaited_ == 0) return;
  have_all_ordered_ = have_all_ordered_ && has_ordered;
  if (--awaited_ > 0) return;
  const Sigma whole = is_only_ ? number_ : 1;
  end_barrier(have_all_ordered_ ? whole : 0);
}

void RingTurns::end_barrier(std::optional<Sigma> number) {
  awaited_ = 0;
  timer_.cancel();
  turns_.end_barrier(worker_, ticket_, number);
}

}  // namespace prophecy::sketcher
