// A client that speaks HTTP/2 by nghttp2, and its session, in virtual time.
#pragma once

#include <cstring>
#include <map>

#include "session_world.hpp"
#include "sketcher/client/http/http2_session.hpp"

namespace prophecy::sketcher::session_test {

inline constexpr Duration kMoment = milliseconds(1);

// A client whose windows open as it takes data, unless they are shut.
class Peer {
 public:
  struct Answer {
    std::string status;
    std::string body;
    bool over = false;
    std::uint32_t error = 0;
  };

  explicit Peer(bool shut = false) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* self) {
          if (std::string_view(reinterpret_cast<const char*>(name), name_size) == ":status") {
            of(self, frame->hd.stream_id)
                .status.assign(reinterpret_cast<const char*>(value), value_size);
          }
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                      std::size_t size, void* self) {
          of(self, id).body.append(reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* self) {
          of(self, id).over = true;
          of(self, id).error = error;
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          if (frame->hd.type == NGHTTP2_GOAWAY) static_cast<Peer*>(self)->goodbye = true;
          return 0;
        });
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry window{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                        shut ? 0U : 10U << 20};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &window, 1);
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, 10 << 20);
  }
  ~Peer() { nghttp2_session_del(session_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::int32_t get(const std::string& path) { return submit("GET", path, nullptr); }
  // Its body does not come.
  std::int32_t put(const std::string& path) {
    const nghttp2_data_provider never{
        {},
        [](nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t, std::uint32_t*,
           nghttp2_data_source*, void*) -> ssize_t { return NGHTTP2_ERR_DEFERRED; }};
    return submit("PUT", path, &never);
  }
  // What it sends now.
  std::string output() {
    std::string out;
    const std::uint8_t* data = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &data)) > 0;)
      out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    return out;
  }
  void receive(std::string_view bytes) {
    const auto taken = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    REQUIRE(taken == static_cast<ssize_t>(bytes.size()));
  }
  void take_back(std::int32_t stream) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  }
  void ping() { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }
  void open_windows(std::int32_t stream, std::int32_t by) {
    nghttp2_submit_window_update(session_, NGHTTP2_FLAG_NONE, stream, by);
  }

  std::map<std::int32_t, Answer> answers;
  bool goodbye = false;

 private:
  static Answer& of(void* self, std::int32_t id) { return static_cast<Peer*>(self)->answers[id]; }

  std::int32_t submit(const char* method, const std::string& path,
                      const nghttp2_data_provider* body) {
    const auto field = [](const char* name, const char* value) {
      return nghttp2_nv{reinterpret_cast<std::uint8_t*>(const_cast<char*>(name)),
                        reinterpret_cast<std::uint8_t*>(const_cast<char*>(value)),
                        std::strlen(name), std::strlen(value), NGHTTP2_NV_FLAG_NONE};
    };
    const nghttp2_nv fields[] = {field(":method", method), field(":scheme", "http"),
                                 field(":path", path.c_str()), field(":authority", "a")};
    return nghttp2_submit_request(session_, nullptr, fields, 4, body, nullptr);
  }

  nghttp2_session* session_ = nullptr;
};

// All that both sides have to say.
inline void exchange(Peer& peer, Client<Http2Session>& client) {
  for (bool more = true; more && !client.over();) {
    more = client.turn();
    if (const std::string sent = peer.output(); !sent.empty()) {
      client.send(sent);
      more = true;
    }
    if (const std::string taken = client.take_all(); !taken.empty()) {
      peer.receive(taken);
      more = true;
    }
  }
  peer.receive(client.take_all());
}

struct Http2World final : World {
  explicit Http2World(bool shut = false, std::size_t socket_bytes = 1 << 20)
      : peer(shut), client(*this, http2, socket_bytes) {}

  void begin() {
    client.begin(peer.output());
    exchange();
  }
  void exchange() { session_test::exchange(peer, client); }
  // As worker.cpp has it: the session's own time-outs call it again.
  void wait(Duration by) {
    advance(by);
    exchange();
  }

  Http2Resources http2{.limits = {}, .timeouts = timeouts_of};
  Peer peer;
  Client<Http2Session> client;
};

}  // namespace prophecy::sketcher::session_test
