#include "dht/core/view.hpp"

#include <algorithm>

namespace prophecy::dht {

std::optional<std::string> why_foreign(const Parameters& own, const Parameters& ring) {
  const auto differs = [](std::string_view what, const std::string& here, const std::string& there,
                          std::string_view advice) {
    return std::string(what) + " is " + here + " here and " + there + " in the ring; " +
           std::string(advice);
  };
  const auto milliseconds = [](Span span) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count()) +
           " ms";
  };
  if (own.cluster != ring.cluster)
    return differs("cluster", own.cluster, ring.cluster, "this is another installation's ring");
  if (own.digest != ring.digest)
    return differs("digest", own.digest, ring.digest, "all members need the same");
  if (own.secret != ring.secret)
    return differs("secret", own.secret, ring.secret, "all members need the same secret file");
  if (own.profile != ring.profile)
    return differs("profile", own.profile, ring.profile,
                   "all members need the same [canonical] and groups");
  if (own.lease != ring.lease)
    return differs("lease", milliseconds(own.lease), milliseconds(ring.lease),
                   "all members need the same");
  if (own.group_only != ring.group_only)
    return differs("without_zookeeper", milliseconds(own.group_only), milliseconds(ring.group_only),
                   "all members need the same");
  return std::nullopt;
}

std::optional<std::string> why_out_of_step(const Steps& own, const View& view) {
  std::optional<Steps> shared;
  for (const Member& member : view.members)
    shared = shared ? shared->shared_with(member.steps) : std::optional(member.steps);
  if (!shared || shared->shared_with(own)) return std::nullopt;
  const auto text = [](const Steps& steps) {
    return std::to_string(steps.oldest) + " to " + std::to_string(steps.newest);
  };
  return "steps of the members' protocol are " + text(own) + " here and " + text(*shared) +
         " in the ring; exchange the members' builds one release after the other";
}

const Member* find_member(const View& view, std::string_view name) {
  const auto found = std::find_if(view.members.begin(), view.members.end(),
                                  [&](const Member& member) { return member.holder.name == name; });
  return found == view.members.end() ? nullptr : &*found;
}

std::vector<Holder> holders_of(const View& view) {
  std::vector<Holder> holders;
  holders.reserve(view.members.size());
  for (const Member& member : view.members)
    holders.push_back(member.holder);
  return holders;
}

bool has_weight(const std::vector<Holder>& holders) {
  return std::any_of(holders.begin(), holders.end(),
                     [](const Holder& holder) { return holder.weight > 0; });
}

Placement place(const std::vector<Holder>& holders, std::size_t partitions) {
  std::vector<Placement::Share> shares;
  shares.reserve(holders.size());
  for (const Holder& holder : holders)
    shares.push_back({.name = holder.name, .weight = holder.weight});
  return Placement(shares, partitions);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameBytesMax && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                  (letter >= '0' && letter <= '9') || letter == '.' || letter == '-' ||
                  letter == '_';
         });
}

}  // namespace prophecy::dht
