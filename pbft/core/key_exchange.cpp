#include "pbft/core/key_exchange.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

// Until an answer comes; doubles.
constexpr Duration kRetryMin = milliseconds(250);
constexpr Duration kRetryMax = seconds(4);
// A key is accepted for two intervals. Whoever asks four times in one has it long before.
constexpr int kAsksPerInterval = 4;
// And often enough to mend what went wrong: a key that was told and did not arrive.
constexpr Duration kAskPeriodMax = seconds(10);
// An answer costs two signatures: what one connection may cause.
constexpr Duration kTellPause = milliseconds(100);
// Later answers to our question are somebody's that held them back.
constexpr Duration kAnswerTimeMax = seconds(5);

bool is_set(const Nonce& nonce) {
  return nonce != Nonce{};
}

std::uint32_t in_milliseconds(Duration duration) {
  return static_cast<std::uint32_t>(std::chrono::duration_cast<milliseconds>(duration).count());
}

}  // namespace

KeyExchange::KeyExchange(const KeyRing& keys, const KeyExchangeSettings& settings, Entropy& entropy)
    : keys_(keys),
      sessions_(*keys.sessions()),
      settings_(settings),
      entropy_(entropy),
      links_(keys.replicas()) {
  ASSERT(settings.refresh_interval >= kKeyRefreshMin &&
         settings.refresh_interval <= kKeyRefreshMax);
}

void KeyExchange::start(TimePoint now) {
  if (sessions_.own()) {
    refresh_at_ = now + settings_.refresh_interval;
  } else {
    sessions_.set_sessions(settings_.sessions);
    refresh(now);
  }
  arm();
}

// Every 32 bytes are an X25519 private key.
void KeyExchange::refresh(TimePoint now) {
  KeyEpoch epoch;
  if (const auto own = sessions_.own()) {
    epoch = {own->epoch.incarnation, own->epoch.number + 1};
  } else {
    std::array<std::uint8_t, sizeof epoch.incarnation> bytes{};
    entropy_.fill(bytes);
    for (const std::uint8_t byte : bytes)
      epoch.incarnation = (epoch.incarnation << 8) | byte;
    epoch.number = 1;
  }
  PrivateKey secret;
  entropy_.fill(secret.bytes);
  const bool begun = sessions_.begin_epoch(epoch, secret);
  ASSERT(begun);
  ++counters_.keys_made;
  refresh_at_ = now + settings_.refresh_interval;
  // The others hear of it when they are asked, as they ask in turn.
  for (Link& link : links_) {
    if (link.connected) link.ask_at = now;
  }
}

Frame KeyExchange::on_connected(NodeId replica, TimePoint now) {
  ASSERT(replica < links_.size());
  Link& link = links_[replica];
  link = {};
  link.connected = true;
  link.retry = kRetryMin;
  Frame frame = ask(replica, now);
  arm();
  return frame;
}

void KeyExchange::on_disconnected(NodeId replica) {
  ASSERT(replica < links_.size());
  links_[replica] = {};
  arm();
}

Frame KeyExchange::ask(NodeId replica, TimePoint now) {
  Link& link = links_[replica];
  link.asked = draw_nonce();
  link.ask_at = now + link.retry;
  link.retry = std::min(link.retry * 2, kRetryMax);
  ++counters_.asked;
  return encode_key_ask(replica, link.asked, keys_);
}

Frame KeyExchange::tell(NodeId to, const Nonce& answered, const Nonce& asked) {
  KeyTellMessage message;
  message.to = to;
  message.answered = answered;
  message.asked = asked;
  message.announcement = *sessions_.own();
  message.refresh_milliseconds = in_milliseconds(settings_.refresh_interval);
  ++counters_.told;
  return encode_key_tell(message, keys_);
}

KeyExchange::Step KeyExchange::on_link_frame(NodeId replica, ByteView frame, TimePoint now) {
  ASSERT(replica < links_.size());
  Link& link = links_[replica];
  if (peek_header(frame)->type == MessageType::key_refusal) {
    return on_refusal(replica, link.answered, frame);
  }
  const auto message = decode_key_tell(frame);
  if (!message || message->from != replica || message->to != keys_.self() || !is_set(link.asked) ||
      message->answered != link.asked) {
    return drop();
  }
  Step step = learn(*message);
  if (!step.authentic) {
    step.answer = encode_key_refusal(replica, message->asked, keys_);
    return step;
  }
  link.asked = {};
  link.answered = message->asked;
  link.retry = kRetryMin;
  const Duration theirs =
      std::max<Duration>(milliseconds(message->refresh_milliseconds), kKeyRefreshMin);
  const Duration shorter = std::min(theirs, settings_.refresh_interval);
  link.ask_at = now + std::min(shorter / kAsksPerInterval, kAskPeriodMax);
  if (is_set(message->asked)) step.answer = tell(replica, message->asked, {});
  arm();
  return step;
}

