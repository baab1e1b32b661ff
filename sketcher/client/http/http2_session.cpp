#include "sketcher/client/http/http2_session.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "sketcher/client/http/http2_session_stream.hpp"

namespace prophecy::sketcher {

using transport::IoResult;
using transport::IoStatus;

namespace {

// Beyond so many pieces of input, other connections have their turn.
constexpr int kReadsMax = 4;
// Gathered at most before some of it is written: little enough to stay in a processor's cache.
constexpr std::size_t kOutputBytesMax = 64 << 10;
// So much of requests whose answers are awaited may every connection have, or one of them.
constexpr std::size_t kAskingBytesAlways = 16 << 10;
// Of a worker, between the requests of all connections.
constexpr std::size_t kSpareStreamsMax = 128;
// One that is read, and one that is sent.
constexpr std::size_t kBlocksHeld = 2;
// After the last request, a connection rests when one lull is over. Each frame that wakes it before
// the next request doubles their number, up to this, so that it cannot be packed for every frame.
constexpr std::uint8_t kLullsMax = 8;

}  // namespace

Http2Session::Http2Session(SessionResources& resources, Http2Resources& http2, SessionHost& host)
    : resources_(resources),
      http2_(http2),
      host_(host),
      connection_(*this, http2.limits, host.client().scheme(),
                  http2.limits.is_from_proxy ? nullptr : &http2.memory),
      untaken_(resources.untaken),
      arriving_(resources.arriving),
      asking_(resources.asking) {}

Http2Session::~Http2Session() = default;

void Http2Session::start(std::string_view read, TimePoint now) {
  connection_.feed(read, now);
  on_ready(now);
}

void Http2Session::on_ready(TimePoint now) {
  if (over_) return;
  flushing_ = true;
  reads_ = 0;
  if (std::exchange(shuts_down_, false)) connection_.shut_down();
  host_.take_input(now);
  flush();
  wait_for_fields();
  count_held();
  give_back_unused();
  flushing_ = false;
  pack_at_end();
  // No event tells of what was left unread while there was no room for its answers.
  if (unread_ && !over_ && has_room()) {
    unread_ = false;
    host_.call_again();
  }
}

bool Http2Session::has_room() const {
  return output_.size() - output_begin_ < kOutputBytesMax;
}

// Not where they become unused: their code may be on the stack.
void Http2Session::give_back_unused() {
  auto& spare = http2_.spare_streams;
  for (; !unused_.empty(); unused_.pop_back()) {
    const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const auto& stream) {
      return stream.get() == unused_.back();
    });
    std::swap(*found, streams_.back());
    if (spare.size() < kSpareStreamsMax) spare.push_back(std::move(streams_.back()));
    streams_.pop_back();
  }
}

bool Http2Session::begin_turn(TimePoint /*now*/) {
  return takes_more();
}

bool Http2Session::on_bytes(std::string_view bytes, TimePoint now) {
  connection_.feed(bytes, now);
  ++reads_;
  return takes_more();
}

bool Http2Session::takes_more() {
  if (over_) return false;
  // Who does not read what we say is not listened to.
  if (!has_room()) {
    unread_ = true;
    return false;
  }
  if (reads_ < kReadsMax) return true;
  host_.call_again();
  return false;
}

void Http2Session::count_held() {
  if (over_) return;
  untaken_.set(connection_.unsent_bytes() + output_.size() - output_begin_ + kept_bytes_);
  arriving_.set(connection_.arriving_bytes() + waiting_bytes_ + forms_bytes_);
}

std::size_t Http2Session::held_bytes() const {
  return wait_ == Waiting::room && !is_member() ? untaken_.bytes() : 0;
}

void Http2Session::flush_later() {
  if (std::exchange(flushing_, true)) return;
  host_.call_again();
}

