// `HandOverLinks` carry the messages of the hand-over, and members' reports, between this member's
// ring process and those of the others: one connection to each member that it asks, and those that
// members make.
//
// Members are those of the view that was set last, and of the one before: a member that leaves has
// something to hand over. Others get no further than the handshake; how many may be at it at once,
// and for how long, is bounded: beyond that, the oldest gives way. A member that connects anew has
// left its connection from before, which is closed.
//
// Single-threaded. Messages come from the loop, never from within a call of a member.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/io/timeout_ticker.hpp"
#include "base/log.hpp"
#include "dht/core/view.hpp"
#include "sketcher/client/acceptor.hpp"
#include "sketcher/counters/ring_counters.hpp"
#include "sketcher/installation/ring_tls.hpp"
#include "sketcher/ring/hand_over_link.hpp"

namespace prophecy::sketcher {

class HandOverLinks final : private HandOverLink::Owner {
 public:
  class Handler {
   public:
    // From the member with that name. Nothing: there is no answer.
    [[nodiscard]] virtual std::optional<dht::HandOverPage> on_ask(const dht::HandOverAsk& ask,
                                                                  const std::string& from) = 0;
    virtual void on_page(const dht::HandOverPage& page, const std::string& from) = 0;
    virtual void on_report_ask(const dht::ReportAsk& ask, const std::string& from) = 0;
    virtual void on_report_part(dht::ReportPart part, const std::string& from) = 0;
    // The connection to a member that was asked has ended, or could not be made: asks are lost.
    virtual void on_lost(const std::string& member) = 0;

   protected:
    ~Handler() = default;
  };

  // All but `listener` outlive it.
  HandOverLinks(boost::asio::io_context& loop, const RingTls& tls, UniqueFd listener,
                RingCounters& counters, Logger& log, Handler& handler);
  ~HandOverLinks();

  void start();
  void set_members(const dht::View& view);
  // Is lost if that member cannot be reached: whoever asks does so again.
  void ask(const std::string& member, const dht::HandOverAsk& ask);
  // False: nothing is known of that member, or no connection can be made.
  [[nodiscard]] bool ask_report(const std::string& member, const dht::ReportAsk& ask);
  // To a member that has asked. The part is lost if the member's connection has ended, or takes
  // less than the member asks for.
  void give_part(const std::string& member, const dht::ReportPart& part);
  // Connections that others have made.
  [[nodiscard]] std::size_t accepted() const { return accepted_.size(); }

 private:
  // Of those that are accepted: under way (all members may come at once), and open.
  static constexpr std::size_t kHandshakesMax = dht::kMembersMax;
  static constexpr std::size_t kMemberLinksMax = 2 * dht::kMembersMax;
  static constexpr std::size_t kWaitingMax =
      2 * dht::Taker::kAtOnce;  // asks, of a link that is not open yet

  struct Outgoing {
    std::unique_ptr<HandOverLink> link;
    std::deque<Bytes> waiting;
  };

  [[nodiscard]] std::optional<std::string> member_of(const HandOverLink& link,
                                                     const transport::TlsChannel& channel) override;
  void on_open(HandOverLink& link) override;
  void on_message(HandOverLink& link, dht::HandOverMessage message) override;
  void on_closed(HandOverLink& link, HandOverLink::End end) override;
  void on_accepted(UniqueFd socket);
  [[nodiscard]] bool send(const std::string& member, Bytes frame);
  void close_former(const HandOverLink& link);
  // The oldest of those that are accepted and open, or not open, gives way if there are so many.
  void make_room(bool is_open, std::size_t max);
  void destroy_later(std::unique_ptr<HandOverLink> link);

  boost::asio::io_context& loop_;
  const RingTls& tls_;
  RingCounters& counters_;
  Logger& log_;
  Handler& handler_;
  TimeoutQueue handshakes_;
  TimeoutTicker ticker_;
  Acceptor acceptor_;
  std::map<std::string, MemberAddress> addresses_;  // of the newest view, by the member's name
  std::map<std::string, MemberAddress> known_;      // and of the one before
  std::map<std::string, Outgoing> outgoing_;        // by the member's name
  std::vector<std::unique_ptr<HandOverLink>> accepted_;
  std::vector<std::unique_ptr<HandOverLink>> closed_;  // destroyed in a turn of their own
};

}  // namespace prophecy::sketcher
