#include "http/http2/server_connection.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "http/http2/nghttp2_bytes.hpp"

namespace prophecy::http {
namespace {

constexpr std::int32_t kStreamWindowBytes = 256 << 10;
constexpr std::int32_t kServerWindowBytes = 1 << 20;
constexpr std::int32_t kProxyWindowBytes = 16 << 20;
// Fields that are decoded for one request although it is refused already.
constexpr std::size_t kFieldBytesFactor = 4;
// More of them than streams can be open, so that none is forgotten while its frames may be coming.
constexpr std::size_t kClosedStreamsMax = 256;

// Less than that is copied when it cannot leave at once.
constexpr std::size_t kSwappedBytesMin = 128 << 10;

bool lies_in(std::string_view bytes, const std::string& storage) {
  const std::less_equal<> is_not_behind;
  return is_not_behind(storage.data(), bytes.data()) &&
         is_not_behind(bytes.data() + bytes.size(), storage.data() + storage.size());
}

// Of what nghttp2 refuses by itself.
std::string_view reason_of(int error) {
  switch (error) {
    case NGHTTP2_ERR_HTTP_HEADER:
      return "HTTP/2: field not allowed";
    case NGHTTP2_ERR_HTTP_MESSAGING:
      return "HTTP/2: message malformed";
    case NGHTTP2_ERR_REFUSED_STREAM:
      return "HTTP/2: too many streams";
    case NGHTTP2_ERR_FLOW_CONTROL:
      return "HTTP/2: window exceeded";
    default:
      return "HTTP/2: frame not allowed";
  }
}

}  // namespace

std::string_view to_string(Http2End end) {
  switch (end) {
    case Http2End::none:
      return "none";
    case Http2End::drained:
      return "drained";
    case Http2End::violation:
      return "violation";
    case Http2End::resets:
      return "resets";
    case Http2End::frames:
      return "frames";
    case Http2End::fields:
      return "fields";
  }
  return "";
}

// nghttp2's callbacks, as calls of the connection's own.
struct Http2ServerConnection::Callbacks {
  using Self = Http2ServerConnection;

  static Self& self(void* user) { return *static_cast<Self*>(user); }

