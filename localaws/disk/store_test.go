package disk

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws/keep"
)

var quiet = slog.New(slog.DiscardHandler)

func set(key, value string) keep.Change { return keep.Change{Key: key, Value: []byte(value)} }

func unset(key string) keep.Change { return keep.Change{Key: key} }

// contents loads a store.
func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := s.Load(func(key string, value []byte) error {
		all[key] = string(value)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func mustOpen(t *testing.T, fs files) *Store {
	t.Helper()
	s, err := open(fs, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, s *Store, changes ...keep.Change) {
	t.Helper()
	s.Write(changes...)
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
}

// What was synced is there after the next Open, in the folder of an operating system too: small values, a value in a
// file of its own, and what was deleted is not.
func TestKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	large := strings.Repeat("x", inline+1)
	s, err := Open(dir, &Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, set("a", "1"), set("b", "2"), set("large", large), set("replaced", large))
	write(t, s, set("a", "3"), unset("b"), set("empty", ""), set("replaced", large+"2"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open(dir, &Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := map[string]string{"a": "3", "large": large, "empty": "", "replaced": large + "2"}
	if diff := cmp.Diff(want, contents(t, s)); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, attachmentsFolder, "*")); len(files) != 2 {
		t.Errorf("attachments: %v, want two", files)
	}
	if d := s.Damage(); d != nil {
		t.Errorf("damage: %v", d)
	}
}

// A folder in use, of another program or of a newer release, a file, and a folder without permission are refused, and
// nothing is written there.
func TestRefusedFolders(t *testing.T) {
	dir := t.TempDir()
	make := func(name string, files map[string]string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for f, text := range files {
			if err := os.WriteFile(filepath.Join(path, f), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	used := filepath.Join(dir, "used")
	s, err := Open(used, &Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ path, want string }{
		{used, fmt.Sprintf("is in use by process %d", os.Getpid())},
		{file, "is not a folder"},
		{make("foreign", map[string]string{"main.go": "package main"}), "has something else in it (main.go)"},
		{make("newer", map[string]string{formatFile: formatText(2)}), "has the data of a newer release"},
	}
	locked := make("locked", nil)
	cases = append(cases, struct{ path, want string }{locked, "cannot be written"})
	for path, mode := range map[string]os.FileMode{locked: 0o555, dir: 0o755, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range cases {
		before, _ := os.ReadDir(c.path)
		if c.path == used && runtime.GOOS == "windows" {
			c.want = "is in use by"
		}
		var err error
		open := func() { _, err = Open(c.path, nil) }
		if c.path != locked {
			open()
		} else if !asNobody(open) {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: error %v, want one with %q", c.path, err, c.want)
		}
		after, _ := os.ReadDir(c.path)
		if len(before) != len(after) {
			t.Errorf("%s: %d entries, then %d", c.path, len(before), len(after))
		}
	}
	if s, err := Open(make("kafka alone", nil), &Options{Logger: quiet}); err != nil {
		t.Errorf("an empty folder: %v", err)
	} else {
		s.Close()
	}
}

// workload makes changes of twenty records, and calls acknowledged after every sync that succeeded with what the store
// then holds, and before it with what it may hold.
func workload(s *Store, seed uint64, steps int, state func(acknowledged bool, now map[string]string)) {
	r := rand.New(rand.NewPCG(seed, 2))
	now := map[string]string{}
	for i := range steps {
		var changes []keep.Change
		for range 1 + r.IntN(3) {
			key := fmt.Sprint("key", r.IntN(20))
			switch r.IntN(4) {
			case 0:
				changes = append(changes, unset(key))
				delete(now, key)
			case 1:
				if r.IntN(8) == 0 {
					value := strings.Repeat(fmt.Sprint(i), inline)
					changes, now[key] = append(changes, set(key, value)), value
					break
				}
				fallthrough
			default:
				value := fmt.Sprint(i, strings.Repeat("v", r.IntN(100)))
				changes, now[key] = append(changes, set(key, value)), value
			}
		}
		state(false, maps.Clone(now))
		s.Write(changes...)
		if s.Sync() == nil {
			state(true, nil)
		}
	}
}

// Whichever call of the file system fails, for once or for good, and whatever a crash then leaves of unsynced bytes:
// the store has what was acknowledged last, or one of the states that were written after it. Each is there as a whole.
func TestEveryFault(t *testing.T) {
	const seed = 7
	steps := fullrun.Pick(150, 400) // 400 or a thousand calls
	count := newFaulty(seed)
	s := mustOpen(t, count)
	workload(s, seed, steps, func(bool, map[string]string) {})
	s.Close()
	step := 1
	if testing.Short() {
		step = 7
	}
	t.Logf("%d calls", count.calls)
	for n := 1; n <= count.calls; n += step {
		for _, lasting := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { oneFault(t, seed, steps, n, lasting) })
			if t.Failed() {
				t.Fatalf("seed %d, call %d, lasting %v", seed, n, lasting)
			}
		}
	}
}

func oneFault(t *testing.T, seed uint64, steps, n int, lasting bool) {
	fs := newFaulty(seed + uint64(n))
	fs.failAt, fs.lasting = n, lasting
	possible := []map[string]string{{}}
	if s, err := open(fs, quiet); err == nil {
		workload(s, seed, steps, func(acknowledged bool, now map[string]string) {
			if acknowledged {
				possible = possible[len(possible)-1:]
				return
			}
			possible = append(possible, now)
		})
		time.Sleep(2 * retry)
		if s.Sync() == nil {
			possible = possible[len(possible)-1:]
		}
		if !lasting && len(possible) > 1 {
			t.Errorf("%d changes are not acknowledged after a fault that has passed", len(possible)-1)
		}
		fs = fs.crash()
		s.Close()
	} else {
		fs = fs.crash()
	}
	again := mustOpen(t, fs)
	defer again.Close()
	got := contents(t, again)
	if !slices.ContainsFunc(possible, func(m map[string]string) bool { return maps.Equal(m, got) }) {
		t.Errorf("after the crash, the store has none of %d possible states: %s", len(possible),
			cmp.Diff(possible[0], got))
	}
	for _, d := range again.Damage() {
		if !d.Tail {
			t.Errorf("a crash is taken for damage: %v", d)
		}
	}
}

// A full disk refuses changes, and takes them again by itself; meanwhile, what is written is bounded by the records.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := newFaulty(1)
		s := mustOpen(t, fs)
		write(t, s, set("a", "1"))
		fs.setFull(true)
		s.Write(set("b", "2"))
		if err := s.Sync(); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("Sync on a full disk: %v", err)
		}
		for i := range 3 * maxPending {
			s.Write(set("c", fmt.Sprint(i)))
		}
		s.mu.Lock()
		pending := len(s.pending)
		s.mu.Unlock()
		if pending > maxPending+1 {
			t.Errorf("%d batches wait, want at most %d", pending, maxPending+1)
		}
		if s.Failure() == nil {
			t.Error("Failure is nil on a full disk")
		}
		fs.setFull(false)
		time.Sleep(2 * retry)
		if err := s.Failure(); err != nil {
			t.Errorf("there is room, and Failure is %v", err)
		}
		fs = fs.crash()
		s.Close()
		s = mustOpen(t, fs)
		defer s.Close()
		want := map[string]string{"a": "1", "b": "2", "c": fmt.Sprint(3*maxPending - 1)}
		if diff := cmp.Diff(want, contents(t, s)); diff != "" {
			t.Errorf("contents (-want +got):\n%s", diff)
		}
	})
}

// A bit that changed, and a file that was cut, are named with their place; every record of the rest is served.
func TestDamage(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 3))
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	for round := range rounds {
		fs := newFaulty(seed)
		s := mustOpen(t, fs)
		want := map[string]string{}
		for i := range 30 {
			key, value := fmt.Sprint("key", i), strings.Repeat(fmt.Sprint(i, " "), 20)
			if i%10 == 9 {
				value = strings.Repeat("y", inline+i)
			}
			s.Write(set(key, value))
			want[key] = value
		}
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
		s.Close()
		names := slices.Sorted(maps.Keys(fs.names))
		name := names[r.IntN(len(names))]
		c := fs.names[name]
		at, cut := r.IntN(len(c.bytes)), r.IntN(3) == 0
		if cut {
			c.bytes = c.bytes[:at]
		} else {
			c.bytes[at] ^= 1 << r.IntN(8)
		}
		s, err := open(fs, quiet)
		if err != nil {
			t.Fatalf("round %d, %s at %d, cut %v: %v", round, name, at, cut, err)
		}
		got := contents(t, s)
		for key, value := range got {
			if want[key] != value {
				t.Errorf("round %d: %s is wrong", round, key)
			}
		}
		damage := s.Damage()
		lost := len(want) - len(got)
		onBoundary := cut && lost > 0 && len(damage) == 0 && strings.HasPrefix(name, logFolder) // between two batches
		if (len(damage) == 0 && !onBoundary) || (!cut && lost > 1) {
			t.Errorf("round %d, %s at %d, cut %v: %d records lost, damage %v", round, name, at, cut, lost, damage)
		}
		for _, d := range damage {
			if d.File != name || d.Cause == "" || d.Length > 0 && d.Aside == "" || int64(at) < d.Offset {
				t.Errorf("round %d, %s at %d: damage %+v", round, name, at, d)
			}
			if d.Aside != "" && fs.names[d.Aside] == nil {
				t.Errorf("round %d: nothing is set aside: %v", round, d)
			}
		}
		s.Close()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// A drained backlog gives its room back, and a short backlog stays small however long it is used. Nothing is lost on
// the way, also by a crash.
func TestCompaction(t *testing.T) {
	fs := newFaulty(3)
	s := mustOpen(t, fs)
	contents(t, s)
	body := strings.Repeat("b", 10_000)
	write(t, s, set("old", "kept"))
	key := func(i int) string { return fmt.Sprint("m", i) }
	const backlog = 10_000
	for i := range backlog {
		s.Write(set(key(i), body))
		if i%100 == 0 {
			write(t, s)
		}
	}
	full := fs.bytes()
	for i := range backlog {
		s.Write(unset(key(i)))
	}
	write(t, s, set("last", "1"))
	settled(t, s)
	if now := fs.bytes(); now > full/2 {
		t.Errorf("%d bytes of a drained backlog of %d", now, full)
	}
	for i := range 3 * backlog {
		s.Write(set(key(i), body))
		s.Write(unset(key(i - 100)))
		if i%100 == 0 {
			write(t, s, set("last", fmt.Sprint(i)))
		}
	}
	write(t, s)
	settled(t, s)
	if now := fs.bytes(); now > 2*garbage {
		t.Errorf("%d bytes with a short backlog", now)
	}
	fs = fs.crash()
	s.Close()
	s = mustOpen(t, fs)
	defer s.Close()
	got := contents(t, s)
	if got["old"] != "kept" || got["last"] == "" || len(got) != 102 {
		t.Errorf("%d records, old %q, last %q", len(got), got["old"], got["last"])
	}
}

// A minute after a queue was drained, the folder is smaller by 90 %, and nothing is lost by that. Then the store rests,
// and a backlog that nobody drains is not written again.
func TestADrainedQueueGivesItsRoomBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := newFaulty(4)
		s := mustOpen(t, fs)
		contents(t, s)
		want := map[string]string{}
		for i := range 100 {
			want[fmt.Sprint("kept", i)] = strings.Repeat("k", i)
		}
		for key, value := range want {
			s.Write(set(key, value))
		}
		body := strings.Repeat("b", 10_000)
		const backlog = 10_000
		for i := range backlog {
			s.Write(set(fmt.Sprint("m", i), body))
			if i%100 == 0 {
				write(t, s)
			}
		}
		write(t, s)
		full := fs.bytes()
		time.Sleep(time.Minute)
		if now := fs.bytes(); now != full {
			t.Errorf("%d bytes are written again of a backlog that nobody drains", now-full)
		}
		for i := range backlog {
			s.Write(unset(fmt.Sprint("m", i)))
			if i%100 == 0 {
				write(t, s)
			}
		}
		write(t, s)
		time.Sleep(time.Minute)
		if now := fs.bytes(); now > full/10 {
			t.Errorf("%d bytes of a drained backlog of %d", now, full)
		}
		calls := fs.calls
		time.Sleep(time.Hour)
		if fs.calls != calls {
			t.Errorf("%d calls of the file system of a store that nobody uses", fs.calls-calls)
		}
		fs = fs.crash()
		s.Close()
		s = mustOpen(t, fs)
		defer s.Close()
		if diff := cmp.Diff(want, contents(t, s)); diff != "" {
			t.Errorf("contents (-want +got):\n%s", diff)
		}
	})
}

