#include "sketcher/client/http/http1_session.hpp"

#include <iterator>

#include <fmt/format.h>

#include "base/assert.hpp"

namespace prophecy::sketcher {

using transport::IoResult;
using transport::IoStatus;

namespace {

constexpr std::size_t kKeptBytesMax = 2 << 10;
// Less than that is copied when the stream does not take it.
constexpr std::size_t kSwappedBytesMin = 128 << 10;

void shrink(std::string& text) {
  if (text.capacity() > kKeptBytesMax) std::string().swap(text);
}

}  // namespace

Http1Session::Http1Session(SessionResources& resources, SessionHost& host)
    : resources_(resources),
      host_(host),
      parser_(request_, resources.limits),
      intake_(resources.spool, *this),
      handler_(resources.handlers.make(*this)),
      untaken_(resources.untaken),
      arriving_(resources.arriving),
      asking_(resources.asking) {
  ++resources_.http1_sessions;
}

Http1Session::~Http1Session() {
  --resources_.http1_sessions;
}

void Http1Session::wait(Wait what) {
  waits_ = what;
  host_.wait(what, now_);
}

void Http1Session::stop_waiting() {
  if (std::exchange(waits_, std::nullopt)) host_.stop_waiting();
}

void Http1Session::start(std::string_view read, TimePoint now) {
  now_ = now;
  wait(Wait::header);
  unparsed_.assign(read);
  host_.take_input(now_);
}

void Http1Session::on_ready(TimePoint now) {
  now_ = now;
  switch (state_) {
    case State::body:
      // "100 Continue", which the client waits for.
      if (!output_.empty()) output_.erase(0, host_.write(output_).size);
      return host_.take_input(now_);
    case State::head:
      return host_.take_input(now_);
    case State::exchanging:
      if (handler_->streams() && host_.hangs_up()) return close();
      if (host_.broken()) look_for_client();
      return;
    case State::sending:
      if (host_.broken() || (handler_->streams() && host_.hangs_up())) return close();
      return output_.empty() ? void() : flush();
    case State::flushing:
      return flush();
    case State::finished:
      return;
  }
}

bool Http1Session::begin_turn(TimePoint now) {
  now_ = now;
  requests_ = 0;
  if (reading()) take_unparsed();
  return takes_more();
}

bool Http1Session::takes_more() {
  if (!reading()) return false;
  if (requests_ < kRequestsOfTurn) return true;
  host_.call_again();
  return false;
}

bool Http1Session::on_bytes(std::string_view bytes, TimePoint now) {
  now_ = now;
  if (state_ == State::body && progress_.moved(bytes.size())) {
    if (!intake_.has_time(now)) {
      on_body_refused();
      return false;
    }
    wait(Wait::body);
  }
  const std::size_t parsed = parse(bytes);
  if (parsed < bytes.size() && (state_ != State::finished || tunnel_)) {
    unparsed_.assign(bytes.substr(parsed));
  }
  return takes_more();
}

void Http1Session::end_turn() {
  count_arriving();
  if (!tunnel_) return;
  TunnelRequest tunnel = std::move(*tunnel_);
  tunnel_.reset();
  const std::string unparsed = std::exchange(unparsed_, {});
  host_.become_tunnel(std::move(tunnel), std::string_view(unparsed).substr(unparsed_begin_));
}

void Http1Session::count_arriving() {
  if (state_ == State::finished) return arriving_.set(0);
  // Requests that wait for others of their client have no right to the last of the room: it may ask
  // again.
  if (!unparsed_.empty() && !reading() && keep_alive_ && resources_.arriving.half_used()) {
    resources_.count_refusal("too-much-arriving");
    keep_alive_ = false;
  }
  if (!reading() && !keep_alive_) drop_unparsed();
  std::size_t bytes = unparsed_.empty() ? 0 : unparsed_.capacity();
  // The canonical form of a head is made before its body is there.
  if (reading() && !parser_.idle()) bytes += request_.held_bytes() + handler_->request_bytes();
  arriving_.set(bytes);
}

void Http1Session::take_unparsed() {
  if (unparsed_.empty()) return;
  unparsed_begin_ += parse(std::string_view(unparsed_).substr(unparsed_begin_));
  if (unparsed_begin_ == unparsed_.size()) drop_unparsed();
}

void Http1Session::drop_unparsed() {
  unparsed_.clear();
  shrink(unparsed_);
  unparsed_begin_ = 0;
}

std::size_t Http1Session::parse(std::string_view input) {
  std::size_t parsed = 0;
  while (reading()) {
    if (state_ == State::head && parser_.idle()) {
      if (parsed == input.size() || requests_ >= kRequestsOfTurn) return parsed;
    }
    const http::ParseProgress progress = parser_.feed(input.substr(parsed));
    parsed += progress.consumed;
    switch (progress.state) {
      case http::ParseState::need_more:
        ASSERT(parsed == input.size());
        // Most heads come whole, and need no time. The first byte of this one has come just now.
        if (state_ == State::head && waits_ != Wait::header) wait(Wait::header);
        if (state_ == State::body && !take_body()) on_body_refused();
        return parsed;
      case http::ParseState::head_done:
        on_head();
        break;
      case http::ParseState::failed:
        give_up(parser_.failure().status, parser_.failure().reason);
        break;
      case http::ParseState::complete:
        on_request();
        break;
    }
  }
  return parsed;
}

void Http1Session::on_head() {
  refusal_.reset();
  state_ = State::body;
  if (!parser_.has_body()) return;  // the request is whole
  refusal_ = handler_->refuse_by_head(request_, host_.client(), parser_.plain_bytes_left());
  // Who waits to be asked for the body is told at once. Others send it anyway, and some of them
  // look at no answer before they have: it is dropped as it comes.
  if (refusal_ && parser_.expects_continue()) return refuse(refusal_->status, refusal_->reason);
  progress_.restart();
  intake_.begin(now_);
  wait(Wait::body);
  if (!parser_.expects_continue()) return;
  // What the stream does not take now goes out as soon as it does, at the latest in front of the
  // answer.
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  const IoResult result = host_.write(kContinue);
  output_.append(kContinue.substr(result.size));
}

bool Http1Session::take_body() {
  // A body of chunks might have been empty, as a read's has to be.
  if (!refusal_ && !request_.body.empty() && http::is_read_method(request_.method)) {
    refusal_ = handler_->refuse_by_head(request_, host_.client(), request_.body.size());
  }
  if (!refusal_) return intake_.take(request_.body);
  request_.body.clear();
  return true;
}

void Http1Session::on_request() {
  ++requests_;
  if (refusal_) return refuse(refusal_->status, refusal_->reason);
  if (!intake_.take(request_.body) || !intake_.finish(request_)) return on_body_refused();
  stop_waiting();
  state_ = State::exchanging;
  keep_alive_ = request_.keep_alive && !draining_;
  handler_->start(request_, host_.client(), now_);
  if (state_ != State::exchanging) return;
  asking_.set(request_.held_bytes() + handler_->request_bytes());
  if (handler_->streams() && host_.hangs_up()) return close();
  if (host_.broken()) look_for_client();
}

AnswerContext Http1Session::answer_context() const {
  return {.answers_head = request_.method == "HEAD",
          .conditions = conditions_of(request_),
          .date = resources_.date.now(),
          .via = resources_.via,
          .ruling = handler_->ruling()};
}

void Http1Session::on_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                             std::string* storage) {
  now_ = host_.now();
  const AnswerContext context = answer_context();
  send(Answer(form, sketch, context), storage);
}

