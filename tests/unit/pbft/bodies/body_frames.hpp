// A small body and what is said about it: its request by digest, questions for its parts, and their
// answers.
#pragma once

#include "pbft/group.hpp"
#include "pbft/wire/body.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {

inline std::shared_ptr<const Bytes> bytes_of_size(std::size_t size) {
  auto bytes = std::make_shared<Bytes>(size);
  for (std::size_t i = 0; i < size; ++i)
    (*bytes)[i] = static_cast<std::uint8_t>(i * i >> 8);
  return bytes;
}

// Five leaves.
inline const BodyTree& tree() {
  static const BodyTree tree(bytes_of_size(450), 100);
  return tree;
}

inline Frame by_digest(std::uint64_t timestamp, const BodyName& name, std::uint32_t session = 0) {
  return finish_request(begin_request(name, kReplicas), session, timestamp, false, 0,
                        ring(kClient));
}

inline Frame by_digest(std::uint64_t timestamp) {
  return by_digest(timestamp, tree().name());
}

// A body that does not come, and a client's request that names it, on the session of this number.
inline BodyName absent_body(std::uint32_t number) {
  return {16, sha256(as_bytes(std::to_string(number)))};
}

inline Frame announcement(NodeId client, std::uint32_t number) {
  return finish_request(begin_request(absent_body(number), kReplicas), number, 1, false, 0,
                        ring(client));
}

struct Asked {
  NodeId of = 0;
  std::vector<Digest> parts;
};

inline std::vector<Asked> asked_by(const Subject& subject) {
  std::vector<Asked> all;
  for (const Outgoing& outgoing : subject.actions.sends) {
    if (peek_header(*outgoing.frame)->type != MessageType::fetch_parts) continue;
    const auto message = is_client(outgoing.to) ? decode_fetch_parts(*outgoing.frame)
                                                : decode_fetch_parts(*outgoing.frame, kReplicas);
    REQUIRE(message.has_value());
    all.push_back({outgoing.to, message->parts});
  }
  return all;
}

// Hands over what is asked for until nothing is. Frames of the last event are left in `actions`.
inline void deliver(Subject& subject, const BodyTree& body = tree()) {
  std::vector<Digest> wanted;
  for (bool asks = true; asks;) {
    for (const Asked& asked : asked_by(subject))
      wanted.insert(wanted.end(), asked.parts.begin(), asked.parts.end());
    asks = !wanted.empty();
    if (!asks) return;
    const auto part = body.part(wanted.back());
    wanted.pop_back();
    REQUIRE(part.has_value());
    subject.feed(encode_part_message(*part, ring(kClient)));
  }
}

inline Frame forwarded(NodeId from, const Frame& request) {
  return encode_forward(*request, ring(from));
}

}  // namespace prophecy::pbft::test