void Http2Session::flush() {
  do {
    while (!over_) {
      if (output_begin_ == output_.size()) {
        output_.clear();
        output_begin_ = 0;
        connection_.take_output(output_, kOutputBytesMax);
      }
      if (output_.empty()) break;
      if (!write_output()) return;
    }
    if (over_) return;
    if (connection_.finished()) return finish();
    start_waiting();
  } while (go_on_with_blocks() || !output_.empty());
  if (connection_.streams() == 0) {
    if (output_.capacity() > Stream::kKeptBytesMax) std::string().swap(output_);
  }
  wait_for(next_wait());
  const bool lulls = wait_ == Waiting::next_request && !connection_.rests() && !is_member();
  if (lulls && !lull_timeout_.armed()) http2_.timeouts.lull.arm(lull_timeout_, host_.now());
}

bool Http2Session::write_output() {
  const IoResult result = host_.write(std::string_view(output_).substr(output_begin_));
  if (result.status == IoStatus::failed) {
    close();
    return false;
  }
  output_begin_ += result.size;
  if (progress_.moved(result.size)) wait_for(Waiting::nothing);
  if (output_begin_ == output_.size()) return true;
  if (result.status != IoStatus::blocked) return write_output();
  wait_for(Waiting::room);
  return false;
}

bool Http2Session::has_room_to_ask() const {
  return asking_.bytes() < kAskingBytesAlways || !resources_.asking.too_many();
}

void Http2Session::start_waiting() {
  // Blocks have a bound of their own.
  while (!waiting_.empty() &&
         connection_.unsent_bytes() <= http2_.unsent_for_start_max + block_bytes_) {
    if (!has_room_to_ask()) {
      // Others may make it, and this connection hears nothing of that.
      return http2_.timeouts.presence.arm(asking_timeout_, host_.now());
    }
    Stream& stream = *waiting_.front();
    waiting_.erase(waiting_.begin());
    waiting_bytes_ -= stream.request_bytes();
    stream.count_form(0);
    stream.start();
  }
}

// Not where they are drained, or closed: nghttp2 is on the stack.
bool Http2Session::go_on_with_blocks() {
  const bool any = !drained_.empty();
  while (!drained_.empty()) {
    Stream& stream = *drained_.back();
    drained_.pop_back();
    stream.go_on();
  }
  while (!waiting_for_blocks_.empty() && has_room_for(waiting_for_blocks_.front()->block_bytes)) {
    Stream& stream = *waiting_for_blocks_.front();
    waiting_for_blocks_.erase(waiting_for_blocks_.begin());
    block_bytes_ += stream.block_bytes;
    stream.stop_waiting();  // it is an origin that is waited for
    stream.go_on();
  }
  return any;
}

bool Http2Session::has_room_for(std::size_t block_bytes) const {
  return block_bytes_ == 0 || block_bytes_ + block_bytes <= http2_.block_bytes_max;
}

bool Http2Session::may_take_blocks(Stream& stream, std::uint32_t bytes_of_each) {
  if (stream.block_bytes > 0) return true;  // its answer is agreed on anew
  stream.block_bytes = kBlocksHeld * bytes_of_each;
  if (waiting_for_blocks_.empty() && has_room_for(stream.block_bytes)) {
    block_bytes_ += stream.block_bytes;
    return true;
  }
  waiting_for_blocks_.push_back(&stream);
  stream.wait_for_blocks();
  flush_later();  // counts what is held
  return false;
}

void Http2Session::give_back_blocks(Stream& stream) {
  std::erase(drained_, &stream);
  const std::size_t block_bytes = std::exchange(stream.block_bytes, 0);
  if (std::erase(waiting_for_blocks_, &stream) == 0) block_bytes_ -= block_bytes;
  kept_bytes_ -= std::exchange(stream.kept_bytes, 0);
}

