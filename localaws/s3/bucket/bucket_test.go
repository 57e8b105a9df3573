package bucket

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// memory is a blob that counts its users.
type memory struct {
	text  []byte
	users int
}

func (m *memory) Bytes() []byte { return m.text }
func (m *memory) Retain()       { m.users++ }
func (m *memory) Release()      { m.users-- }
func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, m.text[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func newMemory(text string) *memory { return &memory{[]byte(text), 1} }

func whole(m *memory) Content { return Whole(m, int64(len(m.text))) }

var start = time.Date(2026, 3, 10, 15, 30, 0, 0, time.UTC)

func testBucket(t *testing.T) *Bucket {
	b, err := NewStore().Create("000000000000", "b", "us-east-1", start, &Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, b *Bucket, key, text string) *memory {
	t.Helper()
	m := newMemory(text)
	if err := b.Put(&Object{Key: key, ETag: text, Modified: start, Content: whole(m)}, Condition{}, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestIndexIsASortedList: many random writes and removals leave the same objects, in order, as a map does.
func TestIndexIsASortedList(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	var x index
	want := map[string]*Object{}
	for i := range 60_000 {
		key := fmt.Sprintf("%05d", random.IntN(5000))
		if i > 40_000 || random.IntN(3) == 0 {
			if got := x.remove(key); got != want[key] {
				t.Fatalf("remove %s: %v, want %v (seed %d)", key, got, want[key], seed)
			}
			delete(want, key)
		} else {
			o := &Object{Key: key}
			if got := x.put(o); got != want[key] {
				t.Fatalf("put %s: %v, want %v (seed %d)", key, got, want[key], seed)
			}
			want[key] = o
		}
		if x.count != len(want) || x.get(key) != want[key] {
			t.Fatalf("%d objects, want %d (seed %d)", x.count, len(want), seed)
		}
	}
	var got []string
	for p := (position{}); x.at(p) != nil; p = x.next(p) {
		got = append(got, x.at(p).Key)
	}
	if !slices.IsSorted(got) || len(got) != len(want) {
		t.Errorf("%d keys, sorted: %v; want %d (seed %d)", len(got), slices.IsSorted(got), len(want), seed)
	}
}

// TestListOfPages: pages of every size, with and without groups, have together what one page has.
func TestListOfPages(t *testing.T) {
	b := testBucket(t)
	for _, k := range []string{
		"a", "a/", "a/1", "a/2/x", "a/2/y", "a/3", "a0", "b/1", "b/2", "c", "\xff", "\xff\xff/1", "ä/ö",
	} {
		put(t, b, k, k)
	}
	names := func(p Page) []string {
		var all []string
		for _, o := range p.Objects {
			all = append(all, o.Key)
		}
		return append(all, p.Groups...)
	}
	for _, q := range []Query{
		{}, {Delimiter: "/"}, {Prefix: "a"}, {Prefix: "a/", Delimiter: "/"}, {Delimiter: "2"}, {Prefix: "\xff"},
	} {
		q.Limit = 1000
		want := names(b.List(q))
		slices.Sort(want)
		for limit := 1; limit < 6; limit++ {
			q.Limit, q.After = limit, ""
			var got []string
			for {
				p := b.List(q)
				got = append(got, names(p)...)
				if !p.More {
					break
				}
				q.After = p.Last
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v: -whole +pages:\n%s", q, diff)
			}
		}
	}
	if got := names(b.List(Query{Delimiter: "/", Limit: 3})); !slices.Equal(got, []string{"a", "a0", "a/"}) {
		t.Errorf("the first page of groups is %q", got)
	}
}

// TestContentIsFreed: when objects, parts and readers are gone, no blob has a user, whatever shared it.
func TestContentIsFreed(t *testing.T) {
	b := testBucket(t)
	first := put(t, b, "k", "0123456789")
	o := b.Open("k")
	second := newMemory("abc")
	joined := Join([]Content{o.Content.Range(2, 5), whole(second)})
	copied := &Object{Key: "copy", Content: joined}
	if err := b.Put(copied, Condition{}, nil); err != nil {
		t.Fatal(err)
	}
	r := joined.Reader()
	put(t, b, "k", "other")
	if _, err := b.Delete("copy", nil); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); string(text) != "23456abc" || err != nil {
		t.Errorf("a reader of a deleted object reads %q, %v", text, err)
	}
	if first.users == 0 || second.users == 0 {
		t.Error("a blob is freed while it is read")
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if first.users != 0 || second.users != 0 {
		t.Errorf("%d and %d users are left", first.users, second.users)
	}
}

// TestUploadFreesItsParts: completing keeps the listed parts, and frees those that were replaced or left out.
func TestUploadFreesItsParts(t *testing.T) {
	b := testBucket(t)
	if err := b.Start(&Upload{ID: "u", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	blobs := []*memory{newMemory("old"), newMemory("one"), newMemory("two"), newMemory("left out")}
	for i, n := range []int{1, 1, 2, 3} {
		if err := b.PutPart("u", &Part{Number: n, Content: whole(blobs[i])}); err != nil {
			t.Fatal(err)
		}
	}
	o, err := b.Complete("u", Condition{}, Digest{1}, func(_ *Upload, parts map[int]*Part) (*Object, error) {
		return &Object{Key: "k", Content: Join([]Content{parts[1].Content, parts[2].Content})}, nil
	})
	if err != nil || o.Size() != 6 {
		t.Fatalf("%+v %v", o, err)
	}
	got := []int{blobs[0].users, blobs[1].users, blobs[2].users, blobs[3].users}
	if !slices.Equal(got, []int{0, 1, 1, 0}) {
		t.Errorf("users of the parts: %v", got)
	}
	if err := b.PutPart("u", &Part{Number: 1, Content: whole(blobs[0])}); !errors.Is(err, ErrNoUpload) {
		t.Errorf("a part of a completed upload: %v", err)
	}
}

// TestCompletedAreBounded: a bucket remembers the latest completed uploads, without what they hold.
func TestCompletedAreBounded(t *testing.T) {
	b := testBucket(t)
	for i := range maxCompleted + 1 {
		u := &Upload{ID: strconv.Itoa(i), Key: "k"}
		if err := b.Start(u); err != nil {
			t.Fatal(err)
		}
		join := func(*Upload, map[int]*Part) (*Object, error) {
			return &Object{Key: "k", ETag: u.ID, Parts: []PartInfo{{Number: 1}}}, nil
		}
		if _, err := b.Complete(u.ID, Condition{}, Digest{1}, join); err != nil {
			t.Fatal(err)
		}
	}
	last := strconv.Itoa(maxCompleted)
	if o := b.Completed(last, "k", Digest{1}); o == nil || o.ETag != last || o.Parts != nil {
		t.Errorf("the last one: %+v", o)
	}
	if o := b.Completed("0", "k", Digest{1}); o != nil || len(b.completed) > maxCompleted {
		t.Errorf("the first of %d: %+v", len(b.completed), o)
	}
	if o := b.Completed(last, "k", Digest{2}); o != nil {
		t.Errorf("by another request: %+v", o)
	}
}

// TestConditions: what a write requires, and what happens when another request changes the object meanwhile.
func TestConditions(t *testing.T) {
	for _, c := range []struct {
		name      string
		before    string // the ETag of the object; "": there is none
		condition Condition
		meanwhile func(*testing.T, *Bucket)
		want      error
	}{
		{"absent", "", Condition{Absent: true}, nil, nil},
		{"absent, but there", "x", Condition{Absent: true}, nil, ErrPrecondition},
		{"the same", "x", Condition{ETag: "x"}, nil, nil},
		{"another", "x", Condition{ETag: "y"}, nil, ErrPrecondition},
		{"the same, but gone", "", Condition{ETag: "x"}, nil, ErrNoObject},
		{
			"put meanwhile", "",
			Condition{Absent: true},
			func(t *testing.T, b *Bucket) { put(t, b, "k", "z") }, ErrPrecondition,
		},
		{"put as it was", "x", Condition{ETag: "x"}, func(t *testing.T, b *Bucket) { put(t, b, "k", "x") }, ErrRace},
		{"deleted meanwhile", "x", Condition{ETag: "x"}, func(t *testing.T, b *Bucket) {
			if _, err := b.Delete("k", nil); err != nil {
				t.Error(err)
			}
		}, ErrNoObject},
		{"put and deleted meanwhile", "", Condition{Absent: true}, func(t *testing.T, b *Bucket) {
			put(t, b, "k", "z")
			if _, err := b.Delete("k", nil); err != nil {
				t.Error(err)
			}
		}, ErrRace},
		{
			"another key meanwhile", "",
			Condition{Absent: true},
			func(t *testing.T, b *Bucket) { put(t, b, "l", "z") }, nil,
		},
		{"no condition", "x", Condition{}, func(t *testing.T, b *Bucket) { put(t, b, "k", "z") }, nil},
	} {
		b := testBucket(t)
		if c.before != "" {
			put(t, b, "k", c.before)
		}
		w := b.Watch("k")
		if c.meanwhile != nil {
			c.meanwhile(t, b)
		}
		m := newMemory("new")
		err := b.Put(&Object{Key: "k", Content: whole(m)}, c.condition, w)
		w.End()
		if !errors.Is(err, c.want) || err == nil && c.want != nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err != nil && m.users != 0 {
			t.Errorf("%s: the content is kept", c.name)
		}
		if len(b.watches) != 0 {
			t.Errorf("%s: a watch is left", c.name)
		}
	}
}

// TestOneOfManyWins: of many writers that require an absent object, one writes.
func TestOneOfManyWins(t *testing.T) {
	b := testBucket(t)
	var wins sync.Map
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			w := b.Watch("k")
			defer w.End()
			if b.Put(&Object{Key: "k"}, Condition{Absent: true}, w) == nil {
				wins.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	wins.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d writers have won", n)
	}
}

// TestSweep: an object expires at the midnight after its days, and not before.
func TestSweep(t *testing.T) {
	b := testBucket(t)
	limit := int64(4)
	if err := b.Configure(func(s *Settings) {
		s.Lifecycle = []Rule{
			{ID: "old", Enabled: true, Days: 1, Filter: Filter{Prefix: "tmp/"}},
			{ID: "large", Enabled: true, Days: 2, Filter: Filter{GreaterThan: &limit, Tags: []Tag{{"a", "b"}}}},
			{ID: "off", Days: 1},
			{ID: "uploads", Enabled: true, AbortDays: 1},
		}
	}); err != nil {
		t.Fatal(err)
	}
	put(t, b, "tmp/x", "x")
	put(t, b, "long", "12345")
	put(t, b, "longtagged", "12345")
	put(t, b, "short", "1234")
	for _, k := range []string{"longtagged", "short"} {
		if err := b.Alter(k, func(p *Properties) { p.Tags = []Tag{{"a", "b"}} }); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Start(&Upload{ID: "u", Key: "k", Initiated: start}); err != nil {
		t.Fatal(err)
	}
	midnight := time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC)
	for day, want := range [][]string{nil, {"tmp/x"}, {"longtagged"}, nil} {
		var got []string
		for _, o := range b.Sweep(midnight.AddDate(0, 0, day)) {
			got = append(got, o.Key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("on day %d %q expire, want %q", day, got, want)
		}
		if uploads := len(b.Uploads()); (uploads == 1) != (day < 1) {
			t.Errorf("on day %d there are %d uploads", day, uploads)
		}
	}
}

// BenchmarkPage lists a thousand of a million keys.
func BenchmarkPage(b *testing.B) {
	store := NewStore()
	k, err := store.Create("000000000000", "b", "us-east-1", start, &Settings{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1_000_000 {
		if err := k.Put(&Object{Key: fmt.Sprintf("prefix/%09d", i*7919%1_000_000)}, Condition{}, nil); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if p := k.List(Query{After: "prefix/000500000", Limit: 1000}); len(p.Objects) != 1000 {
			b.Fatal(len(p.Objects))
		}
	}
}
