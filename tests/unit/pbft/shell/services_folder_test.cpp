#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "folder_place.hpp"

namespace prophecy::pbft::test {

TEST_CASE("A folder is the same elsewhere after a round trip") {
  Place here;
  Place there;
  fill(here);
  MapPartStore parts;
  const auto root = here.snapshot(parts);
  REQUIRE(root.has_value());
  CHECK(parts.children_first);
  CHECK(parts.reaches_all(*root));

  there.write("other", "goes away");
  there.write("deep/er/other", "goes away");
  there.write("hollow", "a file where a folder belongs");
  there.write("index.html/x", "a folder where a file belongs");
  there.write("link", "a file where a link belongs");
  const auto restored = there.restore(parts, *root);
  REQUIRE(restored.has_value());
  CHECK(there.read("index.html") == "hello");
  CHECK(there.read("deep/er/file") == here.read("deep/er/file"));
  CHECK(there.read("exact") == here.read("exact"));
  CHECK(fs::file_size(there.folder.path() / "empty") == 0);
  CHECK(fs::is_empty(there.folder.path() / "hollow"));
  CHECK(fs::read_symlink(there.folder.path() / "link") == "deep/er");
  CHECK(fs::read_symlink(there.folder.path() / "far") == "/etc/passwd");
  CHECK_FALSE(fs::exists(there.folder.path() / "other"));
  CHECK_FALSE(fs::exists(there.folder.path() / "deep/er/other"));
  CHECK(fs::status(there.folder.path() / "index.html").permissions() == fs::perms{0640});
  CHECK(fs::status(there.folder.path() / "deep").permissions() == fs::perms{0705});
  MapPartStore others;
  CHECK(*there.snapshot(others) == *root);
}

TEST_CASE("What the root covers, and what it does not") {
  Place here;
  Place there;
  fill(here);
  fill(there);
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  const auto path = here.folder.path() / "index.html";
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  CHECK(*here.snapshot(parts) == root);
  CHECK(*there.snapshot(parts) == root);

  std::vector<Digest> roots = {root};
  const auto differs = [&] {
    const Digest now = *here.snapshot(parts);
    const bool fresh = std::find(roots.begin(), roots.end(), now) == roots.end();
    roots.push_back(now);
    return fresh;
  };
  fs::permissions(path, fs::perms{0600});
  CHECK(differs());
  here.write("index.html", "hellO");
  CHECK(differs());
  fs::rename(path, here.folder.path() / "index2.html");
  CHECK(differs());
  fs::remove(here.folder.path() / "hollow");
  CHECK(differs());
  fs::remove(here.folder.path() / "link");
  fs::create_symlink("deep", here.folder.path() / "link");
  CHECK(differs());
}

TEST_CASE("Modification times are part of the state where the configuration says so") {
  const FolderSettings settings{.covered_times = {"static/*"}};
  Place here(settings);
  Place there(settings);
  here.write("static/a/b", "x");
  here.write("written", "x");
  const auto stamp = [](const Place& place, const std::string& path, std::int64_t seconds) {
    const timespec times[2] = {{.tv_sec = seconds, .tv_nsec = 5},
                               {.tv_sec = seconds, .tv_nsec = 5}};
    REQUIRE(::utimensat(AT_FDCWD, (place.folder.path() / path).c_str(), times, 0) == 0);
  };
  const auto modified = [](const Place& place, const std::string& path) {
    struct stat status {};
    REQUIRE(::stat((place.folder.path() / path).c_str(), &status) == 0);
    return status.st_mtim.tv_sec;
  };
  stamp(here, "static/a/b", 1'700'000'000);
  stamp(here, "written", 1'700'000'000);
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  REQUIRE(there.restore(parts, root).has_value());
  CHECK(modified(there, "static/a/b") == 1'700'000'000);
  CHECK(modified(there, "written") != 1'700'000'000);
  // Only the time is wrong: the content is left alone.
  stamp(there, "static/a/b", 1);
  CHECK(*there.snapshot(parts) != root);
  REQUIRE(there.restore(parts, root).has_value());
  CHECK(modified(there, "static/a/b") == 1'700'000'000);
  CHECK(there.state->files_written() == 0);
  stamp(here, "written", 1);
  CHECK(*here.snapshot(parts) == root);
}

TEST_CASE("Only what changed is read again, kept again, and written by a restore") {
  Place here;
  Place there;
  fill(here);
  Place::let_age();
  MapPartStore parts;
  const Digest before = *here.snapshot(parts);
  CHECK(here.state->files_read() == 4);
  REQUIRE(there.restore(parts, before).has_value());
  CHECK(there.state->files_written() == 4);

  here.write("deep/new", "n");
  parts.kept = 0;
  const Digest after = *here.snapshot(parts);
  CHECK(here.state->files_read() == 1);
  CHECK(parts.kept == 3);  // its content, the listing of deep, and the root
  REQUIRE(there.restore(parts, after).has_value());
  CHECK(there.state->files_written() == 1);
  CHECK(there.read("deep/new") == "n");

  // A store that lost the last snapshot is filled anew.
  MapPartStore empty;
  CHECK(*here.snapshot(empty) == after);
  CHECK(empty.reaches_all(after));
  CHECK(here.state->files_read() == 5);
}

TEST_CASE("A part that the store has lost is kept again by the next snapshot") {
  Place place;
  fill(place);
  Place::let_age();
  MapPartStore parts;
  const Digest root = *place.snapshot(parts);
  REQUIRE(parts.parts.erase(sha256(encode_content(as_bytes("hello")))) == 1);
  REQUIRE_FALSE(parts.reaches_all(root));
  ++parts.lost;  // it has been noticed when it was read
  CHECK(*place.snapshot(parts) == root);
  CHECK(parts.reaches_all(root));
  // Once is enough.
  CHECK(*place.snapshot(parts) == root);
  CHECK(place.state->files_read() == 0);
}

TEST_CASE("A file that changed just before is read again: its times may not show the next change") {
  Place place;
  place.write("a", "1");
  MapPartStore parts;
  const Digest first = *place.snapshot(parts);
  // As a change within the clock's granularity would look: the same size and the same times but
  // for the change time, which nobody can set; so see that it is read at all.
  CHECK(place.state->files_read() == 1);
  CHECK(*place.snapshot(parts) == first);
  CHECK(place.state->files_read() == 1);
  Place::let_age();
  CHECK(*place.snapshot(parts) == first);
  CHECK(place.state->files_read() == 1);
  CHECK(*place.snapshot(parts) == first);
  CHECK(place.state->files_read() == 0);
  // The modification time is put back, the size is the same: the change time gives it away.
  const auto time = fs::last_write_time(place.folder.path() / "a");
  place.write("a", "2");
  fs::last_write_time(place.folder.path() / "a", time);
  CHECK(*place.snapshot(parts) != first);
}

TEST_CASE("A memory believes no file that changed within the granularity of the clock") {
  struct stat status {};
  status.st_ctim.tv_sec = 100;
  const Digest content = sha256(as_bytes("content"));
  FileMemory memory;
  memory.note("a", status, content, 100);
  CHECK_FALSE(memory.content("a", status, false));
  CHECK(memory.content("a", status, true) == content);
  memory.note("a", status, content, 103);
  CHECK(memory.content("a", status, false) == content);
  for (const auto& change : std::vector<std::function<void(struct stat&)>>{
           [](auto& s) { s.st_size = 1; }, [](auto& s) { s.st_ino = 1; },
           [](auto& s) { s.st_dev = 1; }, [](auto& s) { s.st_mtim.tv_nsec = 1; },
           [](auto& s) { s.st_ctim.tv_nsec = 1; }}) {
    struct stat other = status;
    change(other);
    CHECK_FALSE(memory.content("a", other, true));
  }
  CHECK_FALSE(memory.content("b", status, true));
}

TEST_CASE("A wide folder is split, and one more file changes little of it") {
  Place place({.files_max = 10'000});
  for (int i = 0; i < 5000; ++i)
    place.write("wide/file-" + std::to_string(i), "");
  MapPartStore parts;
  const Digest root = *place.snapshot(parts);
  CHECK(parts.parts.size() > 5);
  for (const auto& [digest, part] : parts.parts)
    CHECK(part.size() <= kListingBytesMax + 1024);
  place.write("wide/file-2500x", "");
  parts.kept = 0;
  const Digest wider = *place.snapshot(parts);
  CHECK(parts.kept <= 4);  // the listing (or two, if it splits), the index, the root
  Place there({.files_max = 10'000});
  REQUIRE(there.restore(parts, wider).has_value());
  CHECK(fs::exists(there.folder.path() / "wide/file-4999"));
  REQUIRE(there.restore(parts, root).has_value());
  CHECK_FALSE(fs::exists(there.folder.path() / "wide/file-2500x"));
}

TEST_CASE("The bounds are errors that name the key, in both directions") {
  Place large;
  large.write("a", std::string(600, 'a'));
  large.write("b/c", std::string(600, 'c'));
  MapPartStore parts;
  const Digest root = *large.snapshot(parts);
  Place few({.files_max = 2});
  Place small({.bytes_max = 1000});
  few.write("kept", "");
  CHECK_THAT(few.restore_error(parts, root), Catch::Contains("state_files_max"));
  CHECK(fs::exists(few.folder.path() / "kept"));  // refused before anything was touched
  CHECK_THAT(small.restore_error(parts, root), Catch::Contains("state_bytes_max"));
  CHECK(small.is_empty());
  fill(few);
  fill(small);
  CHECK_THAT(few.snapshot(parts).error().message, Catch::Contains("state_files_max"));
  CHECK_THAT(small.snapshot(parts).error().message, Catch::Contains("state_bytes_max"));
  // It stays usable.
  for (const auto& entry : fs::directory_iterator(small.folder.path()))
    fs::remove_all(entry.path());
  CHECK(small.snapshot(parts).has_value());
}

TEST_CASE("Pipes and sockets are no part of a state, and outlast a restore") {
  Place place;
  place.write("page", "content");
  MapPartStore parts;
  const Digest root = *place.snapshot(parts);
  REQUIRE(::mkfifo((place.folder.path() / "fifo").c_str(), 0600) == 0);
  CHECK(*place.snapshot(parts) == root);
  place.write("page", "another");
  REQUIRE(place.restore(parts, root).has_value());
  CHECK(place.read("page") == "content");
  CHECK(fs::exists(place.folder.path() / "fifo"));
}

TEST_CASE("What is left out is not touched") {
  MapPartStore parts;
  Place lenient({.exclude = {"fif?", "tmp/*"}});
  REQUIRE(::mkfifo((lenient.folder.path() / "fifo").c_str(), 0600) == 0);
  lenient.write("tmp/a/b", "left out");
  lenient.write("a/fifo", "left out at any depth");
  const Digest root = *lenient.snapshot(parts);
  lenient.write("more", "goes");
  REQUIRE(lenient.restore(parts, root).has_value());
  CHECK(fs::exists(lenient.folder.path() / "fifo"));
  CHECK(lenient.read("tmp/a/b") == "left out");
  CHECK_FALSE(fs::exists(lenient.folder.path() / "more"));

  Place gone;
  fs::remove_all(gone.folder.path());
  CHECK_THAT(gone.snapshot(parts).error().message, Catch::Contains("No such file"));
  MapPartStore full;
  full.full = true;
  CHECK_THAT(lenient.snapshot(full).error().message, Catch::Contains("cannot be kept"));
}

TEST_CASE("A tree of parts cannot reach beyond the folder") {
  MapPartStore parts;
  for (const std::string name : {"..", ".", "a/b", "../x", "/x"}) {
    CHECK_FALSE(is_admissible_name(name));
    // Put together by hand: the encoder would not do it.
    Bytes payload;
    Writer writer(payload);
    writer.integer(std::uint8_t{3});  // a listing
    writer.integer(std::uint8_t{1});  // of a file
    writer.integer(static_cast<std::uint8_t>(name.size()));
    writer.raw(as_bytes(name));
    writer.raw(Bytes(2 + 8 + 1));
    const std::vector<Digest> children = {put(parts, encode_content({}))};
    Place place;
    CHECK_THAT(place.restore_error(parts, parts.add(children, payload)),
               Catch::Contains("malformed"));
    CHECK(place.is_empty());
  }
  CHECK_FALSE(is_admissible_name(std::string_view("a\0b", 3)));
  CHECK_FALSE(is_admissible_name(std::string(256, 'a')));

  // A folder below what is a link here, which leads elsewhere.
  Place outside;
  Place place;
  fs::create_symlink(outside.folder.path(), place.folder.path() / "sub");
  fs::create_symlink(outside.folder.path() / "file", place.folder.path() / "file");
  FolderEntry sub;
  sub.kind = EntryKind::folder;
  sub.name = "sub";
  sub.mode = 0755;
  sub.child = put_listing(parts, {file_entry(parts, "escaped", "x")});
  REQUIRE(
      place.restore(parts, put_listing(parts, {file_entry(parts, "file", "x"), sub})).has_value());
  CHECK(outside.is_empty());
  CHECK(place.read("sub/escaped") == "x");
  CHECK_FALSE(fs::is_symlink(place.folder.path() / "sub"));
  CHECK_FALSE(fs::is_symlink(place.folder.path() / "file"));
}

TEST_CASE("A file with another name outside of the folder is replaced, not changed") {
  Place outside;
  Place place;
  outside.write("a", "x");
  fs::permissions(outside.folder.path() / "a", fs::perms{0600});
  fs::create_hard_link(outside.folder.path() / "a", place.folder.path() / "a");
  MapPartStore parts;
  REQUIRE(place.restore(parts, put_listing(parts, {file_entry(parts, "a", "x")})).has_value());
  CHECK(fs::status(place.folder.path() / "a").permissions() == fs::perms{0644});
  CHECK(fs::status(outside.folder.path() / "a").permissions() == fs::perms{0600});
}

TEST_CASE("Trees that no correct replica makes are refused") {
  MapPartStore parts;
  const auto refused = [&](const Digest& root) {
    Place place;
    return !place.restore(parts, root).has_value();
  };
  const FolderEntry a = file_entry(parts, "a", "one");
  const FolderEntry b = file_entry(parts, "b", "two");
  const Digest first = put_listing(parts, {a});
  const Digest second = put_listing(parts, {b});
  const Digest none = put_listing(parts, {});
  const auto index = [&](std::uint8_t level, std::vector<Digest> children) {
    return put(parts, encode_index(level, children));
  };
  CHECK_FALSE(refused(first));
  CHECK(refused(a.child));                              // content for a listing
  CHECK(refused(sha256(as_bytes("missing"))));          // not held
  CHECK(refused(parts.add({}, as_bytes("nonsense"))));  // no known form
  CHECK(refused(index(1, {second, first})));            // out of order
  CHECK(refused(index(1, {first, first})));
  CHECK(refused(index(1, {none, none})));
  CHECK(refused(index(2, {first, second})));  // a level is missing
  CHECK(refused(index(3, {index(1, {first, second})})));
  CHECK(refused(index(1, {first, a.child})));

  const auto with_content = [&](std::uint64_t size, const Digest& content) {
    FolderEntry entry = a;
    entry.size = size;
    entry.child = content;
    return put_listing(parts, {entry});
  };
  const Digest piece = put(parts, encode_content(Bytes(kContentBytesMax)));
  const Digest tail = put(parts, encode_content(Bytes(1)));
  const Digest nothing = put(parts, encode_content({}));
  const std::uint64_t full = kContentBytesMax;
  CHECK_FALSE(refused(with_content(full + 1, index(1, {piece, tail}))));
  CHECK(refused(with_content(full + 1, index(1, {tail, piece}))));
  CHECK(refused(with_content(full, index(1, {piece, nothing}))));
  CHECK(refused(with_content(full, index(1, {piece, tail}))));      // longer than it says
  CHECK(refused(with_content(full + 2, index(1, {piece, tail}))));  // shorter
  CHECK(refused(with_content(3, first)));                           // a listing for content
  CHECK(refused(with_content(full, index(1, {piece}))));            // no index for one
  CHECK(refused(
      with_content(4 * full, index(2, {index(1, {piece, piece}), index(1, {piece, piece})}))));

  // The time is covered here or there: the replicas are configured differently.
  FolderEntry timed = a;
  timed.modified = 5;
  CHECK(refused(put_listing(parts, {timed})));
  Place strict({.exclude = {"a"}});
  CHECK_THAT(strict.restore_error(parts, first), Catch::Contains("state_exclude"));
}

TEST_CASE("Entries that wait behind a folder count before it is looked into") {
  MapPartStore parts;
  Digest below = put_listing(parts, {file_entry(parts, "a", "x")});
  for (int depth = 0; depth < 50; ++depth) {
    FolderEntry folder;
    folder.kind = EntryKind::folder;
    folder.name = "a";
    folder.mode = 0700;
    folder.child = below;
    std::vector<FolderEntry> entries{folder};
    for (char name = 'b'; name <= 'i'; ++name)
      entries.push_back(file_entry(parts, {name}, "x"));
    below = put_listing(parts, entries);
  }
  // Nine each: some two levels are held, and not one for each entry that was looked at.
  Place place({.files_max = 20});
  parts.reads = 0;
  CHECK_THAT(place.restore_error(parts, below), Catch::Contains("state_files_max"));
  CHECK(parts.reads <= 3);
  CHECK(place.is_empty());
}

TEST_CASE("A tree that refers to itself a thousandfold is bounded") {
  MapPartStore parts;
  Digest below = put_listing(parts, {file_entry(parts, "a", "x")});
  for (int depth = 0; depth < 40; ++depth) {
    std::vector<FolderEntry> entries;
    for (char name = 'a'; name <= 'h'; ++name) {
      FolderEntry entry;
      entry.kind = EntryKind::folder;
      entry.name = name;
      entry.mode = 0700;
      entry.child = below;
      entries.push_back(entry);
    }
    below = put_listing(parts, entries);
  }
  Place place({.files_max = 1000});
  CHECK_THAT(place.restore_error(parts, below), Catch::Contains("state_files_max"));
  CHECK(place.is_empty());

  Digest deep = put_listing(parts, {});
  for (int depth = 0; depth < 401; ++depth) {
    FolderEntry entry;
    entry.kind = EntryKind::folder;
    entry.name = "d";
    entry.mode = 0700;
    entry.child = deep;
    deep = put_listing(parts, {entry});
  }
  CHECK_THAT(place.restore_error(parts, deep), Catch::Contains("folders deep"));
  CHECK(place.is_empty());
}

}  // namespace prophecy::pbft::test
