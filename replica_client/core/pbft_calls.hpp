// `PbftCalls` makes the sketcher's replicated calls to a PBFT group: it drives the PBFT client
// core, and turns what that reports into answers with their sigma and digest, failures, refutations
// and strong agreements.
//
// Until the group has agreed on something for the first time, a read that it cannot answer yet
// waits for it, up to the read's deadline: all programs may have been started at once.
//
// No handler is called but by report(). After each call the shell sends what is in sends(), and
// report() is wanted while has_reports(). Single-threaded; after each call, next_timer() is when
// on_tick() is next wanted.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pbft/client/client.hpp"
#include "replica_client/core/handlers.hpp"
#include "replica_client/core/request_note.hpp"

namespace prophecy::replica_client {

class PbftCalls {
 public:
  // `deadline` is of a call whose body is in its wire; a larger body gives it more time. `keys`
  // outlives this object.
  PbftCalls(const pbft::ClientSettings& settings, Duration deadline, const pbft::KeyRing& keys);

  // Before any other call.
  void start(TimePoint now) { started_ = now; }
  // As ReplicaGroup::replicated(). The handler outlives the call.
  std::uint64_t submit(const ReplicatedRequest& request, ReplicatedHandler& handler, TimePoint now);
  void cancel(std::uint64_t id, TimePoint now);
  // This replica and we know each other's session keys.
  void on_connected(NodeId replica) { client_.on_connected(replica, actions_); }
  void on_frame(ByteView frame, TimePoint now) { client_.on_frame(frame, now, actions_); }
  void on_tick(TimePoint now);
  [[nodiscard]] TimePoint next_timer() const;

  // The shell takes them out.
  [[nodiscard]] std::vector<pbft::Outgoing>& sends() { return actions_.sends; }
  [[nodiscard]] bool has_reports() const;
  // Calls the handlers. They may submit and cancel calls: the outermost report() takes care of what
  // that leads to as well.
  void report(RefutationHandler& refutations, TimePoint now);

  [[nodiscard]] const pbft::ClientCounters& counters() const { return client_.counters(); }

 private:
  // A safe call of the first moments, to be submitted again when the group says that it cannot
  // answer: its replicas and their origins may be starting, too.
  struct Repeat {
    std::string wire;
    TimePoint deadline;
    std::uint64_t view = 0;
  };
  struct Call {
    std::uint64_t id = 0;  // that the caller knows: of its first submission
    ReplicatedKind kind = ReplicatedKind::ordered;
    ReplicatedHandler* handler = nullptr;
    std::unique_ptr<Repeat> repeat;  // null: it ends as it does
  };
  // Of recent requests, for evidence that comes late.
  struct Note {
    pbft::CallId call = 0;
    std::uint64_t id = 0;
    RequestNote request;
  };
  static constexpr std::size_t kNotes = 1024;

  [[nodiscard]] Duration deadline_for(const ByteSource& body) const;
  [[nodiscard]] bool is_starting(TimePoint now) const {
    return !has_agreed_ && now - started_ < deadline_;
  }
  void finish(pbft::Completion& completion, TimePoint now);
  // False: it is not to be submitted again.
  [[nodiscard]] bool repeat_later(Call& call, TimePoint now);
  void repeat_all(TimePoint now);
  void report_refuted(const pbft::Refuted& refuted, RefutationHandler& refutations) const;
  // A call that was submitted again has the id of its first submission.
  [[nodiscard]] std::uint64_t id_of(pbft::CallId call) const;

  const Duration deadline_;
  pbft::Client client_;
  pbft::ClientActions actions_;
  bool is_reporting_ = false;
  std::unordered_map<pbft::CallId, Call> calls_;
  bool has_agreed_ = false;  // on anything yet
  TimePoint started_{};
  std::vector<Call> to_repeat_;
  TimePoint repeat_at_ = TimePoint::max();
  std::array<Note, kNotes> notes_;
};

}  // namespace prophecy::replica_client
