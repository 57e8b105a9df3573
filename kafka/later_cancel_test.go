//go:build synctests

package kafka_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// cancellable sends a message that can be cancelled, and returns its id.
func (l *life) cancellable(body string, delay time.Duration) string {
	l.w.Helper()
	s, err := l.b.Sender(l.w.Context(), orders)
	if err != nil {
		l.w.Fatal(err)
	}
	defer func() { _ = s.Close(l.w.Context()) }()
	p, err := s.Prepare(l.w.Context(), &driver.Message{
		Body: []byte(body), OrderKey: body, Delay: delay, Cancellable: true,
	})
	if err != nil {
		l.w.Fatal(err)
	}
	p.Receipt = &driver.Receipt{}
	if err := s.Send(l.w.Context(), []driver.Prepared{p}); err != nil {
		l.w.Fatal(err)
	}
	return p.Receipt.CancelID
}

// Programs that cancel at the time of the wake, and wakers that are killed at any request, agree on each message: it is
// never delivered if a program was told that it is cancelled, and it is if it was told that it was too late. All
// answers about a message are the same, also later, and after compaction.
func TestCancelRaces(t *testing.T) {
	for _, kind := range []kmsg.Key{kmsg.Produce, kmsg.Fetch, kmsg.TxnOffsetCommit, kmsg.EndTxn} {
		t.Run(kmsg.NameForKey(kind.Int16()), func(t *testing.T) {
			inWorld(t, func(w *world) {
				o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}
				first := w.begin(o, driver.Events{})
				other := w.begin(o, driver.Events{})
				const n = 24
				ids, answers := make([]string, n), make([]bool, n)
				due := time.Now().Add(time.Minute)
				for i := range n {
					ids[i] = first.cancellable(fmt.Sprint(i), time.Until(due))
				}
				var once sync.Once
				w.cluster.ControlKey(kind.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
					w.cluster.KeepControl()
					if time.Now().After(due) {
						once.Do(func() { go first.crash() })
					}
					return nil, nil, false
				})
				cancel := func(l *life, i int) (answer, known bool) {
					answer, err := driver.OperationsOf(l.b).Cancel(w.Context(), orders, ids[i])
					return answer, err == nil
				}
				time.Sleep(time.Until(due) - 3*time.Second)
				var wg sync.WaitGroup
				for i := range n {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * 250 * time.Millisecond) // from before the wake to behind it
						for {
							answer, known := cancel(other, i)
							if answers[i] = answer; known {
								return
							}
							time.Sleep(time.Second)
						}
					})
				}
				wg.Wait()
				time.Sleep(3 * time.Minute)
				w.cluster.Compact()
				delivered := w.committedBodies("orders")
				told := 0
				for i := range n {
					if got := slices.Contains(delivered, fmt.Sprint(i)); got == answers[i] {
						w.Errorf("message %d was delivered: %v, and cancelled: %v", i, got, answers[i])
					}
					if again, known := cancel(other, i); !known || again != answers[i] {
						w.Errorf("message %d was cancelled: %v, and now: %v, %v", i, answers[i], again, known)
					}
					if answers[i] {
						told++
					}
				}
				if told == 0 || told == n || len(delivered) != n-told {
					w.Errorf("%d of %d messages were cancelled, and %d delivered", told, n, len(delivered))
				}
				other.end()
			})
		})
	}
}

// Nobody needs to be awake to cancel, and an answer stays the same.
func TestCancelWhileNobodyIsAwake(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		gone, stays := l.cancellable("gone", time.Hour), l.cancellable("stays", time.Hour)
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		is := func(id string, want bool) {
			t.Helper()
			if got, err := driver.OperationsOf(l.b).Cancel(w.Context(), orders, id); err != nil || got != want {
				t.Errorf("cancelled: %v, %v; want %v", got, err, want)
			}
		}
		is(gone, true)
		is(gone, true)
		time.Sleep(2 * time.Hour)
		l.open(driver.Events{})
		w.same(l.get(1), "stays")
		is(stays, false)
		is(gone, true)
		// Four weeks after its time nothing is read, and so an id with an older time is too late.
		parts := strings.Split(gone, ".")
		parts[2] = strconv.FormatInt(time.Now().Add(-29*24*time.Hour).Unix(), 10)
		is(strings.Join(parts, "."), false)
		_, err := driver.OperationsOf(l.b).Cancel(w.Context(), orders, strings.Replace(gone, ".", "x.", 1))
		if err == nil || driver.ClassOf(err) != driver.Permanent || errors.Is(err, driver.ErrClosed) {
			t.Errorf("no id: %v", err)
		}
	})
}
