// What the ring's process counts, in shared memory (sketcher/counters/counters.hpp says how), and
// the master of settings. A process that takes its place goes on with the counts, and begins the
// gauges anew.
#pragma once

#include "base/counter.hpp"
#include "base/metric.hpp"

namespace prophecy::sketcher {

struct RingCounters {
  Counter view;             // adopted
  Counter connected;        // 1: to ZooKeeper
  Counter waiting;          // partitions that are ours, and may not be answered for yet
  Counter leases;           // renewals that have put the end of the lease off
  Counter taken;            // partitions
  Counter barriers_failed;  // the group did not answer
  Counter pages_given;      // of partitions
  Counter entries_given;
  Counter pages_taken;
  Counter entries_taken;
  Counter links_refused;    // connections of others than members
  Counter frames_refused;   // of members, that broke the protocol
  Counter reports_refused;  // messages of members about reports, that came too fast
  // What operators set for all members.
  Counter settings_number;
  Counter settings_conflicts;   // with changes of other members
  Counter settings_undecided;   // 1: they were set back, or cannot be read
  Counter settings_refused;     // by this member; of the master
  Counter settings_not_shared;  // set here; of the master
};
inline constexpr auto kRingTable = metric_table<RingCounters>(
    "", "ring",
    {metric_row<&RingCounters::view>(
         "view", gauge_metric("prophecy_ring_view", "views",
                              "Number of the ring's view that this member has adopted.")),
     metric_row<&RingCounters::connected>(
         "connected", gauge_metric("prophecy_ring_connected", "flag",
                                   "1 while this member has a session with ZooKeeper.")),
     metric_row<&RingCounters::waiting>(
         "partitions_waiting",
         gauge_metric("prophecy_ring_waiting_partitions", "partitions",
                      "Partitions of this member whose requests wait until former owners have "
                      "stopped.")),
     metric_row<&RingCounters::leases>(
         "leases", counter_metric("prophecy_ring_lease_renewals_total", "renewals",
                                  "Renewals that have put off the end of this member's lease.")),
     metric_row<&RingCounters::taken>(
         "partitions_taken", counter_metric("prophecy_ring_taken_partitions_total", "partitions",
                                            "Partitions that this member has taken over.")),
     metric_row<&RingCounters::barriers_failed>(
         "barriers_failed",
         counter_metric("prophecy_ring_failed_barriers_total", "requests",
                        "Requests that the group did not order, and partitions waited for.")),
     metric_row<&RingCounters::pages_given>(
         "pages_given", counter_metric("prophecy_ring_given_pages_total", "pages",
                                       "Pages of floors and entries handed over to others.")),
     metric_row<&RingCounters::entries_given>(
         "entries_given", counter_metric("prophecy_ring_given_entries_total", "entries",
                                         "Entries of the history handed over to others.")),
     metric_row<&RingCounters::pages_taken>(
         "pages_taken", counter_metric("prophecy_ring_received_pages_total", "pages",
                                       "Pages of floors and entries that others handed over.")),
     metric_row<&RingCounters::entries_taken>(
         "entries_taken",
         counter_metric("prophecy_ring_received_entries_total", "entries",
                        "Entries in these pages, whether they filled a gap or not.")),
     metric_row<&RingCounters::links_refused>(
         "links_refused",
         counter_metric("prophecy_ring_refused_links_total", "connections",
                        "Connections to the hand-over's address that were refused.")
             .about("Without a certificate of a member, too many, or silent.")),
     metric_row<&RingCounters::frames_refused>(
         "frames_refused", counter_metric("prophecy_ring_refused_frames_total", "connections",
                                          "Members' connections for the hand-over that were "
                                          "ended because they broke its protocol.")),
     metric_row<&RingCounters::reports_refused>(
         "reports_refused",
         counter_metric("prophecy_ring_refused_report_messages_total", "messages",
                        "Members' messages about reports for operators that were dropped because "
                        "they came too fast.")),
     metric_row<&RingCounters::settings_number>(
         "settings_number",
         gauge_metric("prophecy_ring_settings_number", "changes",
                      "Changes of what operators set for all members, up to the newest one that "
                      "this member knows.")),
     metric_row<&RingCounters::settings_conflicts>(
         "settings_conflicts",
         counter_metric("prophecy_ring_settings_conflicts_total", "changes",
                        "Changes of settings that another member's change came before, and that "
                        "were made again.")),
     metric_row<&RingCounters::settings_undecided>(
         "settings_undecided",
         gauge_metric(
             "prophecy_ring_settings_undecided", "flag",
             "1 while the settings in ZooKeeper are older than known ones, cannot be read, "
             "or are gone: an operator has to decide.")),
     metric_row<&RingCounters::settings_refused>(
         "settings_refused", gauge_metric("prophecy_ring_refused_settings", "settings",
                                          "Agreed settings that this member cannot carry out.")),
     metric_row<&RingCounters::settings_not_shared>(
         "settings_not_shared",
         gauge_metric("prophecy_ring_unshared_settings", "settings",
                      "Settings that were set at this member, and that the others do not have "
                      "yet."))});

}  // namespace prophecy::sketcher
