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
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: a client does not survive the death of its broker. The test kills the broker (-9) and starts it again
// several times while records are sent and handled. No accepted record is lost, members handle records again within
// their session timeout and 15 s, and no more records are handled again than were in hand or not committed yet.
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
		j := newJournal(1 << 20)
		var newest atomic.Int64
		work := noting(j, func(ctx context.Context, d *godwit.Delivery) error {
			newest.Store(max(newest.Load(), int64(number(d))))
			return nap(ctx, 5*time.Millisecond)
		})
		for range 2 {
			w.start(o, godwit.ConsumerOptions{Concurrency: concurrency}, work)
		}
		// Starting the broker again may take a slow machine more than the producer's 20 s.
		patient := o
		patient.Client = []kgo.Opt{kgo.RecordDeliveryTimeout(2 * time.Minute)}
		stop := w.traffic(patient, every)
		w.eventually(60*time.Second, "traffic", func() bool { return newest.Load() > 100 })

		for kill := range kills {
			time.Sleep(3 * time.Second)
			// Records of the outage are handled faster than they were sent, so more of them would be in hand at a kill.
			w.eventually(60*time.Second, "the records of the outage are handled",
				func() bool { return w.uncommitted() < int64(2*time.Second/every) })
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
		w.eventually(60*time.Second, "all accepted records handled", func() bool {
			for _, n := range accepted {
				if !j.wasHandled(n) {
					return false
				}
			}
			return true
		})
		for _, p := range w.started {
			_, err := p.stop()
			// A member that has not got its partitions back since the kill does not know that the other one has
			// committed their records, and says so.
			if lost := (*driver.UnsettledError)(nil); err != nil && !errors.As(err, &lost) {
				t.Error(err)
			}
		}
		records, handlings := j.count()
		t.Logf("%d records, %d accepted, %d handled again", records, len(accepted), handlings-records)
		// A second until the commit, half a second for its request on a busy machine, and two members' handlers.
		if most := kills * (int(1500*time.Millisecond/every) + 2*concurrency); handlings-records > most {
			t.Errorf("%d records were handled again, want %d at most", handlings-records, most)
		}
	})
}

// The mistake: when its heartbeats fail, a member drops the records that it has finished. After a crash of the broker a
// running member then repeats its own work: all since the last commit, up to ten seconds if a commit was in flight.
// Here the broker is killed (-9) and started again while 10,000 records a second are handled, and only records in hand
// are handled again.
func TestBrokerKilledAtSpeed(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const records, concurrency = 60_000, 50
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, 1000)
		j := newJournal(records)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: concurrency}, noting(j,
			func(ctx context.Context, _ *godwit.Delivery) error { return nap(ctx, 5*time.Millisecond) }))
		w.eventually(60*time.Second, "a third handled", func() bool { n, _ := j.count(); return n > records/3 })
		w.kill()
		w.restart()
		w.eventually(2*time.Minute, "all records handled", j.all)
		report, err := p.stop()
		if err != nil || report.Unsettled != 0 {
			t.Errorf("%d unsettled, error %v", report.Unsettled, err)
		}
		_, handlings := j.count()
		t.Logf("%d handled again", handlings-records)
		if handlings-records > 2*concurrency {
			t.Errorf("%d records were handled again, want %d at most, those in hand", handlings-records, 2*concurrency)
		}
	})
}

// The mistake: a new group has no commit in its first second, so a member that loses its partitions then does not know
// its position when they return, and repeats all that it has handled. Here the broker is killed (-9) before the first
// interval of commits is over, and only records in hand are handled again.
func TestBrokerKilledInAGroupsFirstSecond(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const records, concurrency, partitions = 20_000, 20, 2
		w.create(partitions)
		w.ensure(kafka.Options{})
		w.fill(records, 1000)
		j := newJournal(records)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: concurrency}, noting(j,
			func(ctx context.Context, _ *godwit.Delivery) error { return nap(ctx, 5*time.Millisecond) }))
		w.eventually(60*time.Second, "some handled", func() bool { n, _ := j.count(); return n > 1500 })
		w.kill()
		w.restart()
		w.eventually(2*time.Minute, "all records handled", j.all)
		if report, err := p.stop(); err != nil || report.Unsettled != 0 {
			t.Errorf("%d unsettled, error %v", report.Unsettled, err)
		}
		_, handlings := j.count()
		t.Logf("%d handled again", handlings-records)
		if handlings-records > 2*concurrency {
			t.Errorf("%d records were handled again, want %d at most, those in hand", handlings-records, 2*concurrency)
		}
	})
}

