// The parts of which a state's tree is made (pbft/wire/part.hpp): pieces of content, listings of
// folders, and indexes, which join pieces or listings that do not fit into one part.
//
//   payload := u8 1, bytes                        ; a piece of content: no children
//            | u8 2, u8 level                     ; an index: its children are indexes of one level
//                                                 ; less; those of level 1 are pieces or listings
//            | u8 3, entry*                       ; a listing: a child for each file and folder
//   entry   := u8 1, name, u16 mode, u64 size, time          ; a file: its child is its content
//            | u8 2, name, u16 mode                          ; a folder: its child is its listing
//            | u8 3, name, u16 |target|, target              ; a symbolic link
//   name    := u8 length, bytes
//   time    := u8 0 | u8 1, u64 seconds since 1970
//
// Entries are sorted by the bytes of their names. What decode_state_part() admits cannot leave the
// folder in which it is restored: no name holds a slash or is `.` or `..`.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pbft/wire/part.hpp"

namespace prophecy::pbft {

constexpr std::size_t kContentBytesMax = 128 * 1024;  // of one piece
constexpr std::size_t kListingBytesMax = 64 * 1024;   // a listing is closed at the latest then
constexpr std::uint8_t kIndexLevelMax = 3;
constexpr std::size_t kNameBytesMax = 255;
constexpr std::size_t kLinkBytesMax = 4095;
constexpr std::uint16_t kModeBits = 0777;

enum class EntryKind : std::uint8_t { file = 1, folder = 2, link = 3 };

struct FolderEntry {
  EntryKind kind = EntryKind::file;
  std::string name;
  std::uint16_t mode = 0;                 // of files and folders
  std::uint64_t size = 0;                 // of files
  std::optional<std::uint64_t> modified;  // of files, where it is part of the state
  Digest child{};                         // of files and folders
  std::string target;                     // of links
};

struct ContentPiece {
  ByteView bytes;  // into what was decoded
};
struct PartIndex {
  std::uint8_t level = 1;
  std::vector<Digest> children;
};
struct FolderListing {
  std::vector<FolderEntry> entries;
};
using StatePart = std::variant<ContentPiece, PartIndex, FolderListing>;

[[nodiscard]] bool is_admissible_name(std::string_view name);

// Require what decode_state_part() admits.
[[nodiscard]] Bytes encode_content(ByteView bytes);
[[nodiscard]] Bytes encode_index(std::uint8_t level, std::span<const Digest> children);
[[nodiscard]] Bytes encode_listing(std::span<const FolderEntry> entries);
// What an entry adds to a listing's part, its child included.
[[nodiscard]] std::size_t entry_bytes(const FolderEntry& entry);

[[nodiscard]] std::optional<StatePart> decode_state_part(ByteView part);

}  // namespace prophecy::pbft
