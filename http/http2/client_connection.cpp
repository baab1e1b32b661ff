#include "http/http2/client_connection.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "http/http2/nghttp2_bytes.hpp"
#include "http/text.hpp"

namespace prophecy::http {
namespace {

// Given back as bytes arrive, so it bounds a round trip's worth and no more.
constexpr std::int32_t kClientWindowBytes = 16 << 20;
// A connection is replaced long before its last stream, whose number is below 2^31.
constexpr std::int32_t kLastStream = 1 << 30;

bool is_secret(std::string_view name) {
  return name == "cookie" || name == "authorization" || name == "proxy-authorization";
}

}  // namespace

std::string_view to_string(Http2CallEnd end) {
  switch (end) {
    case Http2CallEnd::answered:
      return "answered";
    case Http2CallEnd::unprocessed:
      return "unprocessed";
    case Http2CallEnd::broken_off:
      return "broken-off";
    case Http2CallEnd::lost:
      return "lost";
    case Http2CallEnd::malformed:
      return "malformed";
  }
  return "";
}

Http2RequestHead::Http2RequestHead(std::string_view method, std::string_view scheme,
                                   std::string_view authority, std::string_view path) {
  fields_.reserve(24);
  add(":method", method);
  add(":scheme", scheme);
  add(":authority", authority);
  add(":path", path);
}

void Http2RequestHead::add(std::string_view name, std::string_view value) {
  const std::uint8_t flags = is_secret(name) ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
  fields_.push_back({bytes_of(name), bytes_of(value), name.size(), value.size(), flags});
}

// nghttp2's callbacks, as calls of the connection's own.
struct Http2ClientConnection::Callbacks {
  using Self = Http2ClientConnection;

  static Self& self(void* user) { return *static_cast<Self*>(user); }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user) {
    Http2Call* call = self(user).call_of(frame->hd.stream_id);
    if (call == nullptr) return 0;
    return self(user).on_header(*call, view(name, name_size), view(value, value_size));
  }
  static int invalid_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t*,
                            std::size_t, const std::uint8_t*, std::size_t, std::uint8_t,
                            void* user) {
    Http2Call* call = self(user).call_of(frame->hd.stream_id);
    if (call != nullptr) call->malformed_ = true;
    return 0;
  }
  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Self& connection = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      connection.on_going_away(frame->goaway.last_stream_id);
      return 0;
    }
    // The first frame of a server (RFC 9113, 3.4), which nghttp2 holds it to.
    if (frame->hd.type == NGHTTP2_SETTINGS) connection.accepted_ = true;
    Http2Call* call = connection.call_of(frame->hd.stream_id);
    if (call == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS) {
      connection.on_head(*call, ends_stream(*frame));
    } else if (frame->hd.type == NGHTTP2_DATA && ends_stream(*frame)) {
      call->ended_ = true;
    }
    return 0;
  }
  static int data(nghttp2_session* session, std::uint8_t, std::int32_t id,
                  const std::uint8_t* bytes, std::size_t size, void* user) {
    Self& connection = self(user);
    nghttp2_session_consume_connection(session, size);
    if (Http2Call* call = connection.call_of(id)) {
      connection.on_data(*call, view(bytes, size));
    } else {
      nghttp2_session_consume_stream(session, id, size);
    }
    return 0;
  }
  static int closed(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
    if (Http2Call* call = self(user).call_of(id)) {
      self(user).on_closed(*call, error);
    } else {
      self(user).on_unsent(id);
    }
    return 0;
  }

  static ssize_t send(nghttp2_session*, const std::uint8_t* bytes, std::size_t size, int,
                      void* user) {
    Self& connection = self(user);
    if (connection.out_->size() >= connection.out_size_max_) return NGHTTP2_ERR_WOULDBLOCK;
    connection.out_->append(view(bytes, size));
    return static_cast<ssize_t>(size);
  }
  static ssize_t read_body(nghttp2_session* session, std::int32_t id, std::uint8_t* into,
                           std::size_t size_max, std::uint32_t* flags, nghttp2_data_source*,
                           void* user) {
    Http2Call* call = self(user).call_of(id);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::size_t size = std::min<std::uint64_t>(size_max, call->size_ - call->sent_);
    char* const bytes = reinterpret_cast<char*>(into);
    if (!call->large_body_) {
      call->body_.copy(bytes, size, call->sent_);
    } else if (!call->large_body_->read(call->sent_, {bytes, size})) {
      // The server has to see that the body is not whole.
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
      return NGHTTP2_ERR_DEFERRED;
    }
    call->sent_ += size;
    if (call->sent_ == call->size_) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  static nghttp2_session* make_session(Self& connection) {
    nghttp2_session_callbacks* callbacks = nullptr;
    ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closed);
    nghttp2_session_callbacks_set_send_callback(callbacks, send);
    nghttp2_option* options = nullptr;
    ASSERT(nghttp2_option_new(&options) == 0);
    nghttp2_option_set_no_closed_streams(options, 1);
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_option_set_max_outbound_ack(options, 64);
    nghttp2_session* session = nullptr;
    ASSERT(nghttp2_session_client_new2(&session, callbacks, &connection, options) == 0);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    return session;
  }
};

