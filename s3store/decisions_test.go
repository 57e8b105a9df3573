package s3store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/s3store"
)

func (w *world) decisions(prefix string) *s3store.Decisions {
	w.Helper()
	d, err := s3store.OpenDecisions(w.Context(), &s3store.Options{Bucket: bucket, Prefix: prefix, AWS: &w.conf})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// decide returns what was decided.
func (w *world) decide(d *s3store.Decisions, name, text string) string {
	w.Helper()
	decided, err := d.Decide(w.Context(), name, text)
	if err != nil {
		w.Error(err)
	}
	return decided
}

// All programs see the text that was written first, however many write at once.
func TestDecisionsAreMadeOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		if err := w.decisions("decisions/").Ensure(w.Context(), driver.Auto); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]map[string]bool{}
		for program := range 5 {
			d := w.decisions("decisions/")
			wg.Go(func() {
				for n := range 20 {
					name := fmt.Sprint("n", n)
					decided := w.decide(d, name, fmt.Sprint("by ", program))
					mu.Lock()
					if seen[name] == nil {
						seen[name] = map[string]bool{}
					}
					seen[name][decided] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for name, texts := range seen {
			if len(texts) != 1 {
				t.Errorf("%s was decided as %v", name, texts)
			}
		}
		if decided := w.decide(w.decisions("others/"), "n1", "other"); decided != "other" {
			t.Errorf("with another prefix it was decided as %q", decided)
		}
	})
}

// Whether the answer to a write is lost, before or after it took effect, or another write was running: the text is what
// is decided, and what cannot be found out is an error that can pass.
func TestDecisionsWithFaults(t *testing.T) {
	inWorld(t, func(w *world) {
		d := w.decisions("decisions/")
		if err := d.Ensure(w.Context(), driver.Auto); err != nil {
			t.Fatal(err)
		}
		conflict := &wire.Error{Code: "ConditionalRequestConflict", Message: "try again", Status: 409}
		for name, o := range map[string]localaws.Outcome{
			"before": {Drop: true}, "after": {DropAfter: true}, "conflict": {Err: conflict},
			"error-after": {DropAfter: true, Err: conflict},
		} {
			w.server.ControlOnce("s3.PutObject", func(context.Context, *localaws.Request) localaws.Outcome { return o })
			if decided := w.decide(d, name, "first"); decided != "first" {
				t.Errorf("%s: decided as %q", name, decided)
			}
			w.server.ControlOnce("s3.PutObject", func(context.Context, *localaws.Request) localaws.Outcome { return o })
			if decided := w.decide(d, name, "second"); decided != "first" {
				t.Errorf("%s: decided again as %q", name, decided)
			}
		}
		w.down("s3.PutObject", 15*time.Second)
		if decided := w.decide(d, "outage", "yes"); decided != "yes" {
			t.Errorf("after an outage of 15 s it was decided as %q", decided)
		}
		w.down("s3.GetObject", time.Hour)
		if _, err := d.Decide(w.Context(), "outage", "no"); err == nil || !driver.ClassOf(err).Passing() {
			t.Errorf("what cannot be read: %v", err)
		}
		stop := w.server.Control("s3.PutObject", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: conflict}
		})
		if _, err := d.Decide(w.Context(), "always", "yes"); driver.ClassOf(err) != driver.Transient {
			t.Errorf("a conflict that does not end: %v", err)
		}
		stop()
		w.refuse("s3.PutObject")
		_, err := d.Decide(w.Context(), "denied", "yes")
		if driver.ClassOf(err) != driver.Denied || !strings.Contains(fmt.Sprint(err), "s3:PutObject and s3:GetObject") {
			t.Errorf("denied: %v", err)
		}
	})
}

// The bucket keeps decisions for 400 days, and a rule of other objects that deletes them earlier is an error.
func TestDecisionsAreKept(t *testing.T) {
	inWorld(t, func(w *world) {
		d := w.decisions("decisions/")
		if err := d.Ensure(w.Context(), driver.Never); err != nil {
			t.Error(err)
		}
		if n := w.calls(func() { _, _ = d.Decide(w.Context(), "x", "yes") }); n != 1 {
			t.Errorf("%d calls without a bucket", n)
		}
		w.ready(s3store.Options{Prefix: "bodies/"})
		for range 2 {
			if err := d.Ensure(w.Context(), driver.Auto); err != nil {
				t.Fatal(err)
			}
		}
		if n := w.calls(func() { w.ensureDecisions(d) }); n != 0 {
			t.Errorf("%d calls for decisions that were ensured", n)
		}
		place, err := w.open(s3store.Options{Prefix: "decisions/"}).Look(w.Context())
		if err != nil || place.Days != 400 || d.Lifetime() != 400*24*time.Hour {
			t.Errorf("%+v, %v, %v", place, d.Lifetime(), err)
		}
		if d.String() != "s3://payloads/decisions/" {
			t.Errorf("they are in %s", d)
		}
		w.ready(s3store.Options{}) // its rule is for the whole bucket
		err = w.decisions("decisions/").Ensure(w.Context(), driver.Verify)
		if driver.ClassOf(err) != driver.Permanent || !strings.Contains(fmt.Sprint(err), "after 60 days") {
			t.Errorf("with a rule for the whole bucket: %v", err)
		}
	})
}

func (w *world) ensureDecisions(d *s3store.Decisions) {
	w.Helper()
	if err := d.Ensure(w.Context(), driver.Auto); err != nil {
		w.Fatal(err)
	}
}

// Options that cannot be right are refused, and so are texts that are no names.
func TestDecisionsOptions(t *testing.T) {
	for says, o := range map[string]*s3store.Options{
		"Options.Prefix": {Bucket: bucket}, "Options.Lifetime": {Bucket: bucket, Prefix: "d/", Lifetime: time.Hour},
		"Sources":        {Bucket: bucket, Prefix: "d/", Sources: []s3store.Source{{Bucket: bucket}}},
		"Options.Bucket": {Prefix: "d/"},
	} {
		o.AWS = &aws.Config{}
		if _, err := s3store.OpenDecisions(t.Context(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if _, err := s3store.OpenDecisions(t.Context(), nil); err == nil {
		t.Error("no options were taken")
	}
	inWorld(t, func(w *world) {
		for _, name := range []string{"", "../x", "a b", "ü", strings.Repeat("x", 600)} {
			if _, err := w.decisions("d/").Decide(w.Context(), name, "yes"); driver.ClassOf(err) != driver.Permanent {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}
