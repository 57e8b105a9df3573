//go:build synctests

package acceptance

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: a consumer trusts the metadata of a commit, whoever wrote it, and skips records that were not handled.
// Here metadata that is invalid in any way is ignored, and all records from the committed offset on are handled once.
// Only metadata that Godwit wrote for this offset of this log is used.
func TestHostileMetadata(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, stuck = 100, 10
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, records)
		genuine := w.genuine(stuck, records)
		t.Logf("metadata: %q", genuine)

		middle := len(genuine) / 2
		flipped := []byte(genuine)
		flipped[middle] ^= 1
		for name, c := range map[string]struct {
			at       int64
			metadata string
			want     int // records handled
		}{
			"genuine":               {stuck, genuine, 1},
			"none":                  {stuck, "", records - stuck},
			"of an earlier offset":  {stuck + 10, genuine, records - stuck - 10},
			"of a later offset":     {stuck - 5, genuine, records - stuck + 5},
			"cut short":             {stuck, genuine[:len(genuine)-1], records - stuck},
			"only its beginning":    {stuck, genuine[:min(4, len(genuine))], records - stuck},
			"one bit changed":       {stuck, string(flipped), records - stuck},
			"with a suffix":         {stuck, genuine + "A", records - stuck},
			"twice":                 {stuck, genuine + genuine, records - stuck},
			"in lower case":         {stuck, strings.ToLower(genuine), records - stuck},
			"of another library":    {stuck, `{"version":1,"highest":99}`, records - stuck},
			"of Kafka Streams":      {stuck, "AgAAAAAAAAAAZA==", records - stuck},
			"of the maximum length": {stuck, strings.Repeat("A", 4096), records - stuck},
			"its beginning, and a long rest": {
				stuck, genuine[:min(4, len(genuine))] + strings.Repeat("/", 4000),
				records - stuck,
			},
			"not ASCII": {stuck, "ä\x00🐦", records - stuck},
		} {
			w.commit(0, c.at, c.metadata)
			j := newJournal(records)
			p := w.start(kafka.Options{}, godwit.ConsumerOptions{}, noting(j,
				func(context.Context, *godwit.Delivery) error { return nil }))
			w.eventually(60*time.Second, name+": all records committed",
				func() bool { return w.committed()[0].At == records })
			if _, err := p.stop(); err != nil {
				t.Errorf("metadata %s: %v", name, err)
			}
			if n, handlings := j.count(); n != c.want || handlings != c.want {
				t.Errorf("metadata %s: %d records were handled %d times, want %d", name, n, handlings, c.want)
			}
		}
	})
}

// Metadata of another partition, or of the topic before it was deleted and created again, is not used, because it is
// about another log.
func TestMetadataOfAnotherLog(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, stuck = 100, 10
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, records)
		genuine := w.genuine(stuck, records)
		if _, err := w.admin.DeleteTopics(t.Context(), w.topic()); err != nil {
			t.Fatal(err)
		}
		w.eventually(30*time.Second, "the topic created again", func() bool {
			all, err := w.admin.CreateTopic(t.Context(), 1, 1, nil, w.topic())
			return err == nil && all.Err == nil
		})
		w.eventually(30*time.Second, "the topic listed", func() bool {
			topics, err := w.admin.ListTopics(t.Context(), w.topic())
			return err == nil && topics.Has(w.topic()) && topics[w.topic()].Err == nil
		})
		w.client = w.newClient() // a client that does not know the old topic
		w.admin = kadm.NewClient(w.client)
		w.fill(records, records)
		if w.real() { // it deletes the commits of a deleted topic by the topic's name, some time later
			w.eventually(30*time.Second, "the commits of the old topic deleted",
				func() bool { return len(w.committed()) == 0 })
		}
		w.commit(0, stuck, genuine)
		j := newJournal(records)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{}, noting(j,
			func(context.Context, *godwit.Delivery) error { return nil }))
		w.eventually(60*time.Second, "all records committed", func() bool { return w.committed()[0].At == records })
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if n, _ := j.count(); n != records-stuck {
			t.Errorf("%d records were handled, want %d", n, records-stuck)
		}
	})
}

// bareText is the greatest length of metadata without finished records.
const bareText = 17

// genuine returns the metadata that Godwit commits when all records but the stuck one are finished.
func (w *world) genuine(stuck, records int) string {
	w.t.Helper()
	p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: 4, ShutdownTimeout: 10 * time.Second},
		func(ctx context.Context, d *godwit.Delivery) error {
			if number(d) == stuck {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		})
	before := ""
	w.eventually(60*time.Second, "metadata with all other records", func() bool {
		o := w.committed()[0]
		same := o.At == int64(stuck) && len(o.Metadata) > bareText && o.Metadata == before
		before = o.Metadata
		if !same {
			time.Sleep(2 * time.Second) // the next commit
		}
		return same
	})
	if _, err := p.stop(); err != nil {
		w.t.Error(err)
	}
	o := w.committed()[0]
	if o.At != int64(stuck) {
		w.t.Fatalf("%d is committed, want %d", o.At, stuck)
	}
	return o.Metadata
}

// numbers counts how often each record was handled, by its number.
type numbers struct {
	mu  sync.Mutex
	all map[int]int
}

func (ns *numbers) handler() godwit.Handler {
	return func(_ context.Context, d *godwit.Delivery) error {
		ns.mu.Lock()
		defer ns.mu.Unlock()
		if ns.all == nil {
			ns.all = map[int]int{}
		}
		ns.all[number(d)]++
		return nil
	}
}

// are fails the test unless exactly the records from one number up to another were handled, once each.
func (ns *numbers) are(t *testing.T, from, to int) {
	t.Helper()
	want := map[int]int{}
	for n := from; n < to; n++ {
		want[n] = 1
	}
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if diff := cmp.Diff(want, ns.all, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("handled (-want +got):\n%s", diff)
	}
}
