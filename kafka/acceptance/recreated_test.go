//go:build synctests

package acceptance

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: after a topic was deleted and created again, the consumer requests the topic with the old id, thousands
// of times a second, for good. Godwit logs the change once, makes no more requests than usual, and handles records of
// the new topic within 30 s.
func TestTopicRecreated(t *testing.T) {
	for name, gone := range map[string]time.Duration{"at once": 0, "later": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				var said atomic.Int64
				o := kafka.Options{Logger: logged(func(level slog.Level, line string) {
					if level == slog.LevelError && strings.Contains(line, "created again") {
						said.Add(1)
					}
				})}
				o.Partitions = 2
				w.create(2)
				w.ensure(o)
				j := newJournal(1 << 20)
				var newest atomic.Int64
				p := w.start(o, godwit.ConsumerOptions{}, noting(j, func(_ context.Context, d *godwit.Delivery) error {
					newest.Store(max(newest.Load(), int64(number(d))))
					return nil
				}))
				stop := w.traffic(kafka.Options{
					ChannelOptions: kafka.ChannelOptions{Partitions: 2},
				}, 20*time.Millisecond)
				w.eventually(60*time.Second, "traffic", func() bool { return newest.Load() > 100 })

				requests := w.requests()
				if _, err := w.admin.DeleteTopics(t.Context(), w.topic()); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				time.Sleep(gone)
				w.eventually(30*time.Second, "the topic exists again", func() bool {
					// this fails if the consumer has already created it
					_, _ = w.admin.CreateTopic(t.Context(), 2, 1, nil, w.topic())
					topics, err := w.admin.ListTopics(t.Context(), w.topic())
					return err == nil && topics.Has(w.topic()) && topics[w.topic()].Err == nil
				})
				mark := newest.Load()
				w.eventually(30*time.Second, "records of the new topic handled",
					func() bool { return newest.Load() > mark+100 })
				took := time.Since(began)
				asked := requests()
				t.Logf("handled again after %v, %d requests, logged %d times", took, asked, said.Load())
				// 50 records a second are sent, each with a fetch of its own
				if most := int64(300 + 200*took.Seconds()); asked > most {
					t.Errorf("%d requests in %v, want %d at most", asked, took, most)
				}
				if n := said.Load(); n != 1 {
					t.Errorf("it was logged %d times, want once", n)
				}
				if _, errs := stop(); len(errs) > int((gone+2*time.Second)/(20*time.Millisecond)) {
					t.Errorf("%d records were not accepted, the last: %v", len(errs), errs[len(errs)-1])
				}
				if _, err := p.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// requests counts the requests to the broker from now on. A real broker does not report them: 0.
func (w *world) requests() func() int64 {
	var n atomic.Int64
	if !w.real() {
		w.server.Cluster().Control(func(kmsg.Request) (kmsg.Response, error, bool) {
			n.Add(1)
			return nil, nil, false
		})
	}
	return n.Load
}
