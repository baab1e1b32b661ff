// `AnswerSink` takes the answer to one request after another: a session, or one of its streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "canonical/answer_form.hpp"
#include "http/message.hpp"
#include "sketch/sketch_value.hpp"
#include "sketcher/reads/tunnel_request.hpp"

namespace prophecy::sketcher {

class AnswerSink {
 public:
  // Views are valid during the call. `sketch` is present when the answer was verified and may be
  // sketched. `storage`, if there is one, is where the form's body lies, and may be swapped out.
  virtual void on_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                         std::string* storage) = 0;
  // The client has gone without abandon(): a fast read goes on, so that its connection is kept.
  [[nodiscard]] virtual bool has_left() const = 0;
  // A final answer of our own. `reason` is a static token.
  virtual void on_error(std::uint16_t status, std::string_view reason) = 0;
  // The connection is to become a tunnel, and the exchange has nothing more to do with it.
  virtual void on_tunnel(TunnelRequest tunnel) = 0;

  // An answer in blocks, or in unverified pieces, comes in place of on_answer(): its head, then its
  // bytes, in `storage`, which the sink may swap out; then its end, at which it is whole or has to
  // be seen to be cut off. The sink is asked first whether it has room for blocks of that size:
  // after an answer of false, here as with the bytes, nothing comes until it has called
  // Exchange::on_writable().
  [[nodiscard]] virtual bool may_take_blocks(std::uint32_t bytes_of_each) = 0;
  virtual void on_large_begin(const sketch::AnswerForm& form,
                              const std::optional<Sketch>& sketch) = 0;
  virtual bool on_large_bytes(std::string& storage, std::size_t begin, std::size_t size) = 0;
  virtual void on_large_end(bool whole) = 0;

  // Another member's answer, whole; or its head, and then its bytes and its end as above.
  virtual void on_passed(const http::Response& answer) = 0;
  virtual void on_passed_begin(const http::Response& head, std::uint64_t size) = 0;

 protected:
  ~AnswerSink() = default;
};

}  // namespace prophecy::sketcher
