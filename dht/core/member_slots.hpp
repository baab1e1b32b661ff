// `MemberSlots` gives each member of a view a place in the lists that workers have of members'
// addresses. A name keeps its place from view to view; places of members that are gone are used
// again.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "dht/core/permissions.hpp"
#include "dht/core/view.hpp"

namespace prophecy::dht {

class MemberSlots {
 public:
  // As many as can be members of two views that follow one another: none is used again at once.
  static constexpr std::size_t kSlots = 2 * kMembersMax;

  void adopt(const View& view) {
    for (std::string& name : names_) {
      if (find_member(view, name) == nullptr) name.clear();
    }
    for (const Member& member : view.members) {
      if (slot_of(member.holder.name) != kNoSlot) continue;
      next_ = next_free();
      names_[next_] = member.holder.name;
    }
  }
  [[nodiscard]] MemberSlot slot_of(std::string_view name) const {
    for (std::size_t i = 0; i < kSlots; ++i) {
      if (!name.empty() && names_[i] == name) return static_cast<MemberSlot>(i);
    }
    return kNoSlot;
  }
  // Empty: nobody's.
  [[nodiscard]] const std::string& name_at(MemberSlot slot) const { return names_[slot]; }

 private:
  // After the one used last.
  [[nodiscard]] std::size_t next_free() const {
    std::size_t slot = next_;
    do {
      slot = (slot + 1) % kSlots;
    } while (!names_[slot].empty());
    return slot;
  }

  std::array<std::string, kSlots> names_;
  std::size_t next_ = kSlots - 1;
};

}  // namespace prophecy::dht