Http2ClientConnection::Http2ClientConnection(Http2CallHandler& handler, const MessageLimits& limits)
    : handler_(handler), limits_(limits), session_(Callbacks::make_session(*this)) {
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kHttp2CallWindowBytes}};
  ASSERT(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0);
  ASSERT(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                               kClientWindowBytes) == 0);
}

Http2ClientConnection::~Http2ClientConnection() {
  for (Http2Call* call : calls_)
    forget(*call);
  nghttp2_session_del(session_);
}

void Http2ClientConnection::feed(std::string_view input) {
  if (over_ || input.empty()) return;
  busy_ = true;
  const ssize_t taken = nghttp2_session_mem_recv(session_, bytes_of(input), input.size());
  busy_ = false;
  taken < 0 ? lose() : note_end();
}

// Once a rule was broken, or the server has ended the connection, and that is said.
void Http2ClientConnection::note_end() {
  if (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0) lose();
}

void Http2ClientConnection::take_output(std::string& out, std::size_t size_max) {
  if (over_) return;
  ASSERT(!busy_);
  out_ = &out;
  out_size_max_ = size_max;
  busy_ = true;
  const int error = nghttp2_session_send(session_);
  busy_ = false;
  out_ = nullptr;
  error != 0 ? lose() : note_end();
}

// How many the server takes is counted here: none waits in nghttp2 where nobody sees it.
bool Http2ClientConnection::has_room() const {
  return accepted_ && calls_.size() < std::min<std::size_t>(
                                          nghttp2_session_get_remote_settings(
                                              session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
                                          kLastStream);
}

bool Http2ClientConnection::is_worn() const {
  return over_ || going_away_ || nghttp2_session_get_next_stream_id(session_) >= kLastStream;
}

void Http2ClientConnection::call(Http2Call& call, const Http2RequestHead& head,
                                 std::string_view body, ByteSourcePtr large_body) {
  ASSERT(!call.open() && has_room() && !is_worn());
  call.response.clear();
  call.body_ = body;
  call.large_body_ = std::move(large_body);
  call.sent_ = 0;
  call.size_ = call.large_body_ ? call.large_body_->size() : body.size();
  call.unconsumed_bytes_ = call.field_bytes_ = 0;
  call.head_done_ = call.ended_ = call.malformed_ = call.unprocessed_ = false;
  const nghttp2_data_provider provider{.source = {}, .read_callback = Callbacks::read_body};
  const std::int32_t id =
      nghttp2_submit_request(session_, nullptr, head.fields_.data(), head.fields_.size(),
                             call.size_ == 0 ? nullptr : &provider, &call);
  ASSERT(id > 0);
  call.id_ = id;
  calls_.push_back(&call);
}

void Http2ClientConnection::consume(Http2Call& call, std::size_t bytes) {
  ASSERT(bytes <= call.unconsumed_bytes_);
  call.unconsumed_bytes_ -= bytes;
  // Of an answer that is whole there is nothing to make room for.
  if (call.open() && !over_) nghttp2_session_consume_stream(session_, call.id_, bytes);
}

void Http2ClientConnection::cancel(Http2Call& call) {
  ASSERT(call.open());
  if (!over_) nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.id_, NGHTTP2_CANCEL);
  forget(call);
}

