// A group of kind pbft: fast reads go straight to an origin's HTTP port, replicated requests
// through PBFT, of which this process is a client with many sessions.
//
// Until the group has agreed on something for the first time, a read that it cannot answer yet
// waits for it, up to the read's deadline: all programs may have been started at once.
//
// Single-threaded, on the loop that it is given.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "http/client/origin_pool.hpp"
#include "pbft/client/client.hpp"
#include "pbft/core/key_exchange.hpp"
#include "pbft/transport/client_transport.hpp"
#include "pbft/transport/core_timer.hpp"
#include "pbft/transport/system_entropy.hpp"
#include "replica_client/group.hpp"
#include "replica_client/request_note.hpp"

namespace prophecy::replica_client {

struct PbftGroupSettings {
  pbft::ClientSettings client;
  std::vector<Endpoint> agents;  // in the order of the replicas' ids
  std::vector<http::OriginSettings> origins;
  Duration replicated_deadline = seconds(10);
  Duration key_refresh_interval = seconds(600);
};

class PbftGroup final : public ReplicaGroup {
 public:
  PbftGroup(boost::asio::io_context& loop, const PbftGroupSettings& settings,
            const pbft::KeyRing& keys, http::OriginTimeouts& timeouts,
            RefutationHandler& refutations, Logger& log);
  ~PbftGroup() override;

  void start() override;

  [[nodiscard]] std::uint32_t size() const override;
  [[nodiscard]] std::uint32_t faults() const override;
  void fast(http::OriginExchange& exchange, NodeId replica, std::string_view wire,
            const FastForm& form) override;
  std::uint64_t replicated(const ReplicatedRequest& request, ReplicatedHandler& handler) override;
  void cancel_replicated(std::uint64_t id) override;

 private:
  // A safe call of the first moments, to be submitted again when the group says that it cannot
  // answer: its replicas and their origins may be starting, too.
  struct Repeat {
    std::string wire;
    TimePoint deadline;
  };
  struct Call {
    std::uint64_t id = 0;  // that the caller knows: of its first submission
    ReplicatedKind kind = ReplicatedKind::ordered;
    ReplicatedHandler* handler = nullptr;
    std::unique_ptr<Repeat> repeat;  // null: it ends as it does
  };

  [[nodiscard]] Duration deadline_for(const ByteSource& body) const;
  void on_frame(NodeId replica, ByteView frame);
  void on_state(NodeId replica, bool connected);
  void on_key_timer();
  void follow_keys();
  void on_timer();
  void send_frames();
  // Carries out what the client's core asks for.
  void perform();
  void finish(pbft::Completion& completion);
  [[nodiscard]] bool is_starting() const;
  // False: it is not to be submitted again.
  [[nodiscard]] bool repeat_later(Call& call);
  void repeat_all();
  void report(const pbft::Refuted& refuted);

  // Of recent requests, for evidence that comes late.
  struct Note {
    pbft::CallId call = 0;
    std::uint64_t id = 0;
    RequestNote request;
  };
  static constexpr std::size_t kNotes = 1024;

  boost::asio::io_context& loop_;
  Duration deadline_;
  std::uint32_t faults_;
  std::vector<std::unique_ptr<http::OriginPool>> origins_;
  pbft::SystemEntropy entropy_;
  pbft::KeyExchange key_exchange_;
  pbft::Client client_;
  pbft::ClientTransport transport_;
  pbft::CoreTimer timer_;
  pbft::CoreTimer key_timer_;
  RefutationHandler& refutations_;
  Logger& log_;
  pbft::ClientActions actions_;
  bool performing_ = false;
  std::unordered_map<pbft::CallId, Call> calls_;
  bool has_agreed_ = false;  // on anything yet
  TimePoint started_{};
  std::vector<Call> to_repeat_;
  boost::asio::steady_timer repeat_timer_;
  std::array<Note, kNotes> notes_;
};

}  // namespace prophecy::replica_client
