// One claim each: histories that the paper's section 4.1 allows or forbids, and those near them.
#include <catch2/catch.hpp>

#include "consistency/delay_once.hpp"
#include "consistency/exhaustive.hpp"
#include "consistency/staleness.hpp"

namespace prophecy::consistency {
namespace {

// The history of a key x that is "0" at first.
History history_of(const std::string& operations) {
  return parse_histories("initial x 0\n" + operations).value().at("x");
}

// By the search, which has to say the same as the definition tried out.
bool holds(const std::string& operations) {
  const History history = history_of(operations);
  const bool holds = decide(history).verdict == Verdict::holds;
  CHECK(holds == holds_by_trying_all(history));
  return holds;
}

}  // namespace

TEST_CASE("The paper's linearized history is valid") {
  CHECK(
      holds("read x 0 1 2\n write x 1 3 4\n write x 2 5 6\n read x 2 7 8\n read x 2 9 10\n"
            "write x 3 11 12\n read x 3 13 14\n"));
}

TEST_CASE("The paper's delay-once history is valid, and two of its reads are stale") {
  const std::string operations =
      "read x 0 1 2\n write x 1 3 4\n write x 2 5 6\n read x 0 7 8\n read x 2 9 10\n"
      "write x 3 11 12\n read x 2 13 14\n";
  CHECK(holds(operations));
  CHECK(count_stale_reads(history_of(operations)) == 2);
}

TEST_CASE("A value that nobody wrote is no state") {
  CHECK_FALSE(holds("read x 7 1 2\n"));
  CHECK_FALSE(holds("write x 1 1 2\n read x 0 3 4\n read x 7 5 6\n"));
}

TEST_CASE("A read does not reflect a write that is sent after its answer") {
  CHECK_FALSE(holds("read x 1 1 2\n write x 1 3 4\n"));
}

TEST_CASE("A read that overlaps a write may reflect it or not") {
  CHECK(holds("read x 1 1 4\n write x 1 2 3\n"));
  CHECK(holds("read x 0 1 4\n write x 1 2 3\n"));
}

TEST_CASE("Without an earlier read, a read reflects the latest write") {
  CHECK_FALSE(holds("write x 1 1 2\n read x 0 3 4\n"));
  CHECK(holds("write x 1 1 2\n read x 1 3 4\n"));
}

TEST_CASE("A read is delayed to one stale state, that of the latest read") {
  CHECK(holds("read x 0 1 2\n write x 1 3 4\n write x 2 5 6\n read x 0 7 8\n"));
  CHECK(holds("read x 0 1 2\n write x 1 3 4\n write x 2 5 6\n read x 2 7 8\n"));
}

TEST_CASE("A read that is updated reflects the latest state, and none in between") {
  CHECK_FALSE(holds("read x 0 1 2\n write x 1 3 4\n write x 2 5 6\n read x 1 7 8\n"));
}

TEST_CASE("Reads are monotonic") {
  CHECK_FALSE(holds("read x 0 1 2\n write x 1 3 4\n read x 1 5 6\n read x 0 7 8\n"));
}

TEST_CASE("Reads are monotonic across clients, and while a third one reads") {
  CHECK_FALSE(
      holds("read x 0 1 2\n write x 1 3 20\n read x 1 5 6\n read x 0 4 15\n read x 0 7 8\n"));
}

TEST_CASE("Read-after-write is not promised") {
  CHECK(holds("read x 0 1 2\n write x 1 3 4\n read x 0 5 6\n read x 0 7 8\n read x 1 9 10\n"));
}

TEST_CASE("Writes are monotonic: none is seen after one that it precedes") {
  CHECK_FALSE(
      holds("read x 0 1 2\n write x 1 3 4\n write x 2 5 6\n read x 2 7 8\n read x 1 9 10\n"));
  CHECK(holds("write x 1 3 6\n write x 2 4 7\n read x 2 5 8\n read x 1 9 10\n"));
}

TEST_CASE("Two clients do not see two writes in different orders") {
  const std::string writes = "write x 1 1 2\n write x 2 1 9\n";
  CHECK(holds(writes + "read x 1 3 4\n read x 2 5 6\n"));
  CHECK(holds(writes + "read x 2 3 4\n read x 2 5 6\n"));
  CHECK_FALSE(
      holds("write x 1 1 9\n write x 2 1 9\n read x 1 2 3\n read x 2 4 5\n read x 1 6 7\n"));
}

TEST_CASE("The subsequence of writes is linearizable: an audit sees the latest one") {
  CHECK(holds("read x 0 1 2\n write x 1 3 4\n audit x 1 5 6\n read x 0 7 8\n"));
  CHECK_FALSE(holds("read x 0 1 2\n write x 1 3 4\n audit x 0 5 6\n"));
  CHECK_FALSE(holds("write x 1 1 2\n write x 2 3 4\n audit x 1 5 6\n"));
}

TEST_CASE("An audit is not part of what reads have seen") {
  CHECK_FALSE(
      holds("read x 0 1 2\n write x 1 3 4\n audit x 1 5 6\n write x 2 7 8\n read x 1 9 10\n"));
}

TEST_CASE("A write without an answer may take effect at any later time, or never, but not twice") {
  const std::string open = "write x 1 1 -\n";
  CHECK(holds(open + "read x 0 2 3\n read x 1 4 5\n"));
  CHECK(holds(open + "audit x 0 2 3\n audit x 0 4 5\n"));
  CHECK(holds("write x 2 1 2\n audit x 2 3 4\n audit x 1 5 6\n" + open));
  CHECK_FALSE(holds(open + "audit x 1 2 3\n write x 2 4 5\n audit x 2 6 7\n audit x 1 8 9\n"));
}

TEST_CASE("A read that failed may have made others see what it saw") {
  const std::string rest = "read x 0 1 2\n write x 1 3 4\n write x 2 8 9\n read x 1 10 11\n";
  CHECK_FALSE(holds(rest));
  CHECK(holds(rest + "read x ? 5 -\n"));
  CHECK(holds(rest + "read x ? 5 10\n"));
  CHECK_FALSE(holds(rest + "read x ? 5 6\n read x 0 7 7\n write x 3 7 7\n"));
  CHECK_FALSE(holds(rest + "read x ? 10 -\n"));
}

TEST_CASE("A read that failed does not bring an older state back") {
  CHECK_FALSE(holds("read x 0 1 2\n write x 1 3 4\n read x 1 5 6\n read x ? 1 -\n read x 0 7 8\n"));
}

// A client's read has the group's answer 1 on its way while the state becomes 2, and another read
// is given the stale answer 0. No order of the two reads as wholes explains it: the one that
// returned 1 would come before the write of 2, that is before the one that returned 0. Algorithm 1
// does this, and each read meets the paper's property as it is written: what precedes the first is
// no read but of 0, and the write of 1; what precedes the second is the read of 0.
TEST_CASE("Of a read under way another one need not know, and two instants say so") {
  const std::string operations =
      "read x 0 1 2\n write x 1 3 4\n read x 1 5 12\n write x 2 6 7\n read x 0 8 9\n";
  CHECK(holds(operations));
  CHECK_FALSE(holds_by_trying_all(history_of(operations), Instants::one));
}

TEST_CASE("Once that read has been answered, the older state is gone") {
  CHECK_FALSE(
      holds("read x 0 1 2\n write x 1 3 4\n read x 1 5 12\n write x 2 6 7\n read x 0 13 14\n"));
}

// Looked up at 5, validated at 12, after a newer state was read. The client cannot tell: its read
// may have been accepted before that one. The sketcher can.
TEST_CASE("A read is accepted where the sketcher accepts it: one lookup is not enough") {
  const std::string rest = "read x 0 1 2\n write x 1 3 4\n read x 1 6 7\n ";
  CHECK(holds(rest + "read x 0 5 12\n"));
  CHECK_FALSE(holds(rest + "read x 0 5 12 12\n"));
  CHECK(holds(rest + "read x 1 5 12 12\n"));
}

TEST_CASE("A replicated read may be accepted after a newer one: it has been linearized before") {
  CHECK(holds("read x 0 1 2\n write x 1 4 5\n read x 1 6 7 7\n read x 0 3 12\n"));
  CHECK(holds("write x 1 1 2\n read x 1 3 12 12\n write x 2 4 5\n read x 2 6 7 7\n"));
}

// ---- Beyond the paper: writes through a sketcher that invalidates.

TEST_CASE("No read that comes after a publish was answered is older") {
  const std::string begin = "read x 0 1 2\n publish x 1 3 6\n ";
  CHECK(holds(begin + "read x 1 7 8\n"));
  CHECK_FALSE(holds(begin + "read x 0 7 8\n"));
  CHECK(holds("read x 0 1 2\n write x 1 3 6\n read x 0 7 8\n"));
}

TEST_CASE("A read beside a publish may be older, until another one was newer") {
  const std::string begin = "read x 0 1 2\n publish x 1 3 9\n ";
  CHECK(holds(begin + "read x 0 4 5\n read x 0 6 12\n"));
  CHECK_FALSE(holds(begin + "read x 1 4 5\n read x 0 6 7\n"));
}

TEST_CASE("A read is delayed no further than to the latest publish") {
  const std::string begin = "read x 0 1 2\n publish x 1 3 4\n write x 2 5 6\n write x 3 7 8\n ";
  CHECK(holds(begin + "read x 1 9 10\n"));
  CHECK(holds(begin + "read x 3 9 10\n"));
  CHECK_FALSE(holds(begin + "read x 2 9 10\n"));
  CHECK_FALSE(holds(begin + "read x 0 9 10\n"));
}

TEST_CASE("Of two publishes the later one counts, in whichever order they are answered") {
  const std::string first = "publish x 1 1 9\n publish x 2 3 4\n ";
  CHECK_FALSE(holds(first + "audit x 2 5 5\n audit x 2 10 11\n read x 1 12 13\n"));
  CHECK(holds(first + "audit x 2 5 5\n audit x 1 10 11\n read x 1 12 13\n"));
  CHECK_FALSE(holds(first + "audit x 2 5 5\n audit x 1 10 11\n read x 2 12 13\n"));
}

TEST_CASE("A publish that was never answered promises nothing") {
  CHECK(holds("read x 0 1 2\n publish x 1 3 -\n audit x 1 4 5\n read x 0 6 7\n"));
}

TEST_CASE(
    "A publish is accepted where the sketcher accepts it, and a read behind that is not older") {
  const std::string rest = "read x 0 1 2\n publish x 1 3 7 7\n audit x 1 4 5\n ";
  CHECK(holds(rest + "read x 0 6 9\n"));
  CHECK_FALSE(holds(rest + "read x 0 6 9 9\n"));
  CHECK(holds(rest + "read x 1 6 9 9\n"));
  // Looked at before the write, it may be accepted behind it, as a replicated read is.
  CHECK(holds(rest + "read x 0 4 9 9\n"));
}

TEST_CASE("What a publish has overtaken does not come back by a read under way") {
  CHECK_FALSE(
      holds("read x 0 1 2\n write x 1 3 4\n publish x 2 5 6\n read x 1 7 8\n read x ? 3 -\n"));
}

}  // namespace prophecy::consistency
