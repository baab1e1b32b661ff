// `MemberCall` is one request that another member of the ring is asked to answer. Whoever makes it
// derives what it does with the answer from this.
//
// Single-threaded, on the worker's loop.
#pragma once

#include "http/http2/client_connection.hpp"

namespace prophecy::sketcher {

class MemberLink;

class MemberCall : public http::Http2Call {
 public:
  // A connection is there, and takes it: makes the call, at once.
  virtual void send(http::Http2ClientConnection& connection) = 0;
  // The answer's head is there; its bytes; nothing more has arrived for now.
  virtual void on_head() = 0;
  virtual void on_bytes(std::string_view bytes) = 0;
  virtual void on_pause() = 0;
  // The last call for it.
  virtual void on_end(http::Http2CallEnd end) = 0;

  // By the link that has it; null: none.
  [[nodiscard]] MemberLink* link() const { return link_; }

 protected:
  ~MemberCall() override = default;

 private:
  friend class MemberLink;
  MemberLink* link_ = nullptr;
  bool is_noted_ = false;  // for on_pause()
};

}  // namespace prophecy::sketcher
