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
                     replica_client::ReplicaGroup& group, SigmaOrder& order, Logger& log)
    : turns_(turns),
      permissions_(permissions),
      worker_(worker),
      wake_(loop, wake.release()),
      group_(group),
      order_(order),
      log_(log) {}

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
  if (wanted != ticket_) ask_group(wanted);
}

void RingTurns::ask_group(std::uint64_t ticket) {
  if (call_ != 0) group_.cancel_replicated(call_);
  ticket_ = ticket;
  submitted_ = order_.submit();
  view_ = permissions_.view();
  // In the newest view: once it is ordered, no write of an older one is carried out any more.
  call_ = group_.replicated(
      {.method = "OPTIONS", .authority = kAuthority, .target = "*", .wire = kWire, .view = view_},
      *this);
}

// A number that may lie before others', though it was made after them, is none.
void RingTurns::on_replicated_answer(replica_client::ReplicatedAnswer answer) {
  call_ = 0;
  const SigmaOrder::Placed placed = order_.place(submitted_, answer.sigma);
  turns_.end_barrier(worker_, ticket_,
                     placed.doubtful ? std::nullopt : std::optional<Sigma>(placed.sigma));
}

// One for a view that is over is asked for again in the next one. If there is none, nobody takes a
// partition before an operator has done something about it.
void RingTurns::on_replicated_failure(replica_client::ReplicatedFailure failure) {
  using replica_client::ReplicatedFailure;
  call_ = 0;
  const bool is_refused =
      failure == ReplicatedFailure::view_too_old || failure == ReplicatedFailure::view_too_new;
  if (is_refused && std::exchange(refused_view_, view_) != view_) {
    log_.error("ring-view-refused",
               {{"view", view_},
                {"reason", replica_client::to_string(failure)},
                {"problem",
                 "the agents have ordered a newer view, or this one is too far beyond it; if no "
                 "newer view comes, see first_view in [ring], and epoch in the agents' status"}});
  }
  turns_.end_barrier(worker_, ticket_, std::nullopt);
}

}  // namespace prophecy::sketcher
