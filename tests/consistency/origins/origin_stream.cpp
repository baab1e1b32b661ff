#include "consistency/origins/origin_stream.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.hpp"
#include "consistency/origins/bodies.hpp"
#include "consistency/origins/origin_links.hpp"

namespace prophecy::consistency {

using http::ExchangeEnd;

void OriginStream::start(std::size_t origin, std::string_view wire,
                         const replica_client::FastForm& asked, OriginLinks* links, TimePoint now) {
  ASSERT(!is_active_);
  is_active_ = true;
  is_paused_ = has_begun_ = is_made_ = false;
  origin_ = origin;
  wire_ = wire;
  asked_ = asked;
  patience_ = kPatience;
  on_link_ = Event::none;
  if (links != nullptr && is_shareable()) {
    links_ = links;
    return links->join(*this, origin, wire_, now);
  }
  if (random_.chance(50)) ask();
}

void OriginStream::cancel() {
  is_active_ = false;
  if (links_ != nullptr) std::exchange(links_, nullptr)->leave(*this);
}

void OriginStream::end_answered(http::Response response) {
  links_ = nullptr;
  response_ = std::move(response);
  on_link_ = Event::answered;
}

void OriginStream::end_failed(ExchangeEnd end) {
  links_ = nullptr;
  end_ = end;
  on_link_ = Event::failed;
}

void OriginStream::put_back() {
  links_ = nullptr;
}

void OriginStream::pause() {
  is_paused_ = true;
  brings_once_more_ = has_begun_ && random_.chance(50);
}

void OriginStream::resume() {
  is_paused_ = false;
  patience_ = std::max(patience_, 1U);
}

// The origin answers now, however long its answer is under way.
void OriginStream::ask() {
  is_made_ = true;
  answer_ = origins_.answer(origin_, parse_page_request(wire_));
}

OriginStream::Event OriginStream::finish(Event event, ExchangeEnd end) {
  is_active_ = false;
  end_ = end;
  return event;
}

OriginStream::Event OriginStream::fail_somehow() {
  constexpr std::array<ExchangeEnd, 8> kBefore{ExchangeEnd::not_sent,  ExchangeEnd::stale,
                                               ExchangeEnd::broken,    ExchangeEnd::timed_out,
                                               ExchangeEnd::shed,      ExchangeEnd::overloaded,
                                               ExchangeEnd::malformed, ExchangeEnd::tls_failed};
  constexpr std::array<ExchangeEnd, 3> kWithin{ExchangeEnd::broken, ExchangeEnd::timed_out,
                                               ExchangeEnd::shed};
  return finish(Event::failed, has_begun_ ? kWithin[random_.below(kWithin.size())]
                                          : kBefore[random_.below(kBefore.size())]);
}

OriginStream::Event OriginStream::advance(std::uint64_t failing_percent, TimePoint now) {
  ASSERT(is_active_);
  brought_ = 0;
  if (links_ != nullptr) {
    links_->advance(*this, failing_percent, now);
    if (on_link_ == Event::none) return Event::none;
  }
  if (on_link_ != Event::none) return finish(on_link_, end_);
  if (is_paused_) {
    if (!std::exchange(brings_once_more_, false)) return Event::none;
    bring(random_.below(kBlockBytes));
    return Event::progress;
  }
  if (failing_percent > 0 && random_.chance(failing_percent)) return fail_somehow();
  return has_begun_ ? go_on() : begin();
}

OriginStream::Event OriginStream::begin() {
  if (!is_made_) ask();
  if (!answer_) return finish(Event::failed, ExchangeEnd::timed_out);
  const PageRequest request = parse_page_request(wire_);
  response_ = answer_->head(request);
  body_ = answer_->body(request);
  if (asked_.is_streamed && random_.chance(50)) drop_length();
  const bool is_whole = asked_.piece_bytes == 0 || body_.size() <= asked_.whole_bytes;
  if (is_whole) {
    switch (answer_->manner) {
      case Manner::whole:
        response_.body = body_;
        return finish(Event::answered);
      case Manner::cut:
        return finish(Event::failed, ExchangeEnd::broken);
      case Manner::stuck:
      case Manner::dripping:
        return finish(Event::failed, ExchangeEnd::timed_out);
      case Manner::endless:
        return finish(Event::failed, ExchangeEnd::too_large);
    }
  }
  has_begun_ = true;
  position_ = 0;
  stops_at_ = random_.below(body_.size() + 1);
  bring(random_.chance(50) ? 0 : 100);
  return Event::progress;
}

OriginStream::Event OriginStream::go_on() {
  if (patience_ == 0) return finish(Event::failed, ExchangeEnd::timed_out);
  --patience_;
  const Manner manner = answer_->manner;
  const bool is_at_stop = position_ >= stops_at_;
  if (manner == Manner::cut && is_at_stop) return finish(Event::failed, ExchangeEnd::broken);
  if (manner == Manner::stuck && is_at_stop) return Event::none;
  if (manner == Manner::dripping) {
    bring(1);
  } else {
    bring(random_.chance(50) ? kBlockBytes : random_.below(kBlockBytes));
  }
  if (manner == Manner::whole && position_ == body_.size()) return finish(Event::answered);
  const std::size_t enough = asked_.is_streamed ? 1 : std::min(asked_.piece_bytes, kBlockBytes);
  const bool is_piece = response_.body.size() >= enough;
  return is_piece ? Event::progress : Event::none;
}

// As an origin that does not know how long its answer will be.
void OriginStream::drop_length() {
  http::FieldList others;
  for (std::size_t i = 0; i < response_.fields.size(); ++i) {
    if (response_.fields.name(i) != "content-length")
      others.add(response_.fields.name(i), response_.fields.value(i));
  }
  response_.fields = others;
}

void OriginStream::bring(std::size_t bytes) {
  brought_ = std::min(bytes, body_.size() - position_);
  response_.body.append(body_, position_, brought_);
  position_ += brought_;
  if (answer_->manner != Manner::endless) return;
  response_.body.append(bytes - brought_, 'x');
  brought_ = bytes;
}

}  // namespace prophecy::consistency