KeyExchange::Step KeyExchange::learn(const KeyTellMessage& message) {
  Step step;
  if (!keys_.verify_signature(message.from, sha256(message.content), message.signature)) {
    ++counters_.wrong_keys;
    report(KeyEvent::Kind::wrong_keys, message.from);
    return step;
  }
  step.authentic = true;
  reported_.erase(message.from);
  if (sessions_.install(message.from, message.announcement) == SessionKeys::Installed::fresh) {
    step.learnt = true;
    ++counters_.keys_learnt;
    overtake_questions(message.from);
  }
  return step;
}

// An answer that an ended run has given elsewhere, and that comes now, must not bring it back. Of a
// client there may be several runs at a time. Where both sides ask each other at once, each answer
// is overtaken by the other connection's, and has to prove its own connection all the same.
void KeyExchange::overtake_questions(NodeId member) {
  if (is_client(member)) return;
  links_[member].asked = {};
  for (auto& [id, conversation] : conversations_) {
    if (conversation.member == member) conversation.is_overtaken = true;
  }
}

KeyExchange::Step KeyExchange::on_accepted_frame(ConversationId conversation, ByteView frame,
                                                 TimePoint now) {
  switch (peek_header(frame)->type) {
    case MessageType::key_ask:
      return on_ask(conversation, frame, now);
    case MessageType::key_tell:
      return on_tell(conversation, frame, now);
    default:
      break;
  }
  const auto found = conversations_.find(conversation);
  if (found == conversations_.end()) return drop();
  return on_refusal(found->second.member, found->second.asked, frame);
}

KeyExchange::Step KeyExchange::on_ask(ConversationId conversation, ByteView frame, TimePoint now) {
  const auto message = decode_key_ask(frame);
  if (!message || message->to != keys_.self() || !keys_.knows(message->from) || !sessions_.own()) {
    return drop();
  }
  const auto [entry, is_new] = conversations_.try_emplace(conversation);
  Conversation& state = entry->second;
  if (!is_new && now - state.told_at < kTellPause) return drop();
  state = {message->from, draw_nonce(), now, false};
  Step step;
  step.answer = tell(message->from, message->nonce, state.asked);
  return step;
}

KeyExchange::Step KeyExchange::on_tell(ConversationId conversation, ByteView frame, TimePoint now) {
  const auto message = decode_key_tell(frame);
  const auto found = conversations_.find(conversation);
  if (!message || found == conversations_.end() || message->from != found->second.member ||
      message->to != keys_.self() || !is_set(found->second.asked) ||
      message->answered != found->second.asked || now - found->second.told_at > kAnswerTimeMax) {
    return drop();
  }
  if (found->second.is_overtaken && !sessions_.is_newest(message->from, message->announcement)) {
    return drop();
  }
  const Nonce asked = std::exchange(found->second.asked, {});
  Step step = learn(*message);
  if (!step.authentic) step.answer = encode_key_refusal(message->from, asked, keys_);
  return step;
}

KeyExchange::Step KeyExchange::on_refusal(NodeId member, const Nonce& expected, ByteView frame) {
  const auto message = decode_key_refusal(frame);
  if (!message || message->from != member || message->to != keys_.self() || !is_set(expected) ||
      message->nonce != expected) {
    return drop();
  }
  ++counters_.refusals;
  report(KeyEvent::Kind::refused, member);
  return {};
}

void KeyExchange::on_accepted_closed(ConversationId conversation) {
  conversations_.erase(conversation);
}

void KeyExchange::on_tick(TimePoint now, std::vector<Outgoing>& sends) {
  if (now >= refresh_at_) refresh(now);
  for (NodeId replica = 0; replica < links_.size(); ++replica) {
    if (links_[replica].connected && now >= links_[replica].ask_at) {
      sends.push_back({replica, 0, ask(replica, now)});
    }
  }
  arm();
}

void KeyExchange::arm() {
  next_timer_ = refresh_at_;
  for (const Link& link : links_) {
    if (link.connected) next_timer_ = std::min(next_timer_, link.ask_at);
  }
}

KeyExchange::Step KeyExchange::drop() {
  ++counters_.dropped;
  return {};
}

void KeyExchange::report(KeyEvent::Kind kind, NodeId member) {
  const std::uint32_t bit = 1U << static_cast<unsigned>(kind);
  std::uint32_t& reported = reported_[member];
  if ((reported & bit) != 0) return;
  reported |= bit;
  events_.push_back({kind, member});
}

std::vector<KeyEvent> KeyExchange::take_events() {
  return std::exchange(events_, {});
}

Nonce KeyExchange::draw_nonce() {
  Nonce nonce;
  entropy_.fill(nonce);
  return nonce;
}

}  // namespace prophecy::pbft
