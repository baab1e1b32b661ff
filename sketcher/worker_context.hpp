// What all connections of one worker share. Owned by the Worker, which outlives them.
#pragma once

#include "base/random.hpp"
#include "history_table/history_table.hpp"
#include "replica_client/group.hpp"
#include "sketch/sketch.hpp"
#include "sketcher/core/sigma_order.hpp"
#include "sketcher/counters.hpp"
#include "sketcher/divergence.hpp"
#include "sketcher/settings.hpp"

namespace prophecy::sketcher {

struct WorkerContext {
  const Settings& settings;
  const sketch::Profile& profile;
  const sketch::SketchFunction& sketch;
  HistoryTable& table;
  SigmaOrder& order;
  replica_client::ReplicaGroup& group;
  WorkerCounters& counters;
  DivergenceReporter& divergences;
  SecureRandom random;
  sketch::RequestCanonicalizer request_canonicalizer;
  sketch::AnswerCanonicalizer answer_canonicalizer;
};

}  // namespace prophecy::sketcher
