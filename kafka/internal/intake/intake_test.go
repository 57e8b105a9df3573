package intake

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

// table is a receiver of some partitions, whose records are admitted while there is room.
type table struct {
	in       *Intake[string]
	backlogs []*Backlog[string]
	most     int
	refuse   string // no record of this partition is admitted
	went     map[string]int
}

func newTable(places int, partitions ...string) *table {
	t := &table{in: New[string](places), most: 1 << 30}
	for _, p := range partitions {
		t.backlogs = append(t.backlogs, &Backlog[string]{Of: p})
	}
	return t
}

func (t *table) share() Change[string] {
	t.went = map[string]int{}
	total := 0
	return t.in.Share(slices.Values(t.backlogs), len(t.backlogs), func() int { return t.most - total },
		func(p string, _ *kgo.Record) bool {
			if p == t.refuse {
				return false
			}
			for _, b := range t.backlogs {
				if b.Of == p {
					t.in.Occupy(b)
				}
			}
			total++
			t.went[p]++
			return true
		})
}

func records(n, bytes int) []*kgo.Record {
	rs := make([]*kgo.Record, n)
	for i := range rs {
		rs[i] = &kgo.Record{Offset: int64(i), Value: make([]byte, bytes)}
	}
	return rs
}

// A round admits records of all partitions in equal parts, however long one backlog is.
func TestARoundIsShared(t *testing.T) {
	s := newTable(1000, "a", "b", "c")
	s.most = 30
	s.backlogs[0].Bring(records(100, 1))
	s.backlogs[1].Bring(records(100, 1))
	s.backlogs[2].Bring(records(4, 1))
	s.share()
	if s.went["c"] != 4 || s.went["a"] != 13 || s.went["b"] != 13 {
		t.Errorf("admitted %v, want 4 of c and halves of the rest of the others", s.went)
	}
}

// One partition leaves places for others. It gets more places when a chunk is free, not one by one.
func TestAPartitionHasItsPortion(t *testing.T) {
	s := newTable(800, "a", "b")
	a, b := s.backlogs[0], s.backlogs[1]
	a.Bring(records(2000, 1))
	s.share() // all places are free, so the portion is all of them
	if s.went["a"] != 800 {
		t.Fatalf("admitted %v of 800 free places", s.went)
	}
	b.Bring(records(10, 1))
	for range 390 {
		s.in.Vacate(a)
	}
	s.share()
	if s.went["a"] != 0 || s.went["b"] != 10 {
		t.Errorf("admitted %v: a has more than its half, and b has places", s.went)
	}
	missing := s.in.Missing(slices.Values(s.backlogs))
	if missing == 0 || s.in.Freed(a) {
		t.Errorf("%d places are missing, freed %v", missing, s.in.Freed(a))
	}
	for range missing - 1 {
		if s.in.Vacate(a); s.in.Freed(a) {
			t.Fatal("a chunk is free before the missing places are")
		}
	}
	if s.in.Vacate(a); !s.in.Freed(a) {
		t.Error("the missing places are free, and no record may be admitted")
	}
	s.share()
	if s.went["a"] == 0 {
		t.Error("no record was admitted")
	}
}

// A stuck partition is paused while its backlog is long, by records or bytes, and resumed when the backlog is empty.
func TestAPartitionThatStandsStillIsPaused(t *testing.T) {
	for name, rs := range map[string][]*kgo.Record{
		"number": records(backlogMost, 1),
		"bytes":  records(2, backlogBytes/2),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTable(1<<20, "a", "b")
			s.backlogs[0].Bring(rs[1:])
			s.backlogs[1].Bring(records(1, 1))
			s.refuse = "a"
			if diff := cmp.Diff(Change[string]{}, s.share()); diff != "" {
				t.Error(diff)
			}
			s.backlogs[0].Bring(rs[:1])
			if diff := cmp.Diff(Change[string]{Pause: []string{"a"}}, s.share()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(Change[string]{}, s.share()); diff != "" {
				t.Errorf("paused twice: %s", diff)
			}
			s.refuse = ""
			if diff := cmp.Diff(Change[string]{Resume: []string{"a"}}, s.share()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A partition that stops because the round is full is not paused.
func TestAFullRoundPausesNothing(t *testing.T) {
	s := newTable(1<<20, "a")
	s.backlogs[0].Bring(records(backlogMost+10, 1))
	s.most = 5
	if diff := cmp.Diff(Change[string]{}, s.share()); diff != "" || s.went["a"] != 5 {
		t.Errorf("admitted %v %s", s.went, diff)
	}
}

// A forgotten partition has no places and no backlog.
func TestForgottenPartitionsHaveNothing(t *testing.T) {
	s := newTable(100, "a", "b")
	s.backlogs[0].Bring(records(200, 1))
	s.share()
	s.in.Forget(s.backlogs[0])
	if !s.backlogs[0].Empty() || s.in.taken != 0 || s.in.Missing(slices.Values(s.backlogs)) != 0 {
		t.Errorf("%d places are taken, empty %v", s.in.taken, s.backlogs[0].Empty())
	}
}