http::Http2Stream& Http2Session::on_stream_opened() {
  asked_before_ = true;
  lulls_to_rest_ = 1;
  if (!unused_.empty()) {
    Stream& stream = *unused_.back();
    unused_.pop_back();
    return stream;
  }
  auto& spare = http2_.spare_streams;
  if (spare.empty()) {
    streams_.push_back(std::make_unique<Stream>(resources_));
  } else {
    streams_.emplace_back(static_cast<Stream*>(spare.back().release()));
    spare.pop_back();
  }
  streams_.back()->lend_to(*this);
  return *streams_.back();
}

void Http2Session::on_progress(http::Http2Stream& stream, std::size_t bytes) {
  auto& arriving = static_cast<Stream&>(stream);
  if (bytes == 0 && is_refused_by_head(arriving)) return;
  // Of a body that was not declared, these may be the first.
  if (bytes > 0 && !arriving.refusal && http::is_read_method(stream.request.method)) {
    arriving.look_for_refusal(bytes);
  }
  if (arriving.refusal) {
    arriving.request.body.clear();
    if (!arriving.wait_for_body(bytes)) refuse_body(arriving);
    return;
  }
  if (!arriving.intake().take(arriving.request.body) || !arriving.wait_for_body(bytes)) {
    refuse_body(arriving);
  }
}

// Who waits to be asked for the body is told at once. Others send it anyway, and some of them take
// an answer in the midst of that for none: it is dropped as it comes, and then answered.
bool Http2Session::is_refused_by_head(Stream& stream) {
  stream.look_for_refusal(stream.declared_bytes());
  if (!stream.refusal || stream.request.fields.count("expect") == 0) return false;
  connection_.stop_receiving(stream);
  return stream.answer_refusal();
}

void Http2Session::refuse_body(Stream& stream) {
  const http::ParseFailure& failure = stream.intake().failure();
  if (failure.status == 408) resources_.counters.timeouts.add();
  stream.stop_waiting();
  connection_.stop_receiving(stream);
  refuse(stream, failure.status, failure.reason);
}

void Http2Session::refuse(Stream& stream, std::uint16_t status, std::string_view reason) {
  if (stream.answer_refusal()) return;
  resources_.count_refusal(reason);
  stream.error(status, reason);
}

void Http2Session::on_request(http::Http2Stream& stream) {
  auto& whole = static_cast<Stream&>(stream);
  whole.stop_waiting();
  if (whole.answer_refusal()) return;
  if (!whole.intake().finish(whole.request)) return refuse_body(whole);
  waiting_.push_back(&whole);
  waiting_bytes_ += whole.request_bytes();
  start_waiting();
  if (waiting_.empty()) return;
  // Neither one connection nor all may have too much wait.
  const bool too_many = waiting_bytes_ > http2_.limits.bodies_bytes_max;
  if (!too_many && !resources_.arriving.half_used()) return;
  waiting_.pop_back();
  waiting_bytes_ -= whole.request_bytes();
  const std::string_view reason = too_many ? "too-many-bodies" : "too-much-arriving";
  resources_.count_refusal(reason);
  whole.error(503, reason);
}

void Http2Session::on_refused(http::Http2Stream& stream, const http::ParseFailure& failure) {
  auto& refused = static_cast<Stream&>(stream);
  refused.intake().drop();
  refused.stop_waiting();
  refuse(refused, failure.status, failure.reason);
}

void Http2Session::on_sent(http::Http2Stream& stream, std::size_t bytes) {
  static_cast<Stream&>(stream).wait_in(http2_.timeouts.send, bytes);
}

void Http2Session::on_drained(http::Http2Stream& stream) {
  auto& drained = static_cast<Stream&>(stream);
  drained.stop_waiting();  // it is an origin that is waited for
  drained_.push_back(&drained);
}

void Http2Session::on_stream_closed(http::Http2Stream& stream) {
  auto& closed = static_cast<Stream&>(stream);
  give_back_blocks(closed);
  if (std::erase(waiting_, &closed) > 0) waiting_bytes_ -= closed.request_bytes();
  closed.count_form(0);
  if (closed.leave()) recycle(closed);
}