void Http1Session::on_error(std::uint16_t status, std::string_view reason) {
  now_ = host_.now();
  // What we do not understand or cannot serve as asked may be the start of something worse.
  if (status >= 400 && status < 500) keep_alive_ = false;
  const AnswerContext context = answer_context();
  send(Answer(status, reason, context), nullptr);
}

void Http1Session::on_tunnel(TunnelRequest tunnel) {
  state_ = State::finished;
  tunnel_ = std::move(tunnel);
}

void Http1Session::on_body_refused() {
  if (intake_.failure().status == 408) resources_.counters.timeouts.add();
  give_up(intake_.failure().status, intake_.failure().reason);
}

void Http1Session::give_up(std::uint16_t status, std::string_view reason) {
  if (refusal_) return refuse(refusal_->status, refusal_->reason);
  resources_.count_refusal(reason);
  refuse(status, reason);
}

void Http1Session::refuse(std::uint16_t status, std::string_view reason) {
  state_ = State::exchanging;
  keep_alive_ = false;
  intake_.drop();
  std::string().swap(request_.body);
  arriving_.set(0);
  on_error(status, reason);
}

void Http1Session::on_large_begin(const sketch::AnswerForm& form,
                                  const std::optional<Sketch>& sketch) {
  now_ = host_.now();
  const AnswerContext context = answer_context();
  begin(Answer(form, sketch, context));
}

