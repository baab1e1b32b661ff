#include "sketcher/ring/hand_over_links.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "base/ip_address.hpp"
#include "transport/connecting.hpp"

namespace prophecy::sketcher {
namespace {

constexpr Duration kHandshake = seconds(5);
constexpr Duration kLinksTick = milliseconds(200);

}  // namespace

HandOverLinks::HandOverLinks(boost::asio::io_context& loop, const RingTls& tls, UniqueFd listener,
                             RingCounters& counters, Logger& log, Handler& handler)
    : loop_(loop),
      tls_(tls),
      counters_(counters),
      log_(log),
      handler_(handler),
      handshakes_(kHandshake),
      ticker_(loop, kLinksTick, {&handshakes_}),
      acceptor_(loop, std::move(listener),
                [this](UniqueFd socket, const IpAddress&) { on_accepted(std::move(socket)); }) {}

HandOverLinks::~HandOverLinks() = default;

void HandOverLinks::start() {
  ticker_.start();
  acceptor_.resume();
}

void HandOverLinks::set_members(const dht::View& view) {
  std::map<std::string, MemberAddress> former = std::move(addresses_);
  addresses_.clear();
  for (const dht::Member& member : view.members) {
    if (member.addresses.empty()) continue;
    const Endpoint& endpoint = member.addresses.back();
    if (const auto address = IpAddress::parse(endpoint.address))
      addresses_[member.holder.name] = {.address = *address, .port = endpoint.port};
  }
  known_ = addresses_;
  known_.merge(former);
}

void HandOverLinks::ask(const std::string& member, const dht::HandOverAsk& ask) {
  static_cast<void>(send(member, dht::encode_frame(ask)));
}

bool HandOverLinks::ask_report(const std::string& member, const dht::ReportAsk& ask) {
  return send(member, dht::encode_frame(ask));
}

void HandOverLinks::give_part(const std::string& member, const dht::ReportPart& part) {
  for (const auto& link : accepted_) {
    if (!link->is_open() || link->peer() != member) continue;
    if (link->unsent() <= HandOverLink::kUnsentMax) link->send(dht::encode_frame(part));
    return;
  }
}

bool HandOverLinks::send(const std::string& member, Bytes frame) {
  const auto known = known_.find(member);
  if (known == known_.end()) return false;
  Outgoing& outgoing = outgoing_[member];
  if (!outgoing.link) {
    UniqueFd socket = transport::start_connecting(known->second.address, known->second.port);
    if (!socket) return false;
    HandOverLink::Owner& owner = *this;
    outgoing.link = std::make_unique<HandOverLink>(transport::ReadinessLoop::of(loop_), handshakes_,
                                                   owner, std::move(socket));
    outgoing.link->connect([this, member](transport::ReadySocket& ready) {
      return tls_.client->connect(ready, member);
    });
  }
  if (outgoing.link->is_open()) {
    outgoing.link->send(frame);
  } else if (outgoing.waiting.size() < kWaitingMax) {
    outgoing.waiting.push_back(std::move(frame));
  }
  return true;
}

// Of an outgoing link, the one that is meant, whatever other names its certificate has. Whoever
// connects is known by its certificate alone, which may not leave a choice.
std::optional<std::string> HandOverLinks::member_of(const HandOverLink& link,
                                                    const transport::TlsChannel& channel) {
  for (const auto& [member, outgoing] : outgoing_) {
    if (outgoing.link.get() != &link) continue;
    return channel.peer_is_named(member) ? std::optional(member) : std::nullopt;
  }
  std::optional<std::string> found;
  for (const auto& [name, address] : known_) {
    if (!channel.peer_is_named(name)) continue;
    if (found) {
      log_.warning("hand-over-refused",
                   {{"member", *found},
                    {"problem", "its certificate has the name of another member too: " + name}});
      return std::nullopt;
    }
    found = name;
  }
  return found;
}

void HandOverLinks::on_open(HandOverLink& link) {
  const auto found = outgoing_.find(link.peer());
  if (found == outgoing_.end() || found->second.link.get() != &link) return close_former(link);
  while (!found->second.waiting.empty() && link.is_open()) {
    const Bytes frame = std::move(found->second.waiting.front());
    found->second.waiting.pop_front();
    link.send(frame);
  }
}

void HandOverLinks::close_former(const HandOverLink& link) {
  const auto former = std::find_if(accepted_.begin(), accepted_.end(), [&](const auto& other) {
    return other.get() != &link && other->is_open() && other->peer() == link.peer();
  });
  if (former != accepted_.end()) (*former)->close();
  make_room(true, kMemberLinksMax);
}

void HandOverLinks::make_room(bool is_open, std::size_t max) {
  const auto counts = [is_open](const auto& link) { return link->is_open() == is_open; };
  if (std::count_if(accepted_.begin(), accepted_.end(), counts) <= static_cast<std::ptrdiff_t>(max))
    return;
  (*std::find_if(accepted_.begin(), accepted_.end(), counts))
      ->close(is_open ? HandOverLink::End::lost : HandOverLink::End::silent);
}

void HandOverLinks::on_message(HandOverLink& link, dht::HandOverMessage message) {
  if (const auto* const page = std::get_if<dht::HandOverPage>(&message))
    return handler_.on_page(*page, link.peer());
  if (auto* const part = std::get_if<dht::ReportPart>(&message))
    return handler_.on_report_part(std::move(*part), link.peer());
  if (const auto* const ask = std::get_if<dht::ReportAsk>(&message))
    return handler_.on_report_ask(*ask, link.peer());
  const auto answer = handler_.on_ask(std::get<dht::HandOverAsk>(message), link.peer());
  if (answer && link.is_open()) link.send(dht::encode_frame(*answer));
}

void HandOverLinks::on_closed(HandOverLink& link, HandOverLink::End end) {
  if (end == HandOverLink::End::malformed) {
    counters_.frames_refused.add();
    log_.warning("hand-over-malformed", {{"member", link.peer()}});
  }
  for (auto& [member, outgoing] : outgoing_) {
    if (outgoing.link.get() != &link) continue;
    outgoing.waiting.clear();
    if (end == HandOverLink::End::stranger)
      log_.warning("hand-over-refused", {{"member", member}, {"problem", "TLS: not that member"}});
    destroy_later(std::move(outgoing.link));
    return handler_.on_lost(member);
  }
  if (end == HandOverLink::End::stranger || end == HandOverLink::End::silent)
    counters_.links_refused.add();
  const auto found = std::find_if(accepted_.begin(), accepted_.end(),
                                  [&](const auto& one) { return one.get() == &link; });
  if (found == accepted_.end()) return;
  destroy_later(std::move(*found));
  accepted_.erase(found);
}

void HandOverLinks::destroy_later(std::unique_ptr<HandOverLink> link) {
  if (closed_.empty()) boost::asio::post(loop_, [this] { closed_.clear(); });
  closed_.push_back(std::move(link));
}

void HandOverLinks::on_accepted(UniqueFd socket) {
  HandOverLink::Owner& owner = *this;
  accepted_.push_back(std::make_unique<HandOverLink>(transport::ReadinessLoop::of(loop_),
                                                     handshakes_, owner, std::move(socket)));
  accepted_.back()->accept(
      [this](transport::ReadySocket& ready) { return tls_.server->accept(ready); });
  make_room(false, kHandshakesMax);
}

}  // namespace prophecy::sketcher