void Http2Session::recycle(Stream& stream) {
  stream.shrink();
  stream.is_open_ended = false;
  unused_.push_back(&stream);
  flush_later();
}

namespace {

http::Http2Head& add_fields(http::Http2Head& head, const Answer& answer, bool is_member) {
  answer.for_each_field([&](std::string_view name, std::string_view value) {
    if (!is_member || !is_of_members(name)) head.add(name, value);
  });
  // What an origin says cannot be taken for this.
  if (is_member && answer.is_own()) head.add(kMemberField, kOwnAnswer);
  return head;
}

}  // namespace

void Http2Session::begin(Stream& stream, const Answer& answer) {
  if (answer.size() == 0) return send(stream, answer, nullptr);
  if (over_) return;
  http::Http2Head head(answer.status());
  stream.is_open_ended = answer.is_open_ended();
  connection_.begin(stream, add_fields(head, answer, is_member()), answer.size());
  stream.let_go_of_request();
  flush_later();
}

void Http2Session::append(Stream& stream, std::string& storage, std::size_t begin,
                          std::size_t size) {
  if (over_) return;
  connection_.append(stream, storage, begin, size);
  stream.wait_in(http2_.timeouts.send, 0);
  flush_later();
}

// Of a body that was not known to end here.
void Http2Session::finish(Stream& stream) {
  if (over_ || !stream.is_open_ended) return;
  connection_.finish(stream);
  flush_later();
}

void Http2Session::cut_off(Stream& stream) {
  if (over_) return;
  stream.stop_waiting();
  connection_.cut_off(stream);
  flush_later();
}

void Http2Session::send(Stream& stream, const Answer& answer, std::string* storage) {
  if (over_) return;
  http::Http2Head head(answer.status());
  add_fields(head, answer, is_member());
  if (!connection_.answer(stream, head, answer.body(), output_, kOutputBytesMax, storage)) {
    resources_.counters.http2.broken_off.add();
  } else if (stream.unsent() > 0) {
    stream.wait_in(http2_.timeouts.send, 0);
  }
  if (stream.open()) stream.let_go_of_request();
  flush_later();
}

void Http2Session::on_stream_timeout(Stream& stream) {
  if (over_) return;
  // What it waits for is another stream or the connection, which have a time of their own, or the
  // client, which has to read what the kernel holds before it opens a window.
  const bool waits_for_blocks = std::find(waiting_for_blocks_.begin(), waiting_for_blocks_.end(),
                                          &stream) != waiting_for_blocks_.end();
  const bool is_held_up = waits_for_blocks ||
                          (wait_ == Waiting::room && connection_.has_window(stream)) ||
                          stream.queue_goes_on(host_.queued_bytes());
  if (!stream.received() || (!is_held_up && !is_member())) return end_late(stream);
  stream.go_on_waiting_in(http2_.timeouts.send);
}

void Http2Session::end_late(Stream& stream) {
  if (over_) return;
  resources_.counters.timeouts.add();
  if (stream.received()) {
    connection_.break_off(stream);
    count_held();
    return flush_later();
  }
  stream.intake().drop();
  connection_.stop_receiving(stream);
  count_held();
  refuse(stream, 408, "request-timeout");
}

Http2Session::Waiting Http2Session::next_wait() const {
  if (connection_.streams() > 0) return Waiting::nothing;
  return asked_before_ ? Waiting::next_request : Waiting::first_request;
}

// The time that one thing may take is not begun anew by others that happen meanwhile.
void Http2Session::wait_for_fields() {
  if (over_) return;
  if (!connection_.in_header_block() || is_member()) return fields_timeout_.disarm();
  const std::uint64_t request = connection_.streams_opened();
  if (fields_timeout_.armed() && fields_timeout_.request == request) return;
  fields_timeout_.request = request;
  http2_.timeouts.header.arm(fields_timeout_, host_.now());
}