// The mistake: a process that is stopped while its broker is down ends without an error, and thousands of records are
// delivered again. Here the report and the error have their number.
func TestStoppedWhileTheBrokerIsAway(t *testing.T) {
	for name, away := range map[string]time.Duration{
		"briefly":                       500 * time.Millisecond,
		"for longer than a session":     time.Minute,
		"for longer than many sessions": 10 * time.Minute,
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
				j := newJournal(records)
				work := noting(j, func(ctx context.Context, _ *godwit.Delivery) error {
					return nap(ctx, 5*time.Millisecond)
				})
				p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: concurrency}, work)
				w.eventually(60*time.Second, "a third of the records handled",
					func() bool { n, _ := j.count(); return n > records/3 })
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
				w.eventually(2*time.Minute, "all records handled", j.all)
				_, handlings := j.count()
				t.Logf("%v; %d handled again", err, handlings-records)
				if more := handlings - records - int(report.Unsettled); more < -concurrency || more > concurrency {
					t.Errorf("%d records were handled again, and the report says %d", handlings-records,
						report.Unsettled)
				}
			})
		})
	}
}

// The mistake: a process that is stopped while its broker is down tries its last commit once, and leaves the other 30 s
// of its ShutdownTimeout unused. Here the broker comes back within that time, and nothing is delivered again.
func TestStoppedUntilTheBrokerIsBack(t *testing.T) {
	for name, away := range map[string]time.Duration{
		"briefly":                   2 * time.Second,
		"for longer than a session": 20 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, func(t *testing.T, w *world) {
				if w.real() {
					t.Skip("the command that kills a real broker starts it again")
				}
				const records, concurrency = 40_000, 50
				w.create(2)
				w.ensure(kafka.Options{})
				w.fill(records, 1000)
				j := newJournal(records)
				work := noting(j, func(ctx context.Context, _ *godwit.Delivery) error {
					return nap(ctx, 5*time.Millisecond)
				})
				p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: concurrency}, work)
				w.eventually(60*time.Second, "a third of the records handled",
					func() bool { n, _ := j.count(); return n > records/3 })
				w.kill()
				time.AfterFunc(away, func() {
					if err := w.server.Start(); err != nil {
						t.Error(err)
					}
				})
				began := time.Now()
				if report, err := p.stop(); err != nil || report.Unsettled > 0 {
					t.Errorf("%d unsettled, error %v", report.Unsettled, err)
				}
				t.Logf("the stop took %v", time.Since(began))
				w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: concurrency}, work)
				w.eventually(2*time.Minute, "all records handled", j.all)
				if _, handlings := j.count(); handlings > records {
					t.Errorf("%d records were handled again", handlings-records)
				}
			})
		})
	}
}

// traffic sends a numbered record once in every period until stop is called. stop returns which records were accepted,
// and why the others were not.
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
				w.t.Errorf("record %d was refused: %v", n, err)
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

// uncommitted is the number of records that the group has not committed.
func (w *world) uncommitted() int64 {
	w.t.Helper()
	n := w.end(w.topic())
	for _, o := range w.committed() {
		n -= o.At
	}
	return n
}

// kill kills the broker. The command for a real broker also starts it again.
func (w *world) kill() {
	w.t.Helper()
	var err error
	switch command := os.Getenv(realRestart); {
	case !w.real():
		err = w.server.Kill(w.t.Context())
	case command == "":
		err = errors.New(realRestart +
			" is not set: it is a command that kills the broker (-9) and starts it again, as in .ci/kafka")
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
	time.Sleep(2 * time.Second) // the outage
	if err := w.server.Start(); err != nil {
		w.t.Fatal(err)
	}
}