void Http1Session::on_passed(const http::Response& answer) {
  now_ = host_.now();
  const AnswerContext context = answer_context();
  send(Answer(answer, answer.body.size(), context), nullptr);
}

void Http1Session::on_passed_begin(const http::Response& head, std::uint64_t size) {
  now_ = host_.now();
  const AnswerContext context = answer_context();
  begin(Answer(head, size, context));
}

void Http1Session::begin(const Answer& answer) {
  ASSERT(state_ == State::exchanging);
  stop_waiting();
  asking_.set(0);
  progress_.restart();
  state_ = State::sending;
  is_chunked_ = answer.is_open_ended() && request_.version_minor > 0;
  // To HTTP/1.0, the end of the connection is the end of such a body.
  if (answer.is_open_ended() && !is_chunked_) keep_alive_ = false;
  const bool is_open = write(answer, nullptr);
  let_go_of_request();
  if (is_open && !output_.empty()) flush();
}

bool Http1Session::on_large_bytes(std::string& storage, std::size_t begin, std::size_t size) {
  if (state_ != State::sending) return false;  // closed
  now_ = host_.now();
  if (is_chunked_) {
    const bool is_first = output_.empty();
    append_chunk(std::string_view(storage).substr(begin, size));
    if (is_first) flush();
    return state_ == State::sending && output_.empty();
  }
  if (!output_.empty()) {
    output_.append(storage, begin, size);
    return false;
  }
  const IoResult result = host_.write(std::string_view(storage).substr(begin, size));
  if (result.status == IoStatus::failed) {
    close();
    return false;
  }
  if (result.size == size) return true;
  storage.resize(begin + size);
  std::swap(output_, storage);
  output_begin_ = begin + result.size;
  flush();
  return state_ == State::sending && output_.empty();
}

void Http1Session::on_large_end(bool whole) {
  if (state_ != State::sending) return;
  if (!whole) return close();
  now_ = host_.now();
  state_ = State::flushing;
  const bool is_first = output_.empty();
  if (is_chunked_) output_ += "0\r\n\r\n";
  if (output_.empty()) return flushed();
  if (is_first) flush();
}

void Http1Session::append_chunk(std::string_view bytes) {
  fmt::format_to(std::back_inserter(output_), "{:x}\r\n", bytes.size());
  output_.append(bytes).append("\r\n");
}

void Http1Session::send(const Answer& answer, std::string* storage) {
  ASSERT(state_ == State::exchanging);
  is_chunked_ = false;
  state_ = State::flushing;
  stop_waiting();
  asking_.set(0);
  progress_.restart();
  if (!write(answer, storage)) return;
  if (output_.empty()) return flushed();
  let_go_of_request();
  flush();
}

void Http1Session::let_go_of_request() {
  request_.fields.clear_and_shrink(0);
  std::string().swap(request_.body);
  if (!handler_->is_idle()) return;
  std::string().swap(request_.target);
  handler_->shrink(0);
}

