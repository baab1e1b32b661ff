#include "canonical/request_form.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/codec.hpp"
#include "canonical/field_order.hpp"
#include "http/authority.hpp"
#include "http/text.hpp"
#include "http/writer.hpp"

namespace prophecy::sketch {
namespace {

// The type in front of each part of a key.
enum class KeyPart : std::uint8_t { method = 1, scheme, authority, target, field, came_from };

void write_part(Writer& writer, KeyPart part, std::string_view text) {
  writer.integer(static_cast<std::uint8_t>(part));
  writer.sized(as_bytes(text));
}

// Repeating one of these says two things at once; which one an origin believes is anyone's guess.
bool is_singleton(std::string_view name) {
  return name == "authorization" || name == "content-type" || name == "origin";
}

bool announces_body(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

// Entity tags are the sketcher's own, no origin knows them: passed on, a condition on one would
// always fail or, worse, always hold.
std::optional<Refusal> refuse_condition(std::string_view name, std::string_view value) {
  if (name == "if-match" && value != "*") {
    return Refusal{501, "If-Match with an entity tag is not supported"};
  }
  if (name == "if-none-match" && value != "*") {
    return Refusal{501, "If-None-Match with an entity tag is not supported on writes"};
  }
  return std::nullopt;
}

bool sets(const RequestContext& context, std::string_view name) {
  return context.set != nullptr && context.set->contains(name);
}

bool drops(const RequestContext& context, std::string_view name) {
  return context.dropped != nullptr && context.dropped->contains(name);
}

}  // namespace

void RequestForm::clear() {
  is_read = false;
  is_head = false;
  key.clear();
  authority.clear();
  target.clear();
  client.clear();
  wire.clear();
  large_body.reset();
  exceptions = {};
}

void RequestForm::shrink(std::size_t bytes_max) {
  if (key.capacity() > bytes_max) Bytes().swap(key);
  for (std::string* text : {&authority, &target, &client, &wire}) {
    if (text->capacity() > bytes_max) std::string().swap(*text);
  }
  large_body.reset();
}

RequestCanonicalizer::RequestCanonicalizer(Forwarding forwarding)
    : forwarding_(std::move(forwarding)) {}

std::optional<Refusal> RequestCanonicalizer::locate(const http::Request& request,
                                                    const RequestContext& context,
                                                    RequestForm& form) {
  form.clear();
  form.is_read = http::is_read_method(request.method);
  form.is_head = request.method == "HEAD";
  if (form.is_read && request.body_size() > 0) return kReadWithBody;
  // It would echo cookies and credentials to whoever made the browser ask.
  if (request.method == "TRACE") return Refusal{501, "TRACE is not supported"};
  return take_target(request, context, form);
}

std::optional<Refusal> RequestCanonicalizer::canonicalize(const http::Request& request,
                                                          const RequestContext& context,
                                                          const Profile& profile, RequestForm& form,
                                                          const FieldCounters& counters) {
  auto refusal = take_head(request, context, profile, form, counters);
  if (!refusal) complete(request, form);
  return refusal;
}

std::optional<Refusal> RequestCanonicalizer::take_head(const http::Request& request,
                                                       const RequestContext& context,
                                                       const Profile& profile, RequestForm& form,
                                                       const FieldCounters& counters) {
  const bool verified = form.is_read && context.upgrade.empty();
  if (context.set != nullptr) context.set->apply(request.fields, set_);
  const http::FieldList& fields = context.set != nullptr ? set_ : request.fields;
  if (auto refusal = take_fields(fields, context, profile, verified, counters)) return refusal;

  Writer key(form.key);
  if (form.is_read) {
    write_part(key, KeyPart::method, request.method);
    write_part(key, KeyPart::scheme, context.scheme);
    write_part(key, KeyPart::authority, form.authority);
    write_part(key, KeyPart::target, form.target);
  }
  http::append_request_line(form.wire, request.method, form.target);
  http::append_field(form.wire, "host", form.authority);
  for (std::size_t position = 0; position < keyed_.size();) {
    const std::string_view name = fields.name(keyed_[position]);
    const std::string_view value = join_keyed(fields, position);
    http::append_field(form.wire, name, value);
    if (form.is_read) {
      write_part(key, KeyPart::field, name);
      key.sized(as_bytes(value));
    }
  }
  const std::size_t forwarded_begin = form.wire.size();
  for (const std::size_t index : forwarded_) {
    http::append_field(form.wire, fields.name(index), fields.value(index));
  }
  if (verified) {
    form.exceptions.set_fields({forwarded_begin, form.wire.size()},
                               profile.forwards_user_agent() && !drops(context, "user-agent"));
  }
  const std::string_view came_from =
      write_generated(request, context, form, verified && !profile.keys_client_address());
  if (form.is_read && profile.keys_client_address()) {
    write_part(key, KeyPart::came_from, came_from);
  }
  return std::nullopt;
}

void RequestCanonicalizer::complete(const http::Request& request, RequestForm& form) {
  if (request.body_size() > 0 || announces_body(request.method)) {
    http::append_content_length(form.wire, request.body_size());
  }
  http::end_head(form.wire);
  form.wire.append(request.body);
  form.large_body = request.large_body;
}

std::optional<Refusal> RequestCanonicalizer::take_target(const http::Request& request,
                                                         const RequestContext& context,
                                                         RequestForm& form) {
  const http::TargetParts parts = http::split_target(request.target);
  const auto host = request.fields.find("host");
  if (!host) return Refusal{400, "Host is missing"};
  if (!take_host(*host, context.scheme)) return Refusal{400, "Host is not a valid authority"};
  if (parts.scheme.empty()) {
    form.authority.assign(host_);
  } else {
    if (!http::equal_ignoring_case(parts.scheme, context.scheme)) {
      return Refusal{421, "target of another scheme"};
    }
    if (!http::normalize_authority(parts.authority, context.scheme, form.authority)) {
      return Refusal{400, "target without a valid authority"};
    }
    if (form.authority != host_) return Refusal{400, "Host and target disagree"};
  }
  if (parts.path.empty()) {
    form.target.assign(request.method == "OPTIONS" ? "*" : "/");
  } else {
    form.target.assign(parts.path.starts_with('?') ? "/" : "");
    form.target.append(parts.path);
  }
  return std::nullopt;
}

// Most requests are for the authority of the one before.
bool RequestCanonicalizer::take_host(std::string_view host, std::string_view scheme) {
  if (host == host_field_ && scheme == host_scheme_) return true;
  host_scheme_.clear();
  if (!http::normalize_authority(host, scheme, host_)) return false;
  host_field_.assign(host);
  host_scheme_.assign(scheme);
  return true;
}

std::optional<Refusal> RequestCanonicalizer::take_fields(const http::FieldList& fields,
                                                         const RequestContext& context,
                                                         const Profile& profile, bool is_read,
                                                         const FieldCounters& counters) {
  if (!nominated_.read(fields)) return Refusal{400, "Connection nominates too many fields"};
  for (std::size_t i = 0; i < nominated_.size(); ++i) {
    if (!profile.may_nominate_in_request(nominated_.name(i))) {
      return Refusal{400, "Connection nominates a field that is not hop-by-hop"};
    }
  }
  keyed_.clear();
  forwarded_.clear();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = fields.name(i);
    const auto [rule, number] = profile.numbered_request_rule(name);
    if ((nominated_.contains(name) || drops(context, name)) && !sets(context, name)) {
      counters.on_request_field(number, name);
      continue;
    }
    if (rule == RequestRule::keyed) {
      keyed_.push_back(i);
    } else if (rule == RequestRule::forwarded || (rule == RequestRule::dropped && !is_read)) {
      if (!is_read) {
        if (auto refusal = refuse_condition(name, fields.value(i))) return refusal;
      }
      forwarded_.push_back(i);
    } else {
      counters.on_request_field(number, name);
      if (name == "via" && names_in_via(fields.value(i), forwarding_.pseudonym())) {
        return Refusal{508, "the request has passed here before"};
      }
    }
  }
  sort_by_name(fields, keyed_);
  sort_by_name(fields, forwarded_);
  for (std::size_t i = 1; i < keyed_.size(); ++i) {
    const std::string_view name = fields.name(keyed_[i]);
    if (name == fields.name(keyed_[i - 1]) && is_singleton(name)) {
      return Refusal{400, "a field is repeated that must not be"};
    }
  }
  return std::nullopt;
}

std::string_view RequestCanonicalizer::join_keyed(const http::FieldList& fields,
                                                  std::size_t& position) {
  const std::string_view name = fields.name(keyed_[position]);
  const std::string_view first = fields.value(keyed_[position]);
  ++position;
  const auto repeats = [&] {
    return position < keyed_.size() && fields.name(keyed_[position]) == name;
  };
  if (!repeats()) return first;
  joined_.assign(first);
  // Cookie is the one list that semicolons separate (RFC 9113, 8.2.3).
  const std::string_view separator = name == "cookie" ? "; " : ", ";
  for (; repeats(); ++position) {
    append_list_part(joined_, separator, fields.value(keyed_[position]));
  }
  return joined_;
}

std::string_view RequestCanonicalizer::write_generated(const http::Request& request,
                                                       const RequestContext& context,
                                                       RequestForm& form,
                                                       bool client_is_exception) {
  std::string& wire = form.wire;
  http::append_field(wire, "accept-encoding", "identity");
  http::append_field(wire, "via", forwarding_.via);
  const ForwardedChain chain(request.fields, forwarding_.style, context.trusted_peers);
  if (chain.client()) {
    chain.client()->append_to(form.client);
  } else {
    form.client.assign(context.client_address);
  }
  const std::size_t begin = wire.size();
  const TextRange client = append_forwarding(wire, chain, forwarding_, context.client_address,
                                             context.scheme, form.authority);
  if (client_is_exception) form.exceptions.set_client(client, forwarding_);
  const std::size_t end = wire.size();
  if (!context.upgrade.empty()) {
    http::append_field(wire, "connection", "upgrade");
    http::append_field(wire, "upgrade", context.upgrade);
  }
  return std::string_view(wire).substr(begin, end - begin);
}

}  // namespace prophecy::sketch
