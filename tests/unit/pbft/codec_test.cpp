#include "base/codec.hpp"

#include <catch2/catch.hpp>

#include "pbft/group.hpp"
#include "pbft/wire/key_messages.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

bool decodes(ByteView frame) {
  return decode_request(frame, kReplicas) || decode_pre_prepare(frame, kReplicas) ||
         decode_vote(frame, MessageType::prepare, kReplicas) ||
         decode_vote(frame, MessageType::commit, kReplicas) || decode_reply(frame) ||
         decode_checkpoint(frame) || decode_status(frame, kReplicas) || decode_forward(frame) ||
         decode_hello(frame) || decode_view_change(frame, kReplicas) ||
         decode_new_view(frame, kReplicas) || decode_fetch_parts(frame, kReplicas) ||
         decode_part_message(frame) || decode_rejoin(frame) || decode_pledge(frame, kReplicas) ||
         decode_sealed(frame, kReplicas) || decode_key_ask(frame) || decode_key_tell(frame) ||
         decode_key_refusal(frame);
}

Frame some_pledge() {
  PledgeMessage message;
  message.to = 3;
  message.incarnation = 9;
  message.fresh = true;
  message.view = 4;
  message.checkpoint = 128;
  return encode_pledge(message, ring(2));
}

Frame key_tell(SessionRange sessions = {0, 64}) {
  KeyTellMessage message;
  message.to = 3;
  message.answered = Nonce{1};
  message.asked = Nonce{2};
  message.announcement = {{0x0102030405060708, 9}, sessions, session_key_of(kClient).key};
  message.refresh_milliseconds = 600'000;
  return encode_key_tell(message, ring(sessions.count > 1 ? kClient : 1));
}

// With so many proposals, spread over the window.
Frame view_change_with(std::size_t proposals) {
  ViewChangeMessage message;
  message.view = 1;
  for (std::size_t i = 0; i < proposals; ++i)
    message.pre_prepared.push_back({1 + i / (kProposalsPerNumber + 1), 0, {}});
  return encode_view_change(message, ring(1));
}

Frame some_view_change() {
  const Frame claim = encode_checkpoint(8, Digest{}, Digest{}, Digest{}, ring(1));
  ViewChangeMessage message;
  message.view = 4;
  message.stable = 8;
  message.certificate = {ByteView(*claim)};
  message.prepared = {{9, 1, sha256(as_bytes("a"))}, {11, 3, sha256(as_bytes("b"))}};
  message.pre_prepared = {
      {9, 1, sha256(as_bytes("a"))}, {9, 2, sha256(as_bytes("c"))}, {11, 3, sha256(as_bytes("b"))}};
  return encode_view_change(message, ring(2));
}

Frame some_status() {
  const std::vector<std::uint8_t> slots{1, 3, 7};
  StatusMessage message;
  message.first_retained = 5;
  message.last_ordered = 9;
  message.last_stable = 8;
  message.slots = slots;
  return encode_status(message, ring(1));
}

std::vector<Frame> one_of_each() {
  return {
      request(7, "operation"),
      pre_prepare(3, {request(1, "a"), request(2, "bb")}).frame,
      prepare(1, 3, sha256(as_bytes("batch"))),
      commit(2, 3, sha256(as_bytes("batch"))),
      reply(2, 7, "result"),
      reply(2, 7, "result", 1 << 16, false),
      encode_checkpoint(8, sha256(as_bytes("o")), sha256(as_bytes("r")), sha256(as_bytes("s")),
                        ring(3)),
      some_status(),
      encode_forward(*request(7), ring(1)),
      encode_hello(3, 64, 2, ring(kClient)),
      some_view_change(),
      key_tell(),
      encode_key_ask(2, Nonce{1}, ring(1)),
      encode_key_refusal(2, Nonce{1}, ring(1)),
      encode_new_view(4, {ByteView(*some_view_change()), ByteView(*some_view_change())}, ring(0)),
      encode_fetch_parts(8, std::vector{sha256(as_bytes("a")), sha256(as_bytes("b"))}, ring(2)),
      encode_part_message(encode_part(std::vector{sha256(as_bytes("a"))}, as_bytes("payload")),
                          ring(2)),
      encode_rejoin(9, ring(2)),
      encode_sealed(*encode_rejoin(9, ring(2)), ring(1)),
      some_pledge()};
}

