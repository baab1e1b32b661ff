// Any bytes as any message: decoding reads nothing beyond them, and what is decoded lies within.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "pbft/wire/body.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/key_messages.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/sealed.hpp"
#include "pbft/wire/view_change.hpp"

namespace {

using prophecy::Bytes;
using prophecy::ByteView;

void require_within(ByteView part, ByteView frame) {
  if (part.empty()) return;
  if (part.data() < frame.data() || part.data() + part.size() > frame.data() + frame.size()) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prophecy::pbft;
  if (size == 0) return 0;
  const std::uint32_t replicas = 1 + 3 * (1 + data[0] % 21);
  const ByteView frame(data + 1, size - 1);
  (void)peek_header(frame);
  if (const auto m = decode_request(frame, replicas)) {
    require_within(m->operation, frame);
    require_within(m->authenticator, frame);
  }
  if (const auto m = decode_pre_prepare(frame, replicas)) {
    for (const auto& request : m->requests)
      require_within(request.content, frame);
  }
  for (const auto type : {MessageType::prepare, MessageType::commit, MessageType::decision}) {
    if (const auto m = decode_vote(frame, type, replicas)) require_within(m->content, frame);
  }
  if (const auto m = decode_reply(frame)) require_within(m->result, frame);
  if (const auto m = decode_checkpoint(frame)) require_within(m->content, frame);
  if (const auto m = decode_status(frame, replicas)) require_within({m->slots}, frame);
  if (const auto m = decode_forward(frame)) require_within(m->request, frame);
  if (const auto m = decode_sealed(frame, replicas)) require_within(m->frame, frame);
  if (const auto m = decode_hello(frame)) require_within(m->content, frame);
  if (const auto m = decode_view_change(frame, replicas)) {
    for (const ByteView claim : m->certificate)
      require_within(claim, frame);
    require_within(m->signature, frame);
  }
  (void)decode_key_ask(frame);
  (void)decode_key_refusal(frame);
  if (const auto m = decode_key_tell(frame)) {
    require_within(m->content, frame);
    require_within(m->signature, frame);
  }
  if (const auto m = decode_new_view(frame, replicas)) {
    for (const ByteView view_change : m->view_changes)
      require_within(view_change, frame);
    require_within(m->signature, frame);
  }
  if (const auto m = decode_part_message(frame)) require_within(m->part, frame);
  (void)decode_rejoin(frame);
  if (const auto m = decode_pledge(frame, replicas)) require_within(m->content, frame);
  if (const auto m = decode_uncertain(frame, replicas)) require_within(m->content, frame);
  if (const auto m = decode_present(frame, replicas)) require_within(m->content, frame);
  if (const auto part = decode_part(frame)) {
    const Bytes again = encode_part(part->children, part->payload);
    if (!std::equal(again.begin(), again.end(), frame.begin(), frame.end())) std::abort();
  }
  if (const auto m = decode_fetch_parts(frame, replicas)) require_within(m->content, frame);
  if (const auto m = decode_fetch_parts(frame)) require_within(m->authenticator, frame);
  (void)decode_body_name(frame);
  if (const auto leaf = decode_body_leaf(frame)) require_within(*leaf, frame);
  if (const auto leaves = decode_body_root(frame, frame.size())) {
    if (leaves->size() > body_leaves_max(frame.size())) std::abort();
  }
  return 0;
}