  static int begin_frame(nghttp2_session*, const nghttp2_frame_hd* header, void* user) {
    return self(user).on_begin_frame(*header);
  }
  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    return self(user).on_begin_headers(frame->hd.stream_id);
  }
  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user) {
    return self(user).on_header(self(user).stream_of(frame->hd.stream_id), view(name, name_size),
                                view(value, value_size), true);
  }
  static int invalid_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                            std::size_t name_size, const std::uint8_t* value,
                            std::size_t value_size, std::uint8_t, void* user) {
    return self(user).on_header(self(user).stream_of(frame->hd.stream_id), view(name, name_size),
                                view(value, value_size), false);
  }
  static int invalid_frame(nghttp2_session*, const nghttp2_frame* frame, int error, void* user) {
    self(user).on_invalid_frame(frame->hd.stream_id, error);
    return 0;
  }
  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return self(user).on_frame(*frame);
  }
  static int data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
                  std::size_t size, void* user) {
    return self(user).on_data(self(user).stream_of(id), view(bytes, size));
  }
  static int frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    self(user).on_frame_sent(*frame);
    return 0;
  }
  static int closed(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    if (Http2Stream* one = self(user).stream_of(id)) self(user).on_closed(*one);
    return 0;
  }

  static ssize_t send(nghttp2_session*, const std::uint8_t* bytes, std::size_t size, int,
                      void* user) {
    Self& connection = self(user);
    if (connection.out_->size() >= connection.out_size_max_) return NGHTTP2_ERR_WOULDBLOCK;
    connection.out_->append(view(bytes, size));
    return static_cast<ssize_t>(size);
  }
  // How much of the body goes into the next frame; its bytes are taken by send_data().
  static ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t size_max,
                           std::uint32_t* flags, nghttp2_data_source* source, void*) {
    const auto& one = *static_cast<Http2Stream*>(source->ptr);
    if (one.broken_off_) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (one.unsent_.empty() && one.left_ > 0) return NGHTTP2_ERR_DEFERRED;
    const std::size_t size = std::min(size_max, one.unsent_.size());
    if (size > 0) *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (size == one.left_) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }
  static int send_data(nghttp2_session*, nghttp2_frame*, const std::uint8_t* header,
                       std::size_t size, nghttp2_data_source* source, void* user) {
    Self& connection = self(user);
    auto& one = *static_cast<Http2Stream*>(source->ptr);
    if (one.broken_off_) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (connection.out_->size() >= connection.out_size_max_) return NGHTTP2_ERR_WOULDBLOCK;
    constexpr std::size_t kFrameHeaderBytes = 9;
    connection.out_->append(view(header, kFrameHeaderBytes)).append(one.unsent_.substr(0, size));
    one.unsent_.remove_prefix(size);
    one.left_ -= size;
    if (one.kept_.empty() || one.unsent_.empty()) connection.count_unsent(one, one.unsent_.size());
    connection.guard_.on_body_sent(size);
    if (!one.unsent_.empty()) {
      connection.handler_.on_sent(one, size);
    } else if (one.left_ > 0) {
      connection.handler_.on_drained(one);
    }
    return 0;
  }

  static nghttp2_session* make_session(Self& connection) {
    nghttp2_session_callbacks* callbacks = nullptr;
    ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, invalid_header);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, invalid_frame);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closed);
    nghttp2_session_callbacks_set_send_callback(callbacks, send);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    nghttp2_option* options = nullptr;
    ASSERT(nghttp2_option_new(&options) == 0);
    // Closed streams are of use for RFC 7540's priorities alone.
    nghttp2_option_set_no_closed_streams(options, 1);
    nghttp2_option_set_max_outbound_ack(options, 64);
    nghttp2_session* session = nullptr;
    nghttp2_mem memory{};
    if (connection.memory_.has_arena()) memory = connection.memory_.functions();
    ASSERT(nghttp2_session_server_new3(&session, callbacks, &connection, options,
                                       memory.malloc == nullptr ? nullptr : &memory) == 0);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    return session;
  }
};

Http2ServerConnection::Http2ServerConnection(Http2Handler& handler, const Http2Limits& limits,
                                             std::string_view scheme, SessionMemoryPool* memory)
    : handler_(handler),
      limits_(limits),
      scheme_(scheme),
      memory_(memory),
      session_(Callbacks::make_session(*this)) {
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams_max},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindowBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(limits.request.header_bytes_max +
                                  32 * limits.request.header_count_max)}};
  ASSERT(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0);
  ASSERT(nghttp2_session_set_local_window_size(
             session_, NGHTTP2_FLAG_NONE, 0,
             limits.is_from_proxy ? kProxyWindowBytes : kServerWindowBytes) == 0);
}

Http2ServerConnection::~Http2ServerConnection() {
  if (!rests() || !memory_.is_whole()) nghttp2_session_del(session());
}

void Http2ServerConnection::rest() {
  ASSERT(streams_ == 0 && in_header_block_ == nullptr && !busy_);
  // The client knows of all streams that it has ended, or that were answered: frames on these break
  // the rules, whether or not we say of which rule. The others' order stays.
  std::rotate(closed_.begin(), closed_.begin() + static_cast<std::ptrdiff_t>(closed_next_),
              closed_.end());
  closed_next_ = 0;
  std::erase_if(closed_, [](const ClosedStream& one) { return !one.by_us; });
  closed_.shrink_to_fit();
  if (memory_.has_arena() && !rests()) memory_.pack();
}

void Http2ServerConnection::feed(std::string_view input, TimePoint now) {
  now_ = now;
  // A proxy of ours has more streams than are remembered, and nothing to gain.
  if (limits_.is_from_proxy) return take_all(input);
  // What came in front of such a frame has had its effect before that is judged: of its header, the
  // last byte comes later.
  while (const auto found = finder_.find(input)) {
    take(input.substr(0, found->header_end - 1));
    if (given_up()) return;
    input.remove_prefix(found->header_end - 1);
    if (found->is_data && error_of_stream(found->stream_id) != NGHTTP2_NO_ERROR) {
      give_up(Http2End::violation, NGHTTP2_STREAM_CLOSED);
    } else if (found->is_idle && !guard_.on_idle_frame(now_)) {
      give_up(Http2End::frames);
    }
    take(input.substr(0, 1));
    input.remove_prefix(1);
  }
  take_all(input);
}

