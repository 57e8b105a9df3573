package ops_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/ops"
)

// watchFor watches for a while.
func watchFor(t *testing.T, s *ops.Sampler, d time.Duration) (last ops.View) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	for last = range s.Watch(ctx) {
	}
	return last
}

// A history outlives its sampler, to the point; and goes on behind a gap.
func TestHistoryFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMorgue(t)
		m.put(orders, letter("", "x"), letter("", "y"))
		file := filepath.Join(t.TempDir(), "history")
		o := &ops.SamplerOptions{History: file}
		first := sampler(t, m.Backend, o)
		watchFor(t, first, 7*time.Hour)
		second := sampler(t, m.Backend, o)
		was, is := first.History(orders), second.History(orders)
		if diff := cmp.Diff(was, is); diff != "" || len(is) < 2000 {
			t.Errorf("%d samples were %d: %.500s", len(was), len(is), diff)
		}
		time.Sleep(time.Hour)
		watchFor(t, second, time.Hour)
		third := sampler(t, m.Backend, o).History(orders)
		if n := len(third); n < 1700 || n > 1900 || third[0].Waiting != 2 {
			t.Errorf("%d samples", n)
		}
	})
}

// While somebody watches, the file is written each minute; why it cannot be written is part of the view.
func TestHistoryFileEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		file := filepath.Join(folder, "history")
		s := sampler(t, newMorgue(t).Backend, &ops.SamplerOptions{History: file})
		ctx, cancel := context.WithCancel(t.Context())
		began, written := time.Now(), time.Duration(0)
		for v := range s.Watch(ctx) {
			if _, err := os.Stat(file); err == nil && written == 0 {
				written = time.Since(began)
				if err := os.RemoveAll(folder); err != nil {
					t.Fatal(err)
				}
			}
			if v.HistoryErr != nil || time.Since(began) > 10*time.Minute {
				if written < time.Minute || written > 2*time.Minute || v.HistoryErr == nil {
					t.Errorf("it was written after %v; then %v", written, v.HistoryErr)
				}
				break
			}
		}
		cancel()
	})
}

// A file of a newer version, and another file, are errors that say so, and stay as they are.
func TestHistoryFilesThatCannotBeRead(t *testing.T) {
	b := newMorgue(t).Backend
	for text, want := range map[string]string{
		"godwit-history 2\nxyz": "of version 2, and this Godwit reads versions up to 1",
		"godwit-history 1\nxyz": "it is damaged",
		"a letter":              "another file",
		"":                      "another file",
	} {
		file := filepath.Join(t.TempDir(), "history")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ops.NewSampler(b, &ops.SamplerOptions{History: file}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if is, _ := os.ReadFile(file); string(is) != text {
			t.Errorf("%q became %q", text, is)
		}
	}
}
