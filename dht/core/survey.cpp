#include "dht/core/survey.hpp"

#include <algorithm>
#include <utility>

#include "dht/core/mutation.hpp"

namespace prophecy::dht {
namespace {

// Names that are read in one round; more than can be members, since some come and others go.
constexpr std::size_t kNamesMax = 4 * kMembersMax;

std::string_view text_of(const Bytes& data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace

CoordinationCall Survey::ask(Subject subject, const std::string& name, std::uint64_t& last_number) {
  CoordinationCall call{.number = ++last_number, .kind = CoordinationCall::Kind::read};
  switch (subject) {
    case Subject::view:
      call.path = paths_.view();
      call.watches = true;
      break;
    case Subject::members:
      call.kind = CoordinationCall::Kind::children;
      call.path = paths_.members();
      call.watches = true;
      break;
    case Subject::leases:
      call.kind = CoordinationCall::Kind::children;
      call.path = paths_.leases();
      break;
    case Subject::member:
      call.path = paths_.member(name);
      break;
    case Subject::lease:
      call.path = paths_.lease(name);
      call.watches = std::find(watched_.begin(), watched_.end(), name) != watched_.end();
      break;
  }
  asked_[call.number] = {subject, name};
  return call;
}

std::vector<CoordinationCall> Survey::begin(std::vector<std::string> watched,
                                            std::uint64_t& last_number) {
  watched_ = std::move(watched);
  asked_.clear();
  found_.clear();
  found_no_view_ = false;
  return {ask(Subject::view, {}, last_number), ask(Subject::members, {}, last_number),
          ask(Subject::leases, {}, last_number)};
}

std::vector<CoordinationCall> Survey::ask_each(Subject subject,
                                               const std::vector<std::string>& names,
                                               std::uint64_t& last_number) {
  std::vector<CoordinationCall> calls;
  for (const std::string& name : names) {
    if (calls.size() < kNamesMax && is_name(name)) calls.push_back(ask(subject, name, last_number));
  }
  return calls;
}

std::vector<CoordinationCall> Survey::on_result(const CoordinationResult& result, BootTime now,
                                                std::uint64_t& last_number) {
  const Asked asked = asked_.extract(result.number).mapped();
  if (result.status == CoordinationStatus::unknown ||
      result.status == CoordinationStatus::refused) {
    asked_.clear();
    return {};
  }
  std::vector<CoordinationCall> more;
  switch (asked.subject) {
    case Subject::view:
      on_view(result, now);
      break;
    case Subject::members:
      more = ask_each(Subject::member, result.children, last_number);
      break;
    case Subject::leases:
      more = ask_each(Subject::lease, result.children, last_number);
      break;
    case Subject::member:
      on_member(asked.name, result);
      break;
    case Subject::lease:
      on_lease(asked.name, result, now);
      break;
  }
  if (asked_.empty()) finish();
  return more;
}

void Survey::on_view(const CoordinationResult& result, BootTime now) {
  const std::string path = paths_.view();
  problems_.erase(path);
  if (result.status == CoordinationStatus::absent) {
    found_no_view_ = true;
    return;
  }
  auto view = decode_view(text_of(result.data));
  if (!view) {
    problems_[path] = path + ": " + view.error().message + "; ignored";
    return;
  }
  if (const auto reason = why_foreign(own_, view->parameters)) {
    problems_[path] = path + ": " + *reason;
    return;
  }
  const bool is_spoken = own_steps_.speaks(view->step);
  if (is_mutated(Mutation::ignores_newer_steps) && !is_spoken) return;
  if (const auto reason = why_out_of_step(own_steps_, *view))
    problems_[path] = path + ": " + *reason;
  // A read may be old.
  if (view_ && view->number <= view_->number) return;
  view_ = std::move(*view);
  view_version_ = result.version;
  view_known_ = now;
}

void Survey::on_member(const std::string& name, const CoordinationResult& result) {
  const std::string path = paths_.member(name);
  problems_.erase(path);
  if (result.status == CoordinationStatus::absent) return;
  Node node{.version = result.version, .announcement = {}};
  auto announcement = decode_announcement(text_of(result.data));
  if (!announcement) {
    problems_[path] = path + ": " + announcement.error().message + "; ignored";
  } else if (announcement->member.holder.name != name) {
    problems_[path] = path + ": it names another member; ignored";
  } else {
    node.announcement = std::move(*announcement);
  }
  found_[name] = std::move(node);
}

void Survey::on_lease(const std::string& name, const CoordinationResult& result, BootTime now) {
  const std::string path = paths_.lease(name);
  problems_.erase(path);
  if (result.status == CoordinationStatus::absent) return;
  const auto record = decode_lease(text_of(result.data));
  if (!record) {
    problems_[path] = path + ": " + record.error().message + "; ignored";
    return;
  }
  const auto known = sightings_.find(name);
  if (known != sightings_.end() && known->second.version >= result.version) return;
  sightings_[name] = {.record = *record, .version = result.version, .seen = now};
  if (is_mutated(Mutation::fence_trusts_sighting)) sightings_[name].certified = kViewNumberMax;
}

void Survey::certify(const std::string& name, NodeVersion version, ViewNumber view) {
  const auto found = sightings_.find(name);
  if (found == sightings_.end() || found->second.version != version) return;
  found->second.certified = std::max(found->second.certified, view);
}

void Survey::finish() {
  ++rounds_;
  has_no_view_ = found_no_view_;
  nodes_ = std::move(found_);
  found_.clear();
  announced_.clear();
  for (const auto& [name, node] : nodes_) {
    if (!node.announcement) continue;
    if (const auto reason = why_foreign(own_, node.announcement->parameters)) {
      problems_[paths_.member(name)] = paths_.member(name) + ": " + *reason;
    } else {
      const Steps& steps = node.announcement->member.steps;
      const auto out_of_step = view_ ? why_out_of_step(steps, *view_) : std::nullopt;
      if (out_of_step) problems_[paths_.member(name)] = paths_.member(name) + ": " + *out_of_step;
      announced_[name] = node.announcement->member;
    }
  }
  std::erase_if(problems_, [&](const auto& problem) {
    // Problems of nodes that are gone.
    const std::string prefix = paths_.members() + "/";
    return problem.first.starts_with(prefix) &&
           !nodes_.contains(problem.first.substr(prefix.size()));
  });
}

const Survey::Node* Survey::member_node(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

}  // namespace prophecy::dht