// settled waits until there is not too much garbage.
func settled(t *testing.T, s *Store) {
	t.Helper()
	for range 10_000 {
		if total, live := s.Size(); total-live <= max(live, garbage) {
			return
		}
		write(t, s, set("settling", "1"))
		write(t, s, unset("settling"))
	}
	t.Error("compaction does not end")
}

// A folder that version 1 has written is read.
func TestVersion1(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS("testdata/version1")); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, &Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := map[string]string{"kept": "1", "changed": "after", "large": strings.Repeat("a", 70_000)}
	if diff := cmp.Diff(want, contents(t, s)); diff != "" || len(s.Damage()) > 0 {
		t.Errorf("contents (-want +got):\n%s\ndamage %v", diff, s.Damage())
	}
}

// Callers that wait at once share a sync.
func TestGroupCommit(t *testing.T) {
	fs := newFaulty(5)
	s := mustOpen(t, fs)
	defer s.Close()
	write(t, s, set("first", "1"))
	before := fs.calls
	const callers = 1000
	for i := range callers {
		s.Write(set(fmt.Sprint(i), "1"))
	}
	write(t, s)
	if calls := fs.calls - before; calls > callers/10 {
		t.Errorf("%d calls of the file system for %d changes", calls, callers)
	}
}

// Any bytes are read without a panic, and what is read was written.
func FuzzDecode(f *testing.F) {
	f.Add(encode(nil, []change{{kind: kindSet, key: "a", value: []byte("b")}, {kind: kindDelete, key: "c"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		changes, n, _ := decode(b)
		if n > 0 && !bytes.Equal(encode(nil, changes), b[:n]) {
			t.Errorf("%q is not what is written for %v", b[:n], changes)
		}
		_ = scan(b, func(int, []change) {}, func(int, int, string, bool) error { return io.EOF })
	})
}

// BenchmarkSync is one message of 1 KiB at a time: a send, a receive and a deletion; the send and the deletion are
// waited for.
func BenchmarkSync(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "data"), &Options{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	_ = s.Load(func(string, []byte) error { return nil })
	body := bytes.Repeat([]byte("m"), 1024)
	b.RunParallel(func(pb *testing.PB) {
		id := rand.Uint64()
		for n := 0; pb.Next(); n++ {
			key := fmt.Sprint(id, n)
			s.Write(keep.Change{Key: "m" + key, Value: body})
			if err := s.Sync(); err != nil {
				b.Error(err)
			}
			s.Write(keep.Change{Key: "s" + key, Value: body[:40]})
			s.Write(keep.Change{Key: "m" + key}, keep.Change{Key: "s" + key})
			if err := s.Sync(); err != nil {
				b.Error(err)
			}
		}
	})
}
