package demo

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

const testSeed = 7

// sums are the numbers that a seed determines, for the whole and for each channel. Requests and time depend on
// scheduling.
type sums struct {
	Sent, Handled, Retried, Dead, Lost, Left, Twice, OutOfOrder int
	Channels                                                    []Channel
}

func sumsOf(r *Report) sums {
	s := sums{r.Sent, r.Handled, r.Retried, r.Dead, r.Lost, r.Left, r.Twice, r.OutOfOrder, nil}
	for _, c := range r.Channels {
		c.Requests, c.RequestsPerMessage = 0, 0
		s.Channels = append(s.Channels, c)
	}
	return s
}

// foretold computes what happens to wishes 1 to n if nothing goes wrong, from filters and fates.
func foretold(n int) sums {
	s := sums{Sent: n, Handled: n}
	dead := map[int]bool{}
	for _, b := range newBranches() {
		c := Channel{Name: b.channel()}
		for number := 1; number <= n; number++ {
			if !b.wants(wishOf(testSeed, number, "").Item) {
				continue
			}
			c.Sent++
			switch f := fateOf(testSeed, b.index, number); f {
			case hopeless:
				c.Dead++
				dead[number] = true
			default:
				c.Handled++
				c.Retried += int(f)
			}
		}
		s.Retried += c.Retried
		s.Channels = append(s.Channels, c)
	}
	s.Dead = len(dead)
	s.Handled -= s.Dead
	whole := Channel{Name: exchange + ".*", Sent: s.Sent, Handled: s.Handled, Retried: s.Retried, Dead: s.Dead}
	s.Channels = append([]Channel{whole}, s.Channels...)
	return s
}

func TestRunAccountsForEveryWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		report, err := Run(t.Context(), &Options{Messages: n, Seed: testSeed, Progress: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(foretold(n), sumsOf(report)); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", testSeed, diff)
		}
		rest := report.Requests
		for _, c := range report.Channels {
			rest -= c.Requests
			if c.Dead+c.Retried == 0 || c.RequestsPerMessage <= 0 || c.RequestsPerMessage > 2 {
				t.Errorf("%+v: want some of every kind, and a number of requests", c)
			}
		}
		if rest != 0 {
			t.Errorf("%d of %d requests belong to no channel", rest, report.Requests)
		}
	})
}

// Another client receives and deletes one wish. The report must show the loss, on that channel and in total.
func TestRunTellsALoss(t *testing.T) {
	for stolen, b := range newBranches() {
		t.Run(b.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 100
				var thief sync.WaitGroup
				report, err := Run(t.Context(),
					&Options{Messages: n, Seed: testSeed, Progress: io.Discard, started: func(j *job) {
						q := j.branches[stolen].queues(j.backend.Server())[0]
						gone := make(chan struct{})
						j.backend.Server().Control("sqs.ReceiveMessage",
							func(ctx context.Context, _ *localaws.Request) localaws.Outcome {
								select { // no consumer receives before the other client has
								case <-gone:
								case <-ctx.Done():
								}
								return localaws.Outcome{}
							})
						thief.Go(func() {
							defer close(gone)
							steal(t, q)
						})
					}})
				thief.Wait()
				if err != nil {
					t.Fatal(err)
				}
				if report.Lost != 1 || report.Sent != n || report.Handled+report.Dead != n-1 {
					t.Errorf("seed %d, one of %d wishes stolen: %+v, want one lost and all others ended", testSeed, n,
						sumsOf(report))
				}
				for i, c := range report.Channels[1:] {
					if want := map[bool]int{true: 1}[i == stolen]; c.Lost != want {
						t.Errorf("%s lost %d, want %d", c.Name, c.Lost, want)
					}
				}
				var table strings.Builder
				if err := report.WriteTable(&table); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(table.String(), "1 LOST") {
					t.Errorf("the table does not show the loss:\n%s", &table)
				}
			})
		})
	}
}

func steal(t *testing.T, q *queue.Queue) {
	got, err := q.Receive(t.Context(), queue.Receive{Max: 1, Wait: time.Minute, Visibility: time.Minute})
	if err != nil || len(got) != 1 {
		t.Errorf("the other client got %d wishes: %v", len(got), err)
		return
	}
	if err := q.DeleteMessage(got[0].Handle); err != nil {
		t.Errorf("the other client could not delete: %v", err)
	}
}

// Without a number, the demonstration sends for its time, at its rate.
func TestRunForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, err := Run(t.Context(), &Options{For: 2 * time.Second, Seed: testSeed, Progress: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 * perSecond; report.Sent < want || report.Sent > want+senders {
			t.Errorf("sent %d in two seconds, want %d, and at most one more by each of %d senders", report.Sent, want,
				senders)
		}
		if diff := cmp.Diff(foretold(report.Sent), sumsOf(report)); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", testSeed, diff)
		}
	})
}

// An interrupted run stops sending, handles the wishes that were sent, and returns a report.
func TestRunInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithTimeout(t.Context(), time.Second)
		defer interrupt()
		report, err := Run(ctx, &Options{For: time.Hour, Seed: testSeed, Progress: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if report.Sent == 0 {
			t.Error("nothing was sent in a second")
		}
		if diff := cmp.Diff(foretold(report.Sent), sumsOf(report)); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", testSeed, diff)
		}
	})
}

// Wishes that cannot be handled in time are counted as left, not as lost.
func TestRunInterruptedLeavesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithTimeout(t.Context(), time.Second)
		defer interrupt()
		report, err := Run(ctx, &Options{For: time.Hour, Seed: testSeed, Progress: io.Discard, started: func(j *job) {
			j.backend.Server().Control("sqs.ReceiveMessage", func(context.Context, *localaws.Request) localaws.Outcome {
				return localaws.Outcome{Err: &wire.Error{Code: "InternalError", Status: 500, Fault: true}}
			})
		}})
		if err != nil {
			t.Fatal(err)
		}
		if report.Sent == 0 || report.Left != report.Sent || report.Lost != 0 {
			t.Errorf("nothing could be received: %+v, want all that was sent to be left", sumsOf(report))
		}
		if want := (time.Second + graceful).Seconds(); report.Seconds < want {
			t.Errorf("took %v s, want at least %v: an interrupted run goes on for a while", report.Seconds, want)
		}
	})
}

// A send that is refused permanently ends the run with its error, and leaves no goroutine running.
func TestRunFailsWithTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &wire.Error{Code: "AuthorizationError", Message: "no", Status: 403}
		_, err := Run(t.Context(), &Options{Messages: 10, Seed: testSeed, Progress: io.Discard, started: func(j *job) {
			j.backend.Server().Control("sns.PublishBatch", func(context.Context, *localaws.Request) localaws.Outcome {
				return localaws.Outcome{Err: refused}
			})
		}})
		var denied *driver.Error
		if !errors.As(err, &denied) || denied.Class != driver.Denied {
			t.Errorf("error %v, want one of class %v", err, driver.Denied)
		}
	})
}

// If a queue gets a wish that its filter refuses, the run ends: the demonstration checks the service's filter.
func TestRunFailsWithAFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := Run(t.Context(), &Options{Messages: 50, Seed: testSeed, Progress: io.Discard, started: func(j *job) {
			// The consumer's filter changes; the filter of the subscription does not.
			j.branches[2].filter.Exact = []string{"MOBILE.NOKIA"}
		}})
		if err == nil || !strings.Contains(err.Error(), "received MOBILE.APPLE") {
			t.Errorf("error %v, want one that names the key", err)
		}
	})
}
