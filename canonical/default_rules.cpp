#include "canonical/default_rules.hpp"

namespace prophecy::sketch {
namespace {

using enum RequestRule;

constexpr NamedRequestRule kRequestRules[] = {
    {"accept", keyed},
    {"accept-language", keyed},
    {"authorization", keyed},
    {"content-type", keyed},
    {"cookie", keyed},
    {"origin", keyed},
    {"x-requested-with", keyed},

    {"referer", forwarded},
    {"traceparent", forwarded},
    {"tracestate", forwarded},
    {"user-agent", forwarded},
    {"x-request-id", forwarded},

    {"accept-encoding", generated},
    {"content-length", generated},
    {"forwarded", generated},
    {"host", generated},
    {"via", generated},
    {"x-real-ip", generated},

    {"cache-control", dropped},
    {"if-match", dropped},
    {"if-modified-since", dropped},
    {"if-none-match", dropped},
    {"if-range", dropped},
    {"if-unmodified-since", dropped},
    {"pragma", dropped},
    {"range", dropped},

    {"connection", hop_by_hop},
    {"expect", hop_by_hop},
    {"http2-settings", hop_by_hop},
    {"keep-alive", hop_by_hop},
    {"te", hop_by_hop},
    {"trailer", hop_by_hop},
    {"transfer-encoding", hop_by_hop},
    {"upgrade", hop_by_hop},
};

constexpr NamedRequestRule kRequestPrefixes[] = {
    {"prophecy-", generated},
    {"proxy-", hop_by_hop},
    {"x-forwarded-", generated},
};

constexpr NamedAnswerRule kAnswerRules[] = {
    {"allow", AnswerRule::covered},
    {"alt-svc", AnswerRule::covered},
    {"cache-control", AnswerRule::covered},
    {"clear-site-data", AnswerRule::covered},
    {"content-disposition", AnswerRule::covered},
    {"content-encoding", AnswerRule::covered},
    {"content-language", AnswerRule::covered},
    {"content-location", AnswerRule::covered},
    {"content-range", AnswerRule::covered},
    {"content-security-policy", AnswerRule::covered},
    {"content-security-policy-report-only", AnswerRule::covered},
    {"content-type", AnswerRule::covered},
    {"link", AnswerRule::covered},
    {"location", AnswerRule::covered},
    {"permissions-policy", AnswerRule::covered},
    {"referrer-policy", AnswerRule::covered},
    {"refresh", AnswerRule::covered},
    {"retry-after", AnswerRule::covered},
    {"service-worker-allowed", AnswerRule::covered},
    {"set-cookie", AnswerRule::covered},
    {"sourcemap", AnswerRule::covered},
    {"strict-transport-security", AnswerRule::covered},
    {"vary", AnswerRule::covered},
    {"www-authenticate", AnswerRule::covered},
    {"x-content-type-options", AnswerRule::covered},
    {"x-frame-options", AnswerRule::covered},

    {"accept-ranges", AnswerRule::regenerated},
    {"age", AnswerRule::regenerated},
    {"content-length", AnswerRule::regenerated},
    {"date", AnswerRule::regenerated},
    {"etag", AnswerRule::regenerated},
    {"server", AnswerRule::regenerated},
    {"via", AnswerRule::regenerated},

    {"nel", AnswerRule::dropped},
    {"report-to", AnswerRule::dropped},
    {"reporting-endpoints", AnswerRule::dropped},
    {"server-timing", AnswerRule::dropped},
    {"x-aspnet-version", AnswerRule::dropped},
    {"x-generator", AnswerRule::dropped},
    {"x-powered-by", AnswerRule::dropped},
    {"x-runtime", AnswerRule::dropped},
    {"x-served-by", AnswerRule::dropped},
    {"x-varnish", AnswerRule::dropped},

    {"connection", AnswerRule::hop_by_hop},
    {"keep-alive", AnswerRule::hop_by_hop},
    {"te", AnswerRule::hop_by_hop},
    {"trailer", AnswerRule::hop_by_hop},
    {"transfer-encoding", AnswerRule::hop_by_hop},
    {"upgrade", AnswerRule::hop_by_hop},

    {"x-lighttpd-send-file", AnswerRule::internal},
    {"x-sendfile", AnswerRule::internal},
};

constexpr NamedAnswerRule kAnswerPrefixes[] = {
    {"access-control-", AnswerRule::covered}, {"cross-origin-", AnswerRule::covered},
    {"prophecy-", AnswerRule::dropped},       {"proxy-", AnswerRule::hop_by_hop},
    {"x-accel-", AnswerRule::internal},       {"x-cache", AnswerRule::dropped},
};

}  // namespace

std::span<const NamedRequestRule> default_request_rules() {
  return kRequestRules;
}
std::span<const NamedRequestRule> request_prefix_rules() {
  return kRequestPrefixes;
}
std::span<const NamedAnswerRule> default_answer_rules() {
  return kAnswerRules;
}
std::span<const NamedAnswerRule> answer_prefix_rules() {
  return kAnswerPrefixes;
}

}  // namespace prophecy::sketch