TEST_CASE("Every message decodes to what was encoded") {
  const Frame frame = request(7, "operation", true, 2, 9);
  const auto r = decode_request(*frame, kReplicas);
  REQUIRE(r);
  CHECK(r->client == kClient);
  CHECK(r->session == 9);
  CHECK(r->timestamp == 7);
  CHECK(r->read_only);
  CHECK(r->replier == 2);
  CHECK(as_text(r->operation) == "operation");
  CHECK(ring(3).verify_authenticator(kClient, sha256(r->content), r->authenticator));

  const AgreedInput input{0x0102030405060708, Seed{1, 2, 3}};
  const Proposal proposal = pre_prepare(3, {request(1, "a"), request(2, "bb")}, 0, 0, input);
  const auto p = decode_pre_prepare(*proposal.frame, kReplicas);
  REQUIRE(p);
  CHECK(p->sequence == 3);
  CHECK(p->input == input);
  REQUIRE(p->requests.size() == 2);
  CHECK(as_text(p->requests[1].operation) == "bb");
  CHECK(ring(1).verify_authenticator(0, content_digest(*p, proposal.batch), p->authenticator));

  const Frame said = some_status();
  const auto s = decode_status(*said, kReplicas);
  REQUIRE(s);
  CHECK(s->first_retained == 5);
  CHECK(s->slots.size() == 3);
  CHECK(s->slots[2] == 7);

  const Frame claim = encode_checkpoint(8, sha256(as_bytes("o")), sha256(as_bytes("r")),
                                        sha256(as_bytes("s")), ring(3), 5);
  const auto c = decode_checkpoint(*claim);
  REQUIRE(c);
  CHECK(c->replica == 3);
  CHECK(c->incarnation == 5);
  CHECK(c->sequence == 8);
  CHECK(c->order == sha256(as_bytes("o")));
  CHECK(c->replies == sha256(as_bytes("r")));
  CHECK(c->service == sha256(as_bytes("s")));
  CHECK(ring(0).verify_signature(3, sha256(c->content), c->signature));

  const auto fetch = decode_fetch_parts(
      *encode_fetch_parts(8, std::vector{sha256(as_bytes("a")), sha256(as_bytes("b"))}, ring(2)),
      kReplicas);
  REQUIRE(fetch);
  CHECK(fetch->sequence == 8);
  CHECK(fetch->parts == std::vector{sha256(as_bytes("a")), sha256(as_bytes("b"))});
  const auto pledged = decode_pledge(*some_pledge(), kReplicas);
  REQUIRE(pledged);
  CHECK(pledged->to == 3);
  CHECK(pledged->incarnation == 9);
  CHECK(pledged->fresh);
  CHECK(pledged->view == 4);
  CHECK(pledged->checkpoint == 128);
  const Bytes node = encode_part(std::vector{sha256(as_bytes("a"))}, as_bytes("payload"));
  const auto part = decode_part(node);
  REQUIRE(part);
  CHECK(part->children == std::vector{sha256(as_bytes("a"))});
  CHECK(as_text(part->payload) == "payload");
  CHECK_FALSE(decode_part(ByteView(node).first(33)));

  const Frame asks = some_view_change();
  const auto v = decode_view_change(*asks, kReplicas);
  REQUIRE(v);
  CHECK(v->replica == 2);
  CHECK(v->view == 4);
  CHECK(v->stable == 8);
  CHECK(v->certificate.size() == 1);
  CHECK(v->prepared.size() == 2);
  CHECK(v->pre_prepared[1] == BatchRecord{9, 2, sha256(as_bytes("c"))});
  CHECK(ring(0).verify_signature(2, sha256(v->content), v->signature));

  const Frame answer = reply(2, 7, "result", 5 << 16);
  const auto a = decode_reply(*answer);
  REQUIRE(a);
  CHECK(a->sigma == 5 << 16);
  CHECK(as_text(a->result) == "result");
  CHECK(ring(kClient).verify(2, sha256(a->content), a->tag));
}

