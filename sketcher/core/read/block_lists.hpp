// The lists of blocks that a worker's clients are being answered by: one copy of each, however many
// clients there are. What is here has been compared with its sketch, or is fresh from the group.
//
// Single-threaded.
#pragma once

#include <map>
#include <memory>

#include "base/bytes.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::sketcher {

class BlockLists {
 public:
  // An answer's form in blocks, in its encoding. It lives as long as somebody has it.
  using List = std::shared_ptr<const Bytes>;

  // Null: nobody has it.
  [[nodiscard]] List find(const sketch::Sketch& key) const {
    const auto found = lists_.find(key);
    return found == lists_.end() ? nullptr : found->second.lock();
  }
  List add(const sketch::Sketch& key, Bytes encoded) {
    std::erase_if(lists_, [](const auto& one) { return one.second.expired(); });
    auto list = std::make_shared<const Bytes>(std::move(encoded));
    lists_.insert_or_assign(key, list);
    return list;
  }

 private:
  std::map<sketch::Sketch, std::weak_ptr<const Bytes>> lists_;
};

}  // namespace prophecy::sketcher
