// Which parts (pbft/wire/part.hpp) are to stay: those that a pinned root leads to. Counted: a
// part's count is that of the pins on it, and of the places in referenced parts that name it. So
// what two trees have in common is walked once, and goes with the last of them.
//
// A tree comes from others. Its walk takes no recursion, and its height is bounded; a loop cannot
// be made.
//
// Single-threaded; no I/O of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "pbft/wire/part.hpp"

namespace prophecy::pbft {

// A state has a part or two for each level of folders, and more where a folder or a file is large.
constexpr std::uint32_t kPartHeightMax = 2048;

class PartReferences {
 public:
  // The children of a part; nothing when it is not here.
  using ChildrenOf = std::function<std::optional<std::vector<Digest>>(const Digest&)>;

  // Asks for the children of parts that were not referenced before, and appends these to `added`,
  // children first. False, with nothing pinned, when one is missing or the tree is too high.
  [[nodiscard]] bool pin(const Digest& root, const ChildrenOf& children_of,
                         std::vector<Digest>& added);
  // Requires a pinned root. Gives what is not referenced any more. The children of a part that is
  // missing by now keep their references: it is better to keep too much.
  [[nodiscard]] std::vector<Digest> unpin(const Digest& root, const ChildrenOf& children_of);

  [[nodiscard]] bool holds(const Digest& part) const { return parts_.contains(part); }
  [[nodiscard]] std::size_t size() const { return parts_.size(); }

 private:
  struct Reference {
    std::uint64_t count = 0;
    std::uint64_t pins = 0;    // among the count
    std::uint32_t height = 1;  // of the tree below it, itself included
  };
  // A part whose children are being walked. It has no reference until they all have.
  struct Visited {
    Digest part;
    std::vector<Digest> children;
    std::size_t next = 0;
    std::uint32_t height = 1;
  };

  [[nodiscard]] bool walk(const Digest& root, const ChildrenOf& children_of,
                          std::vector<Visited>& path, std::vector<Digest>& added);
  // Undoes a walk that did not reach its end.
  void take_back(const std::vector<Visited>& path, const std::vector<Digest>& walked,
                 const ChildrenOf& children_of);
  // Takes one reference away; what has none left is appended to `gone`.
  void release(const Digest& part, std::vector<Digest>& gone);

  std::map<Digest, Reference> parts_;  // a peer can choose digests that collide in a hash table
};

}  // namespace prophecy::pbft
