// Any number of parts under one root: a single one is its own root, more are joined by indexes,
// each as full as it can be. And content as such a sequence: pieces of kContentBytesMax, but for
// the last one. Equal content has an equal root.
//
// For the worker's thread (part_pipe.hpp).
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "pbft/services/state/part_pipe.hpp"
#include "pbft/services/state/state_parts.hpp"

namespace prophecy::pbft {

// Where finished parts go. Without a pipe they are only named.
class PartSink {
 public:
  explicit PartSink(PartPipe* pipe) : pipe_(pipe) {}
  [[nodiscard]] Result<Digest> put(Bytes part);

 private:
  PartPipe* pipe_;
};

class SequenceWriter {
 public:
  explicit SequenceWriter(PartSink& sink) : sink_(sink) {}
  [[nodiscard]] Result<> add(const Digest& part) { return add(part, 0); }
  // Requires that something was added. The writer is done then.
  [[nodiscard]] Result<Digest> finish();

 private:
  [[nodiscard]] Result<> add(const Digest& part, std::uint8_t level);
  [[nodiscard]] Result<> close(std::uint8_t level);

  PartSink& sink_;
  std::array<std::vector<Digest>, kIndexLevelMax + 1> levels_;
};

// The pieces or listings of a sequence, in their order. Takes only what a SequenceWriter makes: the
// last index of a level is the only one that may have room, and one on top has more than one child.
class SequenceReader {
 public:
  struct Leaf {
    Bytes storage;
    StatePart part;  // never an index; views into the storage
  };

  SequenceReader(PartPipe& parts, const Digest& root) : parts_(parts), next_(root) {}
  // Nothing at the end.
  [[nodiscard]] Result<std::optional<Leaf>> next();
  // True once an index was met: there may be more than one leaf.
  [[nodiscard]] bool has_index() const { return has_index_; }

 private:
  struct Open {
    PartIndex index;
    std::size_t position = 0;
  };

  [[nodiscard]] std::optional<Digest> step();
  [[nodiscard]] Result<> enter(PartIndex index);

  PartPipe& parts_;
  std::optional<Digest> next_;
  std::vector<Open> open_;
  std::array<bool, kIndexLevelMax + 1> had_room_{};  // an index of that level
  bool has_index_ = false;
};

class ContentWriter {
 public:
  ContentWriter(PartSink& sink, std::uint64_t bytes_max)
      : sink_(sink), sequence_(sink), bytes_max_(bytes_max) {}
  // ErrorKind::limit beyond `bytes_max`.
  [[nodiscard]] Result<> add(ByteView bytes);
  [[nodiscard]] Result<Digest> finish();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  [[nodiscard]] Result<> close();

  PartSink& sink_;
  SequenceWriter sequence_;
  std::uint64_t bytes_max_;
  std::uint64_t size_ = 0;
  Bytes piece_;
};

class ContentReader {
 public:
  ContentReader(PartPipe& parts, const Digest& root, std::uint64_t bytes_max)
      : sequence_(parts, root), bytes_max_(bytes_max) {}
  // Empty at the end. Valid until the next call.
  [[nodiscard]] Result<ByteView> next();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  SequenceReader sequence_;
  std::uint64_t bytes_max_;
  std::uint64_t size_ = 0;
  bool short_one_ = false;  // the last piece was not full: there may be no other
  bool begun_ = false;
  std::optional<SequenceReader::Leaf> leaf_;
};

// What to say of parts that no correct replica makes.
[[nodiscard]] Error malformed_state(std::string_view what);

}  // namespace prophecy::pbft
