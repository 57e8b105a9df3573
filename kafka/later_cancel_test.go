//go:build synctests

package kafka_test

import (
	"context"
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

// Wakes, cancels and operators who send on at the same time, and wakers that are killed at any request, agree on each
// message: it is delivered once unless it was cancelled, and before its time if an operator has sent it on.
func TestSendNowRaces(t *testing.T) {
	for _, kind := range []kmsg.Key{kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn} {
		t.Run(kmsg.NameForKey(kind.Int16()), func(t *testing.T) {
			inWorld(t, func(w *world) {
				o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}
				first := w.begin(o, driver.Events{})
				other := w.begin(o, driver.Events{})
				const n = 24
				due := time.Now().Add(5 * time.Minute)
				ids, cancelled, sends := make([]string, n), make([]bool, n), make([]bool, n)
				for i := range n {
					ids[i] = first.cancellable(fmt.Sprint(i), time.Until(due))
				}
				begin := time.Now().Add(time.Minute)
				var once sync.Once
				w.cluster.ControlKey(kind.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
					w.cluster.KeepControl()
					if time.Now().After(begin.Add(time.Second)) {
						once.Do(func() { go first.crash() })
					}
					return nil, nil, false
				})
				do := driver.OperationsOf(other.b)
				var wg sync.WaitGroup
				ask := func(answer *bool, after time.Duration, id string,
					call func(context.Context, driver.Channel, string) (bool, error),
				) {
					wg.Go(func() {
						time.Sleep(time.Until(begin) + after)
						for {
							got, err := call(w.Context(), orders, id)
							if err == nil {
								*answer = got
								return
							}
							time.Sleep(time.Second)
						}
					})
				}
				for i := range n {
					at := time.Duration(i/4) * time.Second
					if i%4 != 0 {
						ask(&sends[i], at+time.Duration(i%4)*20*time.Millisecond, ids[i], do.SendNow)
					}
					if i%4 != 1 {
						ask(&cancelled[i], at+40*time.Millisecond, ids[i], do.Cancel)
					}
				}
				wg.Wait()
				time.Sleep(time.Until(due) - time.Minute)
				soon := w.committedBodies("orders")
				time.Sleep(2 * time.Minute)
				w.cluster.Compact()
				delivered := w.committedBodies("orders")
				for i := range n {
					body := fmt.Sprint(i)
					times := 0
					for _, one := range delivered {
						if one == body {
							times++
						}
					}
					if cancelled[i] && times != 0 || !cancelled[i] && times != 1 ||
						sends[i] && !slices.Contains(soon, body) || sends[i] && cancelled[i] {
						t.Errorf("message %d was cancelled: %v, sent on: %v, delivered %d times, in time: %v", i,
							cancelled[i], sends[i], times, slices.Contains(soon, body))
					}
				}
				if !slices.Contains(sends, true) || !slices.Contains(cancelled, true) {
					t.Errorf("sent on: %v; cancelled: %v", sends, cancelled)
				}
				other.end()
			})
		})
	}
}

// A message that nobody can cancel is sent on at any time, by the id with which it is listed, also if nobody is awake
// at first. One that can be cancelled is not sent on while a cancel would not see it.
func TestSendNow(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		day := 24 * time.Hour
		l.put(orders, driver.Message{Body: []byte("plain"), OrderKey: "k", Delay: 30 * day})
		guarded := l.cancellable("guarded", day)
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		do := driver.OperationsOf(l.b)
		plain := l.waits("guarded", "plain")[1].Delivery.ID
		is := func(id string, want bool) {
			t.Helper()
			if got, err := do.SendNow(w.Context(), orders, id); err != nil || got != want {
				t.Errorf("sent on: %v, %v; want %v", got, err, want)
			}
		}
		if _, err := do.SendNow(w.Context(), orders, guarded); driver.ClassOf(err) != driver.Permanent ||
			!strings.Contains(err.Error(), "cancel it") {
			t.Errorf("too early: %v", err)
		}
		is(plain, true)
		is(plain, true)
		l.waits("plain", "guarded")
		w.cluster.Compact()
		time.Sleep(time.Hour)
		l.open(driver.Events{})
		begun := time.Now()
		ds := l.get(1)
		if w.same(ds, "plain"); time.Since(begun) > 30*time.Second || ds[0].OrderKey != "k" {
			t.Errorf("%+v was delivered after %v", ds[0], time.Since(begun))
		}
		l.settle(driver.Done, ds...)
		l.waits("guarded")
		is(plain, false)
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(day - time.Hour - 9*time.Minute)
		l.open(driver.Events{})
		time.Sleep(30 * time.Second)
		is(guarded, true)
		w.same(l.within(1, 5*time.Second), "guarded")
		is(guarded, false)
		if cancelled, err := do.Cancel(w.Context(), orders, guarded); cancelled || err != nil {
			t.Errorf("cancelled after it was sent on: %v, %v", cancelled, err)
		}
		l.end()
	})
}