TEST_CASE("What a key message tells is what was told, of sessions that can be its sender's") {
  const Frame frame = key_tell();
  const auto told = decode_key_tell(*frame);
  REQUIRE(told);
  CHECK(told->from == kClient);
  CHECK(told->to == 3);
  CHECK(told->answered == Nonce{1});
  CHECK(told->asked == Nonce{2});
  CHECK(told->announcement.epoch == KeyEpoch{0x0102030405060708, 9});
  CHECK(told->announcement.sessions == SessionRange{0, 64});
  CHECK(told->announcement.key == session_key_of(kClient).key);
  CHECK(told->refresh_milliseconds == 600'000);
  CHECK(ring(3).verify_signature(kClient, sha256(told->content), told->signature));
  CHECK(decode_key_tell(*key_tell({})));  // of a replica
  CHECK_FALSE(decode_key_tell(*key_tell({1, kSessionsMax})));
  CHECK(decode_key_tell(*key_tell({0, kSessionsMax})));
  const auto ask = decode_key_ask(*encode_key_ask(2, Nonce{7}, ring(1)));
  REQUIRE(ask);
  CHECK(ask->from == 1);
  CHECK(ask->to == 2);
  CHECK(ask->nonce == Nonce{7});
}

TEST_CASE("A frame cut at any byte, or with one more, is no message") {
  for (const Frame& frame : one_of_each()) {
    REQUIRE(decodes(*frame));
    for (std::size_t size = 0; size < frame->size(); ++size) {
      CHECK_FALSE(decodes(ByteView(*frame).first(size)));
    }
    Bytes longer = *frame;
    longer.push_back(0);
    CHECK_FALSE(decodes(longer));
  }
}

TEST_CASE("A frame with any bit flipped is refused or harmless, and never authentic") {
  for (const Frame& frame : one_of_each()) {
    const auto type = peek_header(*frame)->type;
    for (std::size_t bit = 0; bit < 8 * frame->size(); ++bit) {
      Bytes bytes = *frame;
      bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
      (void)decodes(bytes);
      if (type == MessageType::checkpoint) {
        const auto claim = decode_checkpoint(bytes);
        CHECK_FALSE((claim && ring(0).verify_signature(claim->replica, sha256(claim->content),
                                                       claim->signature)));
      }
      // Whatever is covered by the MAC for replica 0 or the client must not survive.
      if (type != MessageType::prepare) continue;
      const auto vote = decode_vote(bytes, type, kReplicas);
      if (!vote || bit / 8 >= frame->size() - kReplicas * kTagSize) continue;
      CHECK_FALSE(
          ring(0).verify_authenticator(vote->replica, sha256(vote->content), vote->authenticator));
    }
  }
}

TEST_CASE("A count or a length that the frame cannot hold is refused before it costs memory") {
  Bytes batch = *pre_prepare(3, {request(1)}).frame;
  batch[62] = 0xff;  // the count
  batch[63] = 0x0f;
  CHECK_FALSE(decode_pre_prepare(batch, kReplicas));
  batch[62] = 0;
  batch[63] = 0;
  CHECK_FALSE(decode_pre_prepare(batch, kReplicas));

  Bytes long_operation = *request(1);
  for (std::size_t i = kRequestFixedSize - 4; i < kRequestFixedSize; ++i) {
    long_operation[i] = 0xff;
  }
  CHECK_FALSE(decode_request(long_operation, kReplicas));
}

TEST_CASE("Fields out of bounds are refused") {
  CHECK_FALSE(decode_vote(*prepare(1, 0, Digest{}), MessageType::prepare, kReplicas));
  CHECK_FALSE(
      decode_vote(*prepare(1, kSequenceMax + 1, Digest{}), MessageType::prepare, kReplicas));
  CHECK_FALSE(decode_request(*request(0), kReplicas));                        // no timestamp
  CHECK_FALSE(decode_request(*request(1, "", false, kReplicas), kReplicas));  // no such replier
  CHECK_FALSE(decode_request(*request(1, "", false, 0, kSessionsMax), kReplicas));
  Bytes other_version = *request(1);
  other_version[1] = kWireVersion + 1;
  CHECK_FALSE(decode_request(other_version, kReplicas));
  CHECK_FALSE(peek_header(other_version));
}

TEST_CASE("Records of a view-change have to be in order, within the window, and of older views") {
  const auto is_refused = [](std::vector<BatchRecord> records) {
    ViewChangeMessage prepared, pre_prepared;
    prepared.view = pre_prepared.view = 4;
    prepared.prepared = records;
    pre_prepared.pre_prepared = records;
    return !decode_view_change(*encode_view_change(prepared, ring(1)), kReplicas) &&
           !decode_view_change(*encode_view_change(pre_prepared, ring(1)), kReplicas);
  };
  CHECK_FALSE(is_refused({{1, 0, {}}, {2, 3, {}}}));
  CHECK(is_refused({{2, 0, {}}, {1, 0, {}}}));
  CHECK(is_refused({{1, 4, {}}}));
  CHECK(is_refused({{0, 0, {}}}));
  CHECK(is_refused({{kWindowMax + 1, 0, {}}}));
  CHECK(is_refused(std::vector<BatchRecord>(kProposalsMax + 1, {1, 0, {}})));
  CHECK_FALSE(
      decode_view_change(*view_change_with(kWindowMax * kProposalsPerNumber + 1), kReplicas));
  CHECK(decode_view_change(*view_change_with(kWindowMax * kProposalsPerNumber), kReplicas));
  ViewChangeMessage unproven;
  unproven.view = 1;
  unproven.stable = 8;
  CHECK_FALSE(decode_view_change(*encode_view_change(unproven, ring(1)), kReplicas));
}

TEST_CASE("A frame's header can be read without the rest") {
  const auto header = peek_header(*request(1, "", false, 0, 17));
  REQUIRE(header);
  CHECK(header->type == MessageType::request);
  CHECK(header->sender == kClient);
  CHECK(header->session == 17);
  CHECK_FALSE(peek_header(Bytes{}));
  CHECK_FALSE(peek_header(Bytes{99, kWireVersion, 0, 0, 0, 0}));
  CHECK_FALSE(peek_header(Bytes{1, kWireVersion, 0, 4, 0, 0, 1}));  // a request without session
}

}  // namespace
}  // namespace prophecy::pbft::test
