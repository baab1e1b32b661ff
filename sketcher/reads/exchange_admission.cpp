// How an exchange finds the route of its request, and whether the request is over by that.
#include "base/assert.hpp"
#include "canonical/forwarded_scheme.hpp"
#include "sketcher/core/policy/upgrade.hpp"
#include "sketcher/installation/described_request.hpp"
#include "sketcher/reads/acme_challenges.hpp"
#include "sketcher/reads/exchange.hpp"
#include "sketcher/reads/member_fields.hpp"

namespace prophecy::sketcher {

std::optional<sketch::Refusal> Exchange::admit(const http::Request& request,
                                               const ClientInfo& client) {
  ASSERT(machine_.is_idle());
  counters_ = &context_.requests.back();
  scheme_ = client.scheme();
  sketch::RequestCanonicalizer& canonicalizer = context_.request_canonicalizer;
  sketch::RequestContext known{
      .scheme = scheme_, .client_address = client.address, .trusted_peers = client.trusted_peers};
  is_located_ = is_rewritten_ = is_ruled_ = false;
  if (auto refusal = canonicalizer.locate(request, known, form_)) return refusal;
  is_located_ = true;
  if (form_.is_read && context_.settings.acme_challenges) {
    if (const auto refusal = find_challenge()) return refusal;
  }
  if (auto refusal = find_route(request, client)) return refusal;
  const RouteSettings& route = context_.settings.routes[route_];
  if (!route.dropped.empty()) known.dropped = &route.dropped;
  if (!route.set.empty()) known.set = &route.set;
  upgrade_.clear();
  if (mode_ == RouteMode::tunnel) upgrade_ = requested_upgrade(request, route.upgrades);
  if (context_.members != nullptr) {
    if (auto refusal = find_owner()) return refusal;
    if (is_elsewhere_) return std::nullopt;
  }
  known.upgrade = upgrade_;
  return canonicalizer.take_head(request, known, group().profile(), form_,
                                 group().core().group.fields());
}

std::optional<sketch::Refusal> Exchange::find_route(const http::Request& request,
                                                    const ClientInfo& client) {
  const Router::Choice choice = context_.router.choose(form_.authority, form_.target);
  if (!choice.route) return refusal_of(choice.miss);
  route_ = static_cast<std::uint32_t>(*choice.route);
  const RouteSettings& route = context_.settings.routes[route_];
  listed_ = choice.mark;
  group_ = context_.groups[route.group].get();
  counters_ = &context_.requests[route_];
  mode_ = context_.shared.route(route_).mode();
  const bool is_verified = mode_ == RouteMode::enforce || mode_ == RouteMode::observe;
  if (context_.shared.bypass() && is_verified) mode_ = RouteMode::off;
  if (route.needs_client_certificate && !client.client_certificate_verified) {
    return sketch::Refusal{403, "client-certificate-required"};
  }
  return apply_rules(request, client, route);
}

std::optional<sketch::Refusal> Exchange::find_challenge() {
  if (!AcmeChallenges::may_be(form_.target)) return std::nullopt;
  if (!context_.challenges.take(now_)) return sketch::Refusal{503, "challenge-budget"};
  auto answer = AcmeChallenges(*context_.settings.acme_challenges).find(form_.target);
  if (!answer) return std::nullopt;
  challenge_ =
      std::make_unique<OwnPage>(OwnPage{200, "application/octet-stream", std::move(*answer)});
  is_ruled_ = true;
  ruling_ = {.rules = nullptr, .page = challenge_.get()};
  return sketch::Refusal{200, kChallenge};
}

// A member of the ring has limited the client already.
std::optional<sketch::Refusal> Exchange::limit_client(const http::Request& request,
                                                      const ClientInfo& client,
                                                      const ClientLimitSettings& settings) {
  if (source_ == RequestSource::members || limited_.has_asked()) return std::nullopt;
  std::optional<IpAddress> address;
  if (client.trusted_peers != nullptr) {
    const auto style = context_.settings.forwarding.style;
    address = sketch::ForwardedChain(request.fields, style, client.trusted_peers).client();
  }
  if (!address) address = IpAddress::parse(client.address);
  std::optional<std::string_view> field;
  if (!settings.field.empty()) field = request.fields.find(settings.field);
  const ClientLimit::Decision decision =
      limited_.take(*context_.client_limits[route_], address, field, now_);
  ruling_.retry_after_s = decision.retry_after_s;
  switch (decision.verdict) {
    case ClientLimit::Verdict::granted:
      return std::nullopt;
    case ClientLimit::Verdict::denied:
      counters_->denied.add();
      return sketch::Refusal{403, "client-denied"};
    case ClientLimit::Verdict::too_often:
      counters_->too_often.add();
      return sketch::Refusal{429, "too-many-requests"};
    case ClientLimit::Verdict::too_many:
      counters_->too_many.add();
      return sketch::Refusal{429, "too-many-in-flight"};
  }
  UNREACHABLE();
}

std::optional<sketch::Refusal> Exchange::apply_rules(const http::Request& request,
                                                     const ClientInfo& client,
                                                     const RouteSettings& route) {
  if (route.has_rules()) {
    is_ruled_ = true;
    ruling_ = {.rules = &route.answer_rules, .scheme = scheme_, .authority = form_.authority};
    ruling_.coded = &context_.coded;
  }
  if (route.client_limit) {
    if (auto refusal = limit_client(request, client, *route.client_limit)) return refusal;
  }
  if (mode_ == RouteMode::maintenance) {
    is_ruled_ = true;
    ruling_ = {.rules = &route.answer_rules};
    ruling_.retry_after_s = route.maintenance_retry_after_s;
    return sketch::Refusal{503, kMaintenance};
  }
  if (route.redirect) {
    // A balancer in front may have taken the client's TLS off.
    std::string_view came_by;
    if (client.trusted_peers != nullptr)
      came_by = sketch::forwarded_scheme(request.fields, context_.settings.forwarding.style);
    if (came_by.empty()) came_by = scheme_;
    const auto to = redirected(*route.redirect, route.pattern.path_prefix,
                               {std::string(came_by), form_.authority, form_.target});
    if (to) {
      ruling_.location = to->url();
      return sketch::Refusal{route.redirect->status, kRedirect};
    }
  }
  const auto& rewrite = route.answer_rules.rewrite;
  if (!rewrite || form_.target == "*") return std::nullopt;
  client_target_.assign(form_.target);
  is_rewritten_ = true;
  if (!rewrite->apply(form_.target)) return refusal_of(Router::Miss::ambiguous_path);
  return std::nullopt;
}

// A tunnel and a stream are no part of the history: whoever the client comes to opens them.
std::optional<sketch::Refusal> Exchange::find_owner() {
  is_elsewhere_ = false;
  if (!upgrade_.empty() || (mode_ == RouteMode::stream && form_.is_read)) return std::nullopt;
  partition_ = context_.table.floors(0).place_of(form_.authority, form_.target).partition;
  const dht::Stage stage = context_.members->owner(partition_).stage();
  const bool is_ours = stage != dht::Stage::elsewhere && stage != dht::Stage::unknown;
  if (is_ours) return std::nullopt;
  // Whoever has asked for it looks again. So no request goes round.
  if (source_ == RequestSource::members) return sketch::Refusal{421, kNotMine};
  is_elsewhere_ = true;
  return std::nullopt;
}

}  // namespace prophecy::sketcher
