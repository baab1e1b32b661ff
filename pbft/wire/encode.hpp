// Messages into frames, authenticated with the sender's key ring. Requires fields within
// pbft/wire/limits.hpp.
#pragma once

#include <span>

#include "pbft/auth/key_ring.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

// A request is encoded in two steps, because a call may wait for a session: the operation is
// copied when the call comes, the rest is filled in when it goes. With an epoch (0: none), it is
// finished as one that is not read-only.
[[nodiscard]] Bytes begin_request(ByteView operation, std::uint32_t replicas,
                                  std::uint64_t epoch = 0);
// For an operation that is ordered by digest; finished as one that is not read-only.
[[nodiscard]] Bytes begin_request(const BodyName& body, std::uint32_t replicas,
                                  std::uint64_t epoch = 0);
[[nodiscard]] Frame finish_request(Bytes begun, std::uint32_t session, std::uint64_t timestamp,
                                   bool read_only, NodeId replier, const KeyRing& keys);
// The same, signed, under MACs that cover the signature. Requires a request of this client's own.
[[nodiscard]] Frame sign_request(ByteView request_frame, const KeyRing& keys);

// The same content with MACs under the session keys of today.
[[nodiscard]] Frame renew_request(const RequestMessage& request, const KeyRing& keys);
[[nodiscard]] Frame renew_vote(ByteView vote_frame, const KeyRing& keys);
[[nodiscard]] Frame renew_pre_prepare(ByteView frame, const Digest& batch, const KeyRing& keys);

// A pre-prepare that grows by one request at a time, so that a waiting request lies in the very
// bytes that will be sent.
class PrePrepareBuilder {
 public:
  explicit PrePrepareBuilder(std::size_t size_hint);
  // Copies the request's frame; yields where in the frame it starts.
  std::size_t append(ByteView request_frame, const Digest& request_digest);

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

  struct Finished {
    Frame frame;
    Digest batch;
  };
  [[nodiscard]] Finished finish(std::uint64_t view, std::uint64_t sequence,
                                const AgreedInput& input, const KeyRing& keys);

 private:
  Bytes bytes_;
  Sha256 batch_;
  std::uint32_t count_ = 0;
};

// `type` is prepare, commit or decision.
[[nodiscard]] Frame encode_vote(MessageType type, std::uint64_t view, std::uint64_t sequence,
                                const Digest& batch, const KeyRing& keys);
// Uses all fields but `replica`, `content` and `tag`.
[[nodiscard]] Frame encode_reply(const ReplyMessage& reply, const KeyRing& keys);
// Signed, in place of an authenticator. `incarnation` is this replica's own, 0 in a group whose
// replicas have none.
[[nodiscard]] Frame encode_checkpoint(std::uint64_t sequence, const Digest& order,
                                      const Digest& replies, const Digest& service,
                                      const KeyRing& keys, std::uint64_t incarnation = 0);
// Uses all fields but `replica`, `content` and `authenticator`.
[[nodiscard]] Frame encode_status(const StatusMessage& status, const KeyRing& keys);
[[nodiscard]] Frame encode_forward(ByteView request_frame, const KeyRing& keys);
[[nodiscard]] Frame encode_hello(std::uint32_t first_session, std::uint32_t session_count,
                                 NodeId to, const KeyRing& keys);

}  // namespace prophecy::pbft
