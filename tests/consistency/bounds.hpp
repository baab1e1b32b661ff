// The bounds that the cost oracle checks: the table of docs/reads.md, section "Bounds".
#pragma once

#include <array>
#include <string_view>

#include "tests/support/bounds_table.hpp"

namespace prophecy::consistency {

using Bounds = test::BoundsTable;

constexpr std::array<std::string_view, 17> kBoundNames{"hedges-saved",
                                                       "origin-asks-per-read",
                                                       "origin-asks-per-block",
                                                       "results-per-read",
                                                       "confirmations-under-way",
                                                       "confirmations-at-once",
                                                       "confirmations-paid-for",
                                                       "calls-per-worker",
                                                       "calls-per-charge",
                                                       "bytes-while-untaken",
                                                       "read-machine-bytes",
                                                       "body-relay-bytes",
                                                       "group-core-bytes",
                                                       "events-to-an-end",
                                                       "reads-to-a-name",
                                                       "delays-per-slot",
                                                       "held-up-ms"};

}  // namespace prophecy::consistency
