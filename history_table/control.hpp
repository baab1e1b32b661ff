// The control word of a bucket: who holds it, which slots were read lately, how often it changed.
//
//   63 ................ 17  16 ...... 9  8 .... 1   0
//   version               | referenced  | owner   | locked
//
// The version grows with each change of a slot, in the same instruction that unlocks. 47 bits do
// not come round while a reader looks at one bucket. Readers set `referenced` bits at any time;
// all else is changed by the owner of the lock alone, and always by one read-modify-write, so
// that neither loses the other's bits.
#pragma once

#include "history_table/layout.hpp"

namespace prophecy::table {

constexpr Word kLockedBit = 1;
constexpr unsigned kOwnerShift = 1;
constexpr Word kOwnerMask = Word{kWriterSlotMax} << kOwnerShift;
constexpr unsigned kReferencedShift = 9;
constexpr Word kReferencedMask = ((Word{1} << kSlotsPerBucket) - 1) << kReferencedShift;
constexpr unsigned kVersionShift = 17;
constexpr Word kVersionOne = Word{1} << kVersionShift;

static_assert((kOwnerMask >> kOwnerShift) == kWriterSlotMax);
static_assert((kLockedBit & kOwnerMask) == 0 && (kOwnerMask & kReferencedMask) == 0);
static_assert(kReferencedMask < kVersionOne);

constexpr bool is_locked(Word control) {
  return (control & kLockedBit) != 0;
}
constexpr WriterSlot owner_of(Word control) {
  return static_cast<WriterSlot>((control & kOwnerMask) >> kOwnerShift);
}
constexpr bool is_locked_by(Word control, WriterSlot writer) {
  return is_locked(control) && owner_of(control) == writer;
}
constexpr Word lock_bits(WriterSlot writer) {
  return Word{writer} << kOwnerShift | kLockedBit;
}
constexpr Word version_of(Word control) {
  return control >> kVersionShift;
}
constexpr Word referenced_bit(std::size_t slot) {
  return Word{1} << (kReferencedShift + slot);
}

// A short wait that leaves the core's other thread its share.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace prophecy::table
