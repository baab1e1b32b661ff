// `LinkTls` encrypts the connections between the members of a group: TLS 1.3 in which each side
// shows the signing key that the group's file lists for it.
//
// There is no authority, no name and no date: a member makes a certificate for its own key, and
// takes its peer's for the key alone. A member that connects wants the key of the replica that it
// means; a replica that accepts wants that of any other member. No session is resumed.
//
// Frames keep their own proofs (KeyRing), on which agreement rests. TLS adds that nobody on the
// network reads them, and that strangers get no further than the handshake.
//
// Constant once it is made; draws randomness. A child process after fork() may go on to use it.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "pbft/auth/key_ring.hpp"
#include "pbft/links/link_channel.hpp"

namespace prophecy::pbft {

class LinkTls {
 public:
  // Of the member `self`; `members` are all of the group.
  [[nodiscard]] static Result<std::shared_ptr<const LinkTls>> make(NodeId self,
                                                                   const PrivateKeys& own,
                                                                   std::span<const Member> members);

  // To this replica, which is listed. Null: there is no memory.
  [[nodiscard]] std::unique_ptr<LinkChannel> connect(NodeId replica) const;
  // From any other member. Likewise.
  [[nodiscard]] std::unique_ptr<LinkChannel> accept() const;

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  using KeyBytes = std::array<std::uint8_t, kKeySize>;

  LinkTls() = default;
  [[nodiscard]] std::unique_ptr<LinkChannel> make_channel() const;
  [[nodiscard]] bool is_allowed(const LinkChannel& channel, const KeyBytes& shown) const;
  static int on_certificate(X509_STORE_CTX* store, void* self);

  std::unique_ptr<SSL_CTX, Free> context_;
  std::vector<PublicSigningKey> replicas_;  // by their ids
  std::set<KeyBytes> others_;               // of all members but this one
};

}  // namespace prophecy::pbft