bool Http1Session::write(const Answer& answer, std::string* storage) {
  resources_.scratch.clear();
  append_head(
      resources_.scratch, answer,
      {.keep_alive = keep_alive_, .version_minor = request_.version_minor, .chunked = is_chunked_});
  std::string_view head = resources_.scratch;
  std::string_view body = answer.body();
  if (output_.empty()) {
    const IoResult result = host_.write(head, body);
    if (result.status == IoStatus::failed) {
      close();
      return false;
    }
    const std::size_t of_head = std::min(result.size, head.size());
    head.remove_prefix(of_head);
    body.remove_prefix(result.size - of_head);
    // The body as it is, rather than a copy of much of it.
    if (storage != nullptr && head.empty() && body.size() >= kSwappedBytesMin &&
        answer.body_is_in(*storage)) {
      output_begin_ = static_cast<std::size_t>(body.data() - storage->data());
      storage->resize(output_begin_ + body.size());
      std::swap(output_, *storage);
      return true;
    }
  }
  output_.append(head).append(body);
  return true;
}

void Http1Session::flush() {
  const std::size_t begin = output_begin_;
  const bool wait_begins = !waits_;
  while (output_begin_ < output_.size()) {
    const IoResult result = host_.write(std::string_view(output_).substr(output_begin_));
    if (result.status == IoStatus::failed) return close();
    output_begin_ += result.size;
    // All that is held, be most of it taken, and what is left of the request.
    untaken_.set(output_begin_ < output_.size()
                     ? output_.capacity() + request_.held_bytes() + handler_->request_bytes()
                     : 0);
    const bool enough = progress_.moved(result.size);
    if (enough || !waits_) wait(Wait::send);
    if (result.status == IoStatus::blocked) {
      if (wait_begins || output_begin_ > begin) queue_.begin(host_.queued_bytes());
      return;
    }
  }
  release_output();
  if (state_ == State::flushing) return flushed();
  stop_waiting();  // it is an origin that is waited for
  handler_->on_writable();
}

void Http1Session::release_output() {
  output_.clear();
  if (output_.capacity() >= kSwappedBytesMin) {
    resources_.bodies.give_back(output_);
  } else {
    shrink(output_);
  }
  output_begin_ = 0;
}

// The next request, or the end.
void Http1Session::flushed() {
  if (!keep_alive_ || draining_) {
    state_ = State::finished;
    return host_.finish();
  }
  parser_.reset();
  handler_->shrink(kKeptBytesMax);
  request_.fields.clear_and_shrink(kKeptBytesMax);
  shrink(request_.target);
  shrink(request_.body);
  state_ = State::head;
  wait(Wait::idle);
  if (!unparsed_.empty() || host_.has_input()) host_.take_input(now_);
}

void Http1Session::look_for_client() {
  if (handler_->asks_group()) return close();
  // The fast read may yet lead to the group.
  wait(Wait::presence);
}

void Http1Session::cut_off() {
  resources_.counters.timeouts.add();
  close();
}

void Http1Session::on_no_room(TimePoint now) {
  const bool writing = state_ == State::sending || state_ == State::flushing;
  if (!writing) return on_late(now);
  waits_.reset();
  cut_off();
}

void Http1Session::on_late(TimePoint now) {
  now_ = now;
  waits_.reset();
  switch (state_) {
    case State::exchanging:
      return look_for_client();
    case State::sending:
    case State::flushing:
      if (!queue_.went_on(host_.queued_bytes())) return cut_off();
      return wait(Wait::send);
    case State::head:
      if (parser_.idle()) return close();
      break;
    default:
      break;
  }
  resources_.counters.timeouts.add();
  give_up(408, "request-timeout");
}

void Http1Session::drain() {
  draining_ = true;
  keep_alive_ = false;
  if (state_ != State::head || !parser_.idle() || !unparsed_.empty()) return;
  state_ = State::finished;
  host_.finish();
}

void Http1Session::close() {
  state_ = State::finished;
  host_.close();
}

void Http1Session::abandon() {
  state_ = State::finished;
  stop_waiting();
  untaken_.set(0);
  arriving_.set(0);
  asking_.set(0);
  intake_.drop();
  handler_->abandon();
}

}  // namespace prophecy::sketcher