void Http2Session::wait_for(Waiting what) {
  if (what == wait_) return;
  wait_ = what;
  lull_timeout_.disarm();
  lulls_ = 0;
  switch (what) {
    case Waiting::nothing:
      return disarm();
    case Waiting::first_request:
      return is_member() ? disarm() : http2_.timeouts.header.arm(*this, host_.now());
    case Waiting::next_request:
      return is_member() ? disarm() : http2_.timeouts.idle.arm(*this, host_.now());
    case Waiting::room:
      queue_.begin(host_.queued_bytes());
      return http2_.timeouts.send.arm(*this, host_.now());
  }
}

void Http2Session::on_timeout() {
  const bool goes_on = wait_ == Waiting::room && queue_.went_on(host_.queued_bytes());
  if (goes_on) return http2_.timeouts.send.arm(*this, host_.now());
  on_give_way();
}

void Http2Session::on_give_way() {
  if (wait_ == Waiting::room) return give_up();
  wait_ = Waiting::nothing;
  shut_down();
}

// What it waits for may have begun since.
bool Http2Session::is_idle(Duration /*waited*/) const {
  const bool waits = wait_ == Waiting::first_request || wait_ == Waiting::next_request;
  return waits && connection_.streams() == 0 && !connection_.in_header_block();
}

// The client is told, if it takes that at once, and not heard out.
void Http2Session::on_give_place() {
  wait_ = Waiting::nothing;
  connection_.shut_down();
  flushing_ = true;
  flush();
  pack_at_end();
  close();
}

void Http2Session::drain() {
  if (!over_) shut_down();
}

// A drain ends all connections in one turn of the loop, and an idle time-out may end many. If each
// connection's memory were restored here, all of it would be in use before the first GOAWAY frame
// is sent. So a connection that rests is restored in on_ready(), which also packs it again.
void Http2Session::shut_down() {
  if (connection_.rests()) {
    shuts_down_ = true;
  } else {
    connection_.shut_down();
  }
  flush_later();
}

// The session object lives on until a later turn of the loop, or until the client's socket takes
// the GOAWAY frame.
void Http2Session::pack_at_end() {
  const bool ends = connection_.end() == http::Http2End::drained;
  if (ends && connection_.streams() == 0 && !connection_.in_header_block()) connection_.rest();
}

void Http2Session::give_up() {
  resources_.counters.timeouts.add();
  close();
}

void Http2Session::on_lull() {
  if (lulls_ + 1 >= lulls_to_rest_) return rest();
  ++lulls_;
  http2_.timeouts.lull.arm(lull_timeout_, host_.now());
}

// (With a turn to come, it is asked again at the end of that.)
void Http2Session::rest() {
  const bool waits = wait_ == Waiting::next_request && !connection_.in_header_block();
  if (over_ || flushing_ || !waits) return;
  std::string().swap(output_);
  output_begin_ = 0;
  streams_.shrink_to_fit();  // some may be asking, for nobody
  unused_.shrink_to_fit();
  waiting_.shrink_to_fit();
  drained_.shrink_to_fit();
  waiting_for_blocks_.shrink_to_fit();
  connection_.rest();
  lulls_ = 0;
  lulls_to_rest_ = std::min<std::uint8_t>(2 * lulls_to_rest_, kLullsMax);
}

void Http2Session::finish() {
  over_ = true;
  resources_.counters.http2.ends[static_cast<std::size_t>(connection_.end())].add();
  host_.finish();
}

void Http2Session::close() {
  over_ = true;
  host_.close();
}

void Http2Session::abandon() {
  over_ = true;
  disarm();
  fields_timeout_.disarm();
  asking_timeout_.disarm();
  lull_timeout_.disarm();
  untaken_.set(0);
  arriving_.set(0);
  asking_.set(0);
  for (const auto& stream : streams_)
    stream->abandon();
}

}  // namespace prophecy::sketcher
