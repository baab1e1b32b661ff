// The digests that sketches are made with, each with its keys in place: begin() takes in which kind
// of form comes, update() its bytes, finish() gives the sketch. For one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/digest.hpp"
#include "base/encrypted_gmac.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::sketch {

enum class Domain : std::uint8_t { request, answer, blocks };

// Whose sketches: no two have any in common.
struct SketchScope {
  const Sha256::Digest& profile;  // its id
  std::string_view group;
};

// How integers, and byte strings with their length, go into a message.
template <class Message>
void update_integer(Message& message, std::uint64_t value) {
  std::array<std::uint8_t, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
  message.update(bytes);
}
template <class Message>
void update_sized(Message& message, ByteView bytes) {
  update_integer(message, bytes.size());
  message.update(bytes);
}

// Over Hash, of which the first 160 bits are taken.
template <class Hash>
class HmacDigest {
 public:
  class Message {
   public:
    explicit Message(const Hmac<Hash>& begun) : hmac_(begun) {}
    void update(ByteView bytes) { hmac_.update(bytes); }
    [[nodiscard]] Sketch finish() {
      const auto digest = hmac_.finish();
      Sketch sketch;
      std::copy_n(digest.begin(), sketch.size(), sketch.begin());
      return sketch;
    }

   private:
    Hmac<Hash> hmac_;
  };

  HmacDigest(ByteView secret, const SketchScope& scope);
  [[nodiscard]] Message begin(Domain domain) const {
    return Message(begun_[static_cast<std::size_t>(domain)]);
  }

 private:
  // With all that comes before the form already taken in.
  std::array<Hmac<Hash>, 3> begun_;
};

// Under keys made of the secret and the scope.
class GmacDigest {
 public:
  class Message {
   public:
    explicit Message(EncryptedGmac& gmac) : gmac_(gmac) { gmac_.start(); }
    void update(ByteView bytes) { gmac_.update(bytes); }
    [[nodiscard]] Sketch finish() { return gmac_.finish(); }

   private:
    EncryptedGmac& gmac_;
  };

  GmacDigest(ByteView secret, const SketchScope& scope);
  // One message at a time.
  [[nodiscard]] Message begin(Domain domain) const;

 private:
  mutable EncryptedGmac gmac_;  // holds nothing between two messages
};

}  // namespace prophecy::sketch