void Http2ServerConnection::take_all(std::string_view input) {
  take(input);
  if (in_header_block_ != nullptr) count_held(*in_header_block_);
}

void Http2ServerConnection::take(std::string_view input) {
  if (given_up() || input.empty()) return;
  busy_ = true;
  const ssize_t taken = nghttp2_session_mem_recv(
      session(), reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  busy_ = false;
  if (taken >= 0 || given_up()) return;
  // nghttp2 answers broken rules with a GOAWAY of its own. What comes out here is beyond that: no
  // preface, frames that want more acknowledgements than we keep, no memory.
  if (taken == NGHTTP2_ERR_FLOODED) {
    give_up(Http2End::frames);
  } else {
    give_up(Http2End::violation, NGHTTP2_PROTOCOL_ERROR);
  }
}

bool Http2ServerConnection::given_up() const {
  return end_ != Http2End::none && end_ != Http2End::drained;
}

int Http2ServerConnection::give_up(Http2End why, std::uint32_t error) {
  end_ = why;
  nghttp2_session_terminate_session(session(), error);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

void Http2ServerConnection::take_output(std::string& out, std::size_t size_max) {
  ASSERT(!busy_);
  out_ = &out;
  out_size_max_ = size_max;
  busy_ = true;
  const int error = nghttp2_session_send(session());
  busy_ = false;
  out_ = nullptr;
  if (error != 0 && end_ == Http2End::none) end_ = Http2End::violation;
}

bool Http2ServerConnection::finished() const {
  if (nghttp2_session_want_write(session()) != 0) return false;
  return given_up() || nghttp2_session_want_read(session()) == 0;
}

int Http2ServerConnection::on_begin_frame(const nghttp2_frame_hd& header) {
  switch (header.type) {
    case NGHTTP2_DATA:        // seen to before
    case NGHTTP2_RST_STREAM:  // counted by what it breaks off
      return 0;
    case NGHTTP2_HEADERS: {
      const std::uint32_t error = error_of_stream(header.stream_id);
      last_id_ = std::max(last_id_, header.stream_id);
      return error == NGHTTP2_NO_ERROR ? 0 : give_up(Http2End::violation, error);
    }
    default:
      if (limits_.is_from_proxy) return 0;
      return guard_.on_idle_frame(now_) ? 0 : give_up(Http2End::frames);
  }
}

// nghttp2 overlooks frames on streams that are closed. Those that we have closed may still get
// some, which were on their way; for any other it breaks the rules (RFC 9113, 5.1 and 5.1.1).
std::uint32_t Http2ServerConnection::error_of_stream(std::int32_t id) const {
  if (id > last_id_ || end_ != Http2End::none || limits_.is_from_proxy ||
      nghttp2_session_find_stream(session(), id) != nullptr) {
    return NGHTTP2_NO_ERROR;
  }
  const auto closed = std::find_if(closed_.begin(), closed_.end(),
                                   [id](const ClosedStream& one) { return one.id == id; });
  if (closed == closed_.end()) return NGHTTP2_PROTOCOL_ERROR;
  return closed->by_us ? NGHTTP2_NO_ERROR : NGHTTP2_STREAM_CLOSED;
}

void Http2ServerConnection::remember_closed(ClosedStream stream) {
  if (closed_.size() < kClosedStreamsMax) return closed_.push_back(stream);
  closed_[closed_next_] = stream;
  closed_next_ = (closed_next_ + 1) % kClosedStreamsMax;
}

void Http2ServerConnection::on_invalid_frame(std::int32_t id, int error) {
  handler_.on_violation(reason_of(error));
  if (Http2Stream* stream = stream_of(id)) {
    stream->violation_told_ = true;
  } else {
    // One beyond the number that is allowed, for example: it never was one of ours.
    remember_closed({.id = id, .by_us = true});
  }
}

int Http2ServerConnection::on_begin_headers(std::int32_t id) {
  // The client learns that it was not begun, and may make it again elsewhere: so it is not, though
  // it has come before that was sent.
  if (end_ == Http2End::drained && id > last_served_) {
    nghttp2_submit_rst_stream(session(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  Http2Stream& stream = handler_.on_stream_opened();
  stream.begin(id);
  ++streams_;
  ++streams_opened_;
  in_header_block_ = &stream;
  ASSERT(nghttp2_session_set_stream_user_data(session(), id, &stream) == 0);
  return 0;
}

int Http2ServerConnection::on_header(Http2Stream* stream, std::string_view name,
                                     std::string_view value, bool valid) {
  if (stream == nullptr) return 0;
  RequestBuilder& builder = stream->builder_;
  if (!valid && !stream->head_done_) builder.refuse(400, "invalid field");
  if (stream->head_done_) {
    builder.skip(name, value);  // a trailer
  } else if (limits_.is_from_proxy && name.starts_with(kProxyFieldPrefix)) {
    builder.skip(name, value);
    if (builder.field_bytes() <= field_bytes_max()) stream->said_by_proxy.add(name, value);
  } else {
    builder.add(name, value, limits_.request);
  }
  // What is beyond the limits of a request is not kept; but others share a proxy's connection.
  if (limits_.is_from_proxy || builder.field_bytes() <= field_bytes_max()) return 0;
  return give_up(Http2End::fields);
}

std::size_t Http2ServerConnection::field_bytes_max() const {
  return kFieldBytesFactor * (limits_.request.header_bytes_max + limits_.request.target_bytes_max);
}

int Http2ServerConnection::on_frame(const nghttp2_frame& frame) {
  Http2Stream* stream = stream_of(frame.hd.stream_id);
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      if (stream == nullptr) break;
      if (in_header_block_ == stream) in_header_block_ = nullptr;
      if (!stream->head_done_) {
        on_head(*stream, ends_stream(frame));
      } else if (ends_stream(frame)) {
        on_whole(*stream);
      }
      break;
    case NGHTTP2_DATA:
      if (stream == nullptr) break;
      if (ends_stream(frame)) on_whole(*stream);
      break;
    case NGHTTP2_RST_STREAM:
      if (stream != nullptr) stream->request_ended_ = true;
      // The stream may be unknown already; to send one costs us no less for that.
      if (!limits_.is_from_proxy && !guard_.on_reset(now_)) return give_up(Http2End::resets);
      break;
    default:
      break;
  }
  return 0;
}

void Http2ServerConnection::on_head(Http2Stream& stream, bool ends) {
  stream.head_done_ = true;
  stream.builder_.finish(limits_.is_from_proxy ? std::string_view() : scheme_, limits_.request);
  stream.request_ended_ = ends;
  if (!stream.builder_.failure().reason.empty()) return refuse(stream, stream.builder_.failure());
  if (ends) return on_whole(stream);
  count_held(stream);
  const std::int32_t id = stream.id_;
  handler_.on_progress(stream, 0);
  const bool is_awaited = stream.id_ == id && !stream.received_;
  if (!is_awaited || !stream.builder_.expects_continue()) return;
  const Http2Head head(100);
  nghttp2_submit_headers(session(), NGHTTP2_FLAG_NONE, id, nullptr, head.fields_.data(),
                         head.fields_.size(), nullptr);
}

int Http2ServerConnection::on_data(Http2Stream* stream, std::string_view data) {
  if (stream == nullptr || stream->received_) return 0;  // refused: what follows is dropped
  if (stream->body_bytes_ + data.size() > limits_.request.body_bytes_max) {
    refuse(*stream, {.status = 413, .reason = "body too large"});
  } else if (bodies_bytes_ + data.size() > limits_.bodies_bytes_max) {
    refuse(*stream, {.status = 503, .reason = "too-many-bodies"});
  } else {
    stream->request.body.append(data);
    stream->body_bytes_ += data.size();
    count_held(*stream);
    handler_.on_progress(*stream, data.size());
    count_held(*stream);
  }
  return 0;
}

void Http2ServerConnection::count_held(Http2Stream& stream) {
  bodies_bytes_ -= stream.held_bytes_;
  stream.held_bytes_ = stream.received_ ? 0 : stream.request.body.size();
  bodies_bytes_ += stream.held_bytes_;
  arriving_bytes_ -= stream.arriving_bytes_;
  stream.arriving_bytes_ = stream.received_ ? 0 : stream.request_bytes();
  arriving_bytes_ += stream.arriving_bytes_;
}

void Http2ServerConnection::on_whole(Http2Stream& stream) {
  stream.request_ended_ = true;
  if (stream.received_) return;
  // From now on the body is the exchange's, which has bounds of its own.
  stream.received_ = true;
  count_held(stream);
  handler_.on_request(stream);
}

void Http2ServerConnection::stop_receiving(Http2Stream& stream) {
  if (stream.received_) return;
  stream.received_ = true;
  count_held(stream);
  std::string().swap(stream.request.body);
}

void Http2ServerConnection::refuse(Http2Stream& stream, const ParseFailure& failure) {
  stop_receiving(stream);
  handler_.on_refused(stream, failure);
}

bool Http2ServerConnection::answer(Http2Stream& stream, const Http2Head& head,
                                   std::string_view body, std::string& out, std::size_t size_max,
                                   std::string* storage) {
  stream.unsent_ = body;
  count_unsent(stream, body.size());
  if (!submit(stream, head, body.size())) return false;
  answering_ = &stream;
  if (!busy_) take_output(out, size_max);
  const bool closed = answering_ == nullptr;
  answering_ = nullptr;
  if (closed || stream.unsent_.empty()) return true;
  if (unsent_bytes_ > limits_.unsent_bytes_max) {
    break_off(stream);
    return false;
  }
  if (storage != nullptr && stream.unsent_.size() >= kSwappedBytesMin &&
      lies_in(stream.unsent_, *storage)) {
    const auto begin = static_cast<std::size_t>(stream.unsent_.data() - storage->data());
    const std::size_t size = stream.unsent_.size();
    std::swap(stream.kept_, *storage);
    stream.unsent_ = std::string_view(stream.kept_).substr(begin, size);
  } else {
    stream.kept_.assign(stream.unsent_);
    stream.unsent_ = stream.kept_;
  }
  count_unsent(stream, stream.kept_.capacity());
  return true;
}

bool Http2ServerConnection::has_window(const Http2Stream& stream) const {
  return nghttp2_session_get_remote_window_size(session()) > 0 &&
         nghttp2_session_get_stream_remote_window_size(session(), stream.id_) > 0;
}

void Http2ServerConnection::count_unsent(Http2Stream& stream, std::size_t bytes) {
  unsent_bytes_ -= stream.counted_bytes_;
  unsent_bytes_ += bytes;
  stream.counted_bytes_ = bytes;
}

bool Http2ServerConnection::submit(Http2Stream& stream, const Http2Head& head,
                                   std::uint64_t body_bytes) {
  ASSERT(stream.received_ && !stream.answered_);
  stream.answered_ = true;
  guard_.on_request_answered();
  stream.left_ = body_bytes;
  const nghttp2_data_provider provider{.source = {.ptr = &stream},
                                       .read_callback = Callbacks::read_body};
  if (nghttp2_submit_response(session(), stream.id_, head.fields_.data(), head.fields_.size(),
                              body_bytes == 0 ? nullptr : &provider) == 0) {
    return true;
  }
  break_off(stream);
  return false;
}

void Http2ServerConnection::begin(Http2Stream& stream, const Http2Head& head, std::uint64_t size) {
  ASSERT(size > 0);
  static_cast<void>(submit(stream, head, size));
}

void Http2ServerConnection::append(Http2Stream& stream, std::string& storage, std::size_t begin,
                                   std::size_t size) {
  if (stream.broken_off_) return;
  ASSERT(stream.unsent_.empty() && size <= stream.left_);
  std::swap(stream.kept_, storage);
  stream.unsent_ = std::string_view(stream.kept_).substr(begin, size);
  count_unsent(stream, stream.kept_.capacity());
  // An error says that it was not asked for them yet.
  static_cast<void>(nghttp2_session_resume_data(session(), stream.id_));
}

void Http2ServerConnection::cut_off(Http2Stream& stream) {
  if (stream.broken_off_) return;
  stream.is_incomplete_ = true;
  reset(stream, NGHTTP2_INTERNAL_ERROR);
}

void Http2ServerConnection::break_off(Http2Stream& stream) {
  reset(stream, NGHTTP2_ENHANCE_YOUR_CALM);
}

// nghttp2 may have read the length of a frame already, and not its bytes, which are gone now.
void Http2ServerConnection::reset(Http2Stream& stream, std::uint32_t error) {
  stream.broken_off_ = true;
  count_unsent(stream, 0);
  stream.unsent_ = {};
  std::string().swap(stream.kept_);  // the stream's end may have to wait for the socket
  stop_receiving(stream);
  nghttp2_submit_rst_stream(session(), NGHTTP2_FLAG_NONE, stream.id_, error);
}

void Http2ServerConnection::shut_down() {
  if (end_ != Http2End::none) return;
  end_ = Http2End::drained;
  last_served_ = nghttp2_session_get_last_proc_stream_id(session());
  nghttp2_submit_goaway(session(), NGHTTP2_FLAG_NONE, last_served_, NGHTTP2_NO_ERROR, nullptr, 0);
}

void Http2ServerConnection::on_frame_sent(const nghttp2_frame& frame) {
  const bool is_answer = frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA;
  if (is_answer && ends_stream(frame)) {
    const Http2Stream* stream = stream_of(frame.hd.stream_id);
    // Answered before it was whole: the rest is not wanted (RFC 9113, 8.1).
    if (stream != nullptr && !stream->request_ended_) {
      nghttp2_submit_rst_stream(session(), NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
    }
  } else if (frame.hd.type == NGHTTP2_RST_STREAM) {
    const Http2Stream* stream = stream_of(frame.hd.stream_id);
    // nghttp2 tells of no frame when a body is longer or shorter than was declared.
    if (frame.rst_stream.error_code == NGHTTP2_PROTOCOL_ERROR && stream != nullptr &&
        !stream->violation_told_ && !stream->broken_off_) {
      handler_.on_violation(reason_of(NGHTTP2_ERR_HTTP_MESSAGING));
    }
    const bool is_ours = frame.rst_stream.error_code == NGHTTP2_NO_ERROR ||
                         (stream != nullptr && stream->is_incomplete_);
    // Who makes us reset streams can do so as often as who resets them.
    if (!is_ours && !limits_.is_from_proxy && end_ == Http2End::none && !guard_.on_reset(now_)) {
      give_up(Http2End::resets);
    }
  } else if (frame.hd.type == NGHTTP2_GOAWAY) {
    if (end_ == Http2End::none) end_ = Http2End::violation;
  }
}

void Http2ServerConnection::on_closed(Http2Stream& stream) {
  --streams_;
  remember_closed({.id = stream.id_, .by_us = !stream.request_ended_});
  if (in_header_block_ == &stream) in_header_block_ = nullptr;
  if (answering_ == &stream) answering_ = nullptr;
  bodies_bytes_ -= std::exchange(stream.held_bytes_, 0);
  arriving_bytes_ -= std::exchange(stream.arriving_bytes_, 0);
  count_unsent(stream, 0);
  if (stream.kept_.capacity() >= kSwappedBytesMin) handler_.on_storage_free(stream.kept_);
  stream.close();
  handler_.on_stream_closed(stream);
}

Http2Stream* Http2ServerConnection::stream_of(std::int32_t id) const {
  return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session(), id));
}

}  // namespace prophecy::http
