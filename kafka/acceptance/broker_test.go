//go:build synctests

package acceptance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: a client does not live through its broker's death. The broker is killed (-9) and started again in the
// midst of traffic, again and again: nothing that was accepted is lost, members handle again within their session
// timeout and 15 s, and what is handled again is no more than what was in hand or not yet committed.
func TestBrokerKilled(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const concurrency, session = 20, 10 * time.Second
		kills := 3
		if testing.Short() {
			kills = 1
		}
		const every = 2 * time.Millisecond // a record
		o := kafka.Options{SessionTimeout: session}
		w.create(4)
		w.ensure(o)
		b := newBooks(1 << 20)
		var newest atomic.Int64
		work := keeping(b, func(ctx context.Context, d *godwit.Delivery) error {
			newest.Store(max(newest.Load(), int64(number(d))))
			return nap(ctx, 5*time.Millisecond)
		})
		for range 2 {
			w.start(o, godwit.ConsumerOptions{Concurrency: concurrency}, work)
		}
		// senders wait for as long as the machine takes to start the broker again: 20 s is not always enough
		patient := o
		patient.Client = []kgo.Opt{kgo.RecordDeliveryTimeout(2 * time.Minute)}
		stop := w.traffic(patient, every)
		w.eventually(60*time.Second, "traffic", func() bool { return newest.Load() > 100 })

		for kill := range kills {
			time.Sleep(3 * time.Second)
			// What was sent while it was away is handled faster than it was sent, and more of it is in hand.
			w.eventually(60*time.Second, "what had waited for the broker is handled",
				func() bool { return w.behind() < int64(2*time.Second/every) })
			w.kill()
			before := newest.Load()
			w.restart()
			began := time.Now()
			w.eventually(session+15*time.Second, "records are handled again",
				func() bool { return newest.Load() > before+100 })
			t.Logf("kill %d: handled again after %v", kill, time.Since(began))
		}
		accepted, errs := stop()
		for _, err := range errs {
			t.Error(err)
		}
		w.eventually(60*time.Second, "everything accepted handled", func() bool {
			for _, n := range accepted {
				if !b.was(n) {
					return false
				}
			}
			return true
		})
		for _, p := range w.started {
			if _, err := p.stop(); err != nil {
				t.Error(err)
			}
		}
		records, handlings := b.count()
		t.Logf("%d records, %d accepted, %d handled again", records, len(accepted), handlings-records)
		// A second's commit and its way, what runs, and what a busy machine adds.
		if most := kills * (int(1500*time.Millisecond/every) + 2*concurrency); handlings-records > most {
			t.Errorf("%d records were handled again, want %d at most", handlings-records, most)
		}
	})
}

// The mistake: what a member has finished is dropped when its heartbeats fail, so that a crash of the broker makes a
// living member repeat its own work: all of it since the last commit, up to ten seconds' when a commit was on its way.
// At 10,000 records/s, the broker is killed (-9) and started again in their midst: no more is handled again than
// handlers had in hand.
func TestBrokerKilledAtSpeed(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const records, concurrency = 60_000, 50
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, 1000)
		b := newBooks(records)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: concurrency}, keeping(b,
			func(ctx context.Context, _ *godwit.Delivery) error { return nap(ctx, 5*time.Millisecond) }))
		w.eventually(60*time.Second, "a third is handled", func() bool { n, _ := b.count(); return n > records/3 })
		w.kill()
		w.restart()
		w.eventually(2*time.Minute, "everything handled", b.all)
		report, err := p.stop()
		if err != nil || report.Unsettled != 0 {
			t.Errorf("%d unsettled, error %v", report.Unsettled, err)
		}
		_, handlings := b.count()
		t.Logf("%d handled again", handlings-records)
		if handlings-records > 2*concurrency {
			t.Errorf("%d records were handled again, want %d at most: what was in hand", handlings-records, 2*concurrency)
		}
	})
}

