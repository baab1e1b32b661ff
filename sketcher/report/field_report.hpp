// What operators are told of the fields that were taken out of requests and answers.
#pragma once

#include <string>

#include "http/metrics/exposition.hpp"
#include "http/metrics/metric_descriptions.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// {"fields": [{"group", "message", "name", "action", "count"}]}: those that were counted at all.
[[nodiscard]] std::string fields_json(const Installation& installation, const SharedState& shared);

// By the names that have rules; whatever else somebody has made up is one number.
void add_fields(http::Exposition& out, const Installation& installation, const SharedState& shared);

void describe_fields(http::MetricDescriptions& out);

}  // namespace prophecy::sketcher
