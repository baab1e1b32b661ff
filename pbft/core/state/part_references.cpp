#include "pbft/core/state/part_references.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {

bool PartReferences::pin(const Digest& root, const ChildrenOf& children_of,
                         std::vector<Digest>& added) {
  if (!holds(root)) {
    std::vector<Visited> path;
    std::vector<Digest> walked;
    if (!walk(root, children_of, path, walked)) {
      take_back(path, walked, children_of);
      return false;
    }
    added.insert(added.end(), walked.begin(), walked.end());
  }
  Reference& reference = parts_.at(root);
  ++reference.count;
  ++reference.pins;
  return true;
}

bool PartReferences::walk(const Digest& root, const ChildrenOf& children_of,
                          std::vector<Visited>& path, std::vector<Digest>& added) {
  const auto enter = [&](const Digest& part) {
    auto children = path.size() < kPartHeightMax ? children_of(part) : std::nullopt;
    if (!children) return false;
    path.push_back({part, std::move(*children)});
    return true;
  };
  if (!enter(root)) return false;
  while (!path.empty()) {
    Visited& visited = path.back();
    if (visited.next < visited.children.size()) {
      const Digest child = visited.children[visited.next];
      const auto known = parts_.find(child);
      if (known == parts_.end()) {
        if (!enter(child)) return false;
        continue;  // it is counted when it has been walked
      }
      visited.height = std::max(visited.height, known->second.height + 1);
      if (visited.height > kPartHeightMax) return false;
      ++known->second.count;
      ++visited.next;
      continue;
    }
    parts_[visited.part].height = visited.height;
    added.push_back(visited.part);
    path.pop_back();
  }
  return true;
}

void PartReferences::take_back(const std::vector<Visited>& path, const std::vector<Digest>& walked,
                               const ChildrenOf& children_of) {
  // What was referenced before has more than these, so that nothing falls to none here.
  for (const Visited& visited : path) {
    for (std::size_t child = 0; child < visited.next; ++child)
      --parts_.at(visited.children[child]).count;
  }
  for (const Digest& part : walked) {
    const auto children = children_of(part);
    if (!children) continue;
    for (const Digest& child : *children)
      --parts_.at(child).count;
  }
  for (const Digest& part : walked)
    parts_.erase(part);
}

void PartReferences::release(const Digest& part, std::vector<Digest>& gone) {
  const auto found = parts_.find(part);
  ASSERT(found != parts_.end() && found->second.count > 0);
  if (--found->second.count > 0) return;
  parts_.erase(found);
  gone.push_back(part);
}

std::vector<Digest> PartReferences::unpin(const Digest& root, const ChildrenOf& children_of) {
  std::vector<Digest> gone;
  const auto found = parts_.find(root);
  ASSERT(found != parts_.end() && found->second.pins > 0);
  --found->second.pins;
  release(root, gone);
  for (std::size_t at = 0; at < gone.size(); ++at) {
    const auto children = children_of(gone[at]);
    if (!children) continue;
    for (const Digest& child : *children)
      release(child, gone);
  }
  return gone;
}

}  // namespace prophecy::pbft
