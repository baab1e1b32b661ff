// Sums over all URLs, and the choices that the paper leaves open.
#pragma once

#include <array>
#include <string_view>

#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

struct Totals {
  std::uint64_t urls = 0;
  std::uint64_t answers = 0;
  std::uint64_t body_bytes = 0;
  std::uint64_t damage = 0;
  std::array<std::uint64_t, kAnswerKinds> by_kind{};
  Pairs sketched;
  Pairs strong;
  Pairs weak;
  std::uint64_t static_urls = 0;  // with a pair of sketched answers and no transition
};

[[nodiscard]] Totals totals_of(const MeasurementResult& result);

// Section 8 of the paper can be read in more than one way; each report names the reading.
struct Choice {
  std::string_view name;
  std::string_view text;
};
inline constexpr std::array kChoices = {
    Choice{"url",
           "method (GET or HEAD), scheme, authority and target with its query; request headers"
           " are not part of it"},
    Choice{"ratio",
           "transitions by pairs of consecutive sketched answers: repeated requests, not all"},
    Choice{"static", "a URL without a transition in the inputs"},
    Choice{"curve",
           "shares of URLs, requests or bytes at ratios of at most 0 %, 1 %, ... 100 %, among"
           " URLs with at least `minimum` sketched answers"},
    Choice{"party",
           "list: a host that --site names, or below it; same-site: of one registrable domain"
           " with such a host. Captures of this kind do not say which page embeds a URL"},
    Choice{"site", "the registrable domain; the paper's sites are prefixes of addresses"},
    Choice{"chunks",
           "cut by a Rabin fingerprint, 1024 bytes in expectation, or as small a power of two"
           " as gives the smaller body 20; the share is of chunks of either body that the"
           " other has not, by the chunks of both"},
    Choice{"one_edit",
           "what lies between the longest common beginning and end is inserted, deleted or"
           " replaced; at least half of the earlier chunks stay and their number at most"
           " doubles. one_strict_edit: what is replaced shares no chunk with what replaces"
           " it"},
    Choice{"dynamic_data", "compares each sketched answer with the one before it in the inputs"},
    Choice{"order", "by time; answers of one time in the order of the inputs"},
    Choice{"never_sketched",
           "answers with a transient status, Set-Cookie, or a Vary outside the key are left out of"
           " the sequence; if_they_were counts them too"},
    Choice{"content_coding",
           "undone before sketching, as if the origin had been asked for identity"},
    Choice{"weak",
           "answers without a body are compared with each other alone, never with sketches"},
    Choice{"declared_caching",
           "RFC 9111 for a shared cache, of sketched answers as they arrive; the time of an answer"
           " stands for its Date, and Age is not looked at"},
    Choice{"damage", "what is damaged is no answer"},
};

}  // namespace prophecy::measurement