// The mistake: a process that is stopped while its broker is away ends as if all were well, and thousands of records
// are delivered again. Report and error say how many.
func TestStoppedWhileTheBrokerIsAway(t *testing.T) {
	for name, away := range map[string]time.Duration{
		"just now":                       500 * time.Millisecond,
		"for longer than a session":      time.Minute,
		"for longer than many a session": 10 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, func(t *testing.T, w *world) {
				if w.real() {
					t.Skip("the command that kills a real broker starts it again")
				}
				const records, concurrency = 40_000, 50
				w.create(1)
				w.ensure(kafka.Options{})
				w.fill(records, 1000)
				b := newBooks(records)
				work := keeping(b, func(ctx context.Context, _ *godwit.Delivery) error {
					return nap(ctx, 5*time.Millisecond)
				})
				p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: concurrency}, work)
				w.eventually(60*time.Second, "a third is handled",
					func() bool { n, _ := b.count(); return n > records/3 })
				w.kill()
				time.Sleep(away)
				report, err := p.stop()
				if report.Unsettled == 0 || err == nil {
					t.Errorf("%d unsettled, error %v", report.Unsettled, err)
				}
				if err := w.server.Start(); err != nil {
					t.Fatal(err)
				}
				w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: concurrency}, work)
				w.eventually(2*time.Minute, "everything handled", b.all)
				_, handlings := b.count()
				t.Logf("%v; %d handled again", err, handlings-records)
				if more := handlings - records - int(report.Unsettled); more < -concurrency || more > concurrency {
					t.Errorf("%d records were handled again, and the report says %d", handlings-records,
						report.Unsettled)
				}
			})
		})
	}
}

// traffic sends a numbered record every so often until it is stopped, which tells which records were accepted and why
// others were not.
func (w *world) traffic(o kafka.Options, every time.Duration) (stop func() (accepted []int, errs []error)) {
	w.t.Helper()
	backend := w.open(o, nil)
	p, err := godwit.NewProducer(w.t.Context(), backend, channel, &godwit.ProducerOptions{
		RetryFor: time.Minute,
		Buffer:   1 << 17,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	end, ended := make(chan struct{}), make(chan struct{})
	var results []*godwit.Result
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			case <-time.After(every):
			}
			r, err := p.SendAsync(context.Background(), godwit.Message{
				OrderKey: "k" + strconv.Itoa(n%200),
				Body:     []byte(strconv.Itoa(n)),
			})
			if err != nil {
				w.t.Errorf("record %d was not taken: %v", n, err)
			}
			results = append(results, r)
		}
	}()
	return func() (accepted []int, errs []error) {
		close(end)
		<-ended
		for n, r := range results {
			if r == nil {
				continue
			}
			if err := r.Wait(context.Background()); err != nil {
				errs = append(errs, fmt.Errorf("record %d was not accepted: %w", n, err))
			} else {
				accepted = append(accepted, n)
			}
		}
		if err := p.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
		w.close(backend)
		return accepted, errs
	}
}

// behind is how many records are not committed.
func (w *world) behind() int64 {
	w.t.Helper()
	n := w.end(w.topic())
	for _, o := range w.committed() {
		n -= o.At
	}
	return n
}

// kill kills the broker; a real one comes back with the same command.
func (w *world) kill() {
	w.t.Helper()
	var err error
	switch command := os.Getenv(realRestart); {
	case !w.real():
		err = w.server.Kill(w.t.Context())
	case command == "":
		err = errors.New("no " + realRestart +
			": it is a command that kills the broker (-9) and starts it again, as .ci/kafka has one")
	default:
		var out []byte
		if out, err = exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			w.t.Logf("%s", out)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) restart() {
	w.t.Helper()
	if w.real() {
		return
	}
	time.Sleep(2 * time.Second) // it is away for a while
	if err := w.server.Start(); err != nil {
		w.t.Fatal(err)
	}
}
