// What is known of the blocks of a checked heap, and how it is found that it does not agree.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/places.hpp"

#include "checked_heap.hpp"
#include "heaps/checked/notes.hpp"

namespace tarn {

struct NotesAccess {
  static LoneNote*& spare(Notes& of) { return of.spare_; }
};

namespace {

#ifdef TARN_DEBUG

class PlacesTest : public CheckedHeapTest {
 protected:
  PlacesTest() : CheckedHeapTest(TARN_MODE_CHECKED) {}
  bool check() {
    os::Locked locked(record().lock);
    return places_check(record());
  }
};

TEST_F(PlacesTest, CheckAgreesAtEachStepOfABlocksLife) {
  EXPECT_TRUE(check()) << "nothing";
  for (const std::size_t bytes : {0u, 40u, 5000u, 300'000u}) {
    void* const p = allocate(bytes);
    EXPECT_TRUE(check()) << bytes;
    free(p);
    EXPECT_TRUE(check()) << bytes << ", in quarantine";
    checks_collect(record());
    EXPECT_TRUE(check()) << bytes << ", gone";
  }
}

TEST_F(PlacesTest, CheckFindsCountsThatDoNotAgreeWithTheNotes) {
  void* const p = allocate(40);
  void* const q = allocate(300'000);
  free(allocate(60));
  for (std::size_t* const count : {&checks().charged, &checks().live_bytes}) {
    ++*count;
    EXPECT_FALSE(check());
    --*count;
  }
  ++checks().live_blocks;
  EXPECT_FALSE(check());
  --checks().live_blocks;
  ++checks().kept_guarded;
  EXPECT_FALSE(check());
  --checks().kept_guarded;
  for (Page* const page : {page_of(p), page_of(q)}) {
    page->live_seen = page->live_seen + 1;
    EXPECT_FALSE(check());
    page->live_seen = page->live_seen - 1;
  }
  page_of(p)->countdown += 1;
  EXPECT_FALSE(check()) << "one place is used by nobody";
  page_of(p)->countdown -= 1;
  EXPECT_TRUE(check());
  free(p);
  free(q);
}

TEST_F(PlacesTest, CheckFindsAQuarantineWhoseLinksLeadAstray) {
  void* const p = allocate(40);
  for (int i = 0; i < 3; ++i) free(allocate(60));
  std::byte* const oldest = checks().oldest_kept;
  Note& first = *place_around(page_of(oldest), oldest).note;
  std::byte* const second = first.next;
  checks().oldest_kept = second;
  EXPECT_FALSE(check()) << "one is forgotten";
  checks().oldest_kept = oldest;
  first.next = static_cast<std::byte*>(p);
  EXPECT_FALSE(check()) << "to a live block";
  first.next = oldest;
  EXPECT_FALSE(check()) << "in a circle";
  first.next = second;
  EXPECT_TRUE(check());
  free(p);
}

TEST(NotesTest, CheckFindsASpareNoteThatIsOnNoList) {
  LoneNote* const note = notes.take();
  ASSERT_NE(note, nullptr);
  EXPECT_TRUE(notes.check());
  notes.give(*note);
  EXPECT_TRUE(notes.check());
  LoneNote* const spare = NotesAccess::spare(notes);
  NotesAccess::spare(notes) = spare->newer;
  EXPECT_FALSE(notes.check());
  NotesAccess::spare(notes) = spare;
  spare->set(NoteState::live, 0, 5);
  EXPECT_FALSE(notes.check()) << "it is in use";
  spare->set(NoteState::spare, 0, 0);
  EXPECT_TRUE(notes.check());
}

TEST(NotesDeathTest, StepsThatABlockDoesNotTakeAreDefects) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Note note;
  EXPECT_DEATH(note.set_state(NoteState::freed), "may_become") << "there was no block";
  EXPECT_DEATH(note.set_state(NoteState::kept_back), "may_become");
  note.set(NoteState::live, 0, 10);
  note.set_state(NoteState::kept_back);
  note.set_state(NoteState::freed);
  EXPECT_DEATH(note.set_state(NoteState::freed), "may_become") << "twice";
  EXPECT_DEATH(note.set(NoteState::live, 0, Note::requested_mask + 1), "requested");
}

#endif

}  // namespace
}  // namespace tarn