void Http2ClientConnection::lose() {
  over_ = true;
  while (!calls_.empty()) {
    Http2Call& call = *calls_.back();
    end(call, call.unprocessed_ ? Http2CallEnd::unprocessed : Http2CallEnd::lost);
  }
}

bool Http2ClientConnection::finished() const {
  return over_ || (is_worn() && calls_.empty() && nghttp2_session_want_write(session_) == 0);
}

Http2Call* Http2ClientConnection::call_of(std::int32_t id) const {
  return static_cast<Http2Call*>(nghttp2_session_get_stream_user_data(session_, id));
}

int Http2ClientConnection::on_header(Http2Call& call, std::string_view name,
                                     std::string_view value) {
  call.field_bytes_ += name.size() + value.size();
  // What is beyond it is not kept; but it is decoded, since HPACK's table goes on.
  const bool is_too_much = call.field_bytes_ > limits_.header_bytes_max ||
                           call.response.fields.size() >= limits_.header_count_max;
  if (call.malformed_ || is_too_much) {
    call.malformed_ = true;
    return 0;
  }
  if (call.head_done_) return 0;  // a trailer
  if (name == ":status") {
    // Of several, those before the last are not of the answer (RFC 9110, 15.2).
    std::uint64_t status = 0;
    call.malformed_ = !parse_decimal(value, status) || status < 100 || status > 999;
    call.response.clear();
    call.response.status = static_cast<std::uint16_t>(status);
  } else if (!is_token(name) || !is_field_value(value)) {
    call.malformed_ = true;
  } else {
    call.response.fields.add(name, value);
  }
  return 0;
}

void Http2ClientConnection::on_head(Http2Call& call, bool ends) {
  call.ended_ = ends;
  if (call.malformed_) return refuse(call);
  if (call.head_done_ || call.response.status < 200) return;
  call.head_done_ = true;
  handler_.on_answer_head(call);
}

void Http2ClientConnection::on_data(Http2Call& call, std::string_view bytes) {
  call.unconsumed_bytes_ += bytes.size();
  handler_.on_answer_bytes(call, bytes);
}

// Beyond the last that the server names, it has begun none (RFC 9113, 6.8). nghttp2 closes these.
void Http2ClientConnection::on_going_away(std::int32_t last_id) {
  going_away_ = true;
  for (Http2Call* call : calls_) {
    if (call->id_ > last_id) call->unprocessed_ = true;
  }
}

void Http2ClientConnection::on_closed(Http2Call& call, std::uint32_t error) {
  if (call.malformed_) return end(call, Http2CallEnd::malformed);
  if (call.unprocessed_ || error == NGHTTP2_REFUSED_STREAM) {
    return end(call, Http2CallEnd::unprocessed);
  }
  const bool is_whole = call.head_done_ && call.ended_;
  end(call, is_whole ? Http2CallEnd::answered : Http2CallEnd::broken_off);
}

// A stream that nghttp2 does not know: one that we have forgotten, or whose request was not sent,
// because the server had ended the connection.
void Http2ClientConnection::on_unsent(std::int32_t id) {
  const auto found =
      std::find_if(calls_.begin(), calls_.end(), [id](Http2Call* call) { return call->id_ == id; });
  if (found != calls_.end()) end(**found, Http2CallEnd::unprocessed);
}

void Http2ClientConnection::refuse(Http2Call& call) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.id_, NGHTTP2_PROTOCOL_ERROR);
  end(call, Http2CallEnd::malformed);
}

void Http2ClientConnection::end(Http2Call& call, Http2CallEnd how) {
  forget(call);
  handler_.on_call_end(call, how);
}

void Http2ClientConnection::forget(Http2Call& call) {
  nghttp2_session_set_stream_user_data(session_, call.id_, nullptr);
  call.id_ = 0;
  call.body_ = {};
  call.large_body_.reset();
  std::erase(calls_, &call);
}

}  // namespace prophecy::http
