//go:build synctests

package kafka_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// A partition that goes to another member is drained first. Records that are settled while Revoked runs are committed,
// and are not delivered to the next owner.
func TestRevokedWithoutDrain(t *testing.T) {
	inWorld(t, func(w *world) {
		var l *life
		var held []driver.Delivery
		var revoked []*driver.Source
		events := driver.Events{Revoked: func(_ context.Context, sources []*driver.Source) {
			revoked = sources
			time.Sleep(3 * time.Second) // handlers still run
			for _, d := range held {
				for _, s := range sources {
					if d.Source == s {
						_ = l.recv.Settle(context.Background(), []driver.Settlement{{Handle: d.Handle}})
					}
				}
			}
		}}
		l = w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}, events)
		w.send(0, "a0", "b0")
		w.send(1, "a1", "b1")
		held = l.get(4)
		other := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}, driver.Events{})
		var wg sync.WaitGroup
		wg.Go(func() {
			if ds := other.within(1, 30*time.Second); len(ds) > 0 {
				w.Errorf("the new owner received %s again", texts(ds))
			}
		})
		l.within(1, 30*time.Second)
		wg.Wait()
		if len(revoked) != 1 {
			w.Errorf("%d sources were revoked, want 1", len(revoked))
		}
		w.send(0, "c0")
		w.send(1, "c1")
		if n := len(l.get(1)) + len(other.get(1)); n != 2 {
			w.Errorf("the two members received %d records", n)
		}
		other.end()
		l.end()
	})
}

// A lost partition is forgotten: none of its records is committed, and a late verdict has no effect.
func TestLostIsNotCommitted(t *testing.T) {
	inWorld(t, func(w *world) {
		lost := make(chan []*driver.Source, 1)
		l := w.begin(kafka.Options{}, driver.Events{Lost: func(s []*driver.Source, _ error) { lost <- s }})
		w.send(0, "a", "b")
		ds := l.get(2)
		w.expel("orders")
		l.within(1, 20*time.Second) // the same member gets the partition again, in a new epoch
		select {
		case s := <-lost:
			if len(s) != 1 || s[0] != ds[0].Source {
				w.Errorf("lost %v, want the source of the deliveries", s)
			}
		default:
			w.Fatal("no partition was lost")
		}
		l.settle(driver.Done, ds...)
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at > 0 {
			w.Errorf("committed %d of a lost partition", at)
		}
		l.end()
	})
}

// expel removes all members from a group, as a coordinator removes a silent member.
func (w *world) expel(group string) {
	w.Helper()
	described, err := w.admin.DescribeGroups(w.Context(), group)
	if err != nil {
		w.Fatal(err)
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	for _, m := range described[group].Members {
		one := kmsg.NewLeaveGroupRequestMember()
		one.MemberID = m.MemberID
		req.Members = append(req.Members, one)
	}
	if _, err := req.RequestWith(w.Context(), w.client); err != nil {
		w.Fatal(err)
	}
}

// Members join and leave, and no record is lost. As long as no member crashes, each record is handled once.
func TestRebalancesLoseNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		const n, partitions = 4000, 6
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: partitions, Retries: kafka.RetryPark}}
		w.begin(o, driver.Events{}).end()
		for i := range n {
			w.client.Produce(w.Context(), &kgo.Record{
				Topic: "orders", Partition: int32(i % partitions),
				Key: []byte(strconv.Itoa(i % 50)), Value: []byte(strconv.Itoa(i)),
			}, nil)
		}
		if err := w.client.Flush(w.Context()); err != nil {
			w.Fatal(err)
		}
		var mu sync.Mutex
		seen := map[string]int{}
		run := func(d time.Duration) {
			handling := make(chan struct{}, 1) // holds one element from a receive to its settlement
			l := w.begin(o, driver.Events{Revoked: func(context.Context, []*driver.Source) {
				handling <- struct{}{}
				<-handling
			}})
			for ends := time.Now().Add(d); time.Now().Before(ends); {
				handling <- struct{}{}
				ds, err := l.recv.Receive(w.Context(), driver.Ask{Max: 20}, nil)
				if err != nil {
					w.Error(err)
					return
				}
				mu.Lock()
				for _, d := range ds {
					seen[string(d.Body)]++
				}
				mu.Unlock()
				l.settle(driver.Done, ds...)
				<-handling
				time.Sleep(20 * time.Millisecond)
			}
			l.end()
		}
		var wg sync.WaitGroup
		wg.Go(func() { run(2 * time.Minute) })
		for i := range 4 {
			time.Sleep(3 * time.Second)
			wg.Go(func() { run(time.Duration(4+i) * time.Second) })
		}
		wg.Wait()
		if len(seen) != n {
			w.Errorf("%d of %d records were handled", len(seen), n)
		}
		twice := 0
		for _, times := range seen {
			if times > 1 {
				twice++
			}
		}
		if twice > 0 {
			w.Errorf("%d records were handled more than once, though every member drained", twice)
		}
	})
}

// A static member that restarts gets its partitions again without a rebalance.
func TestStaticMembersAreNotMissed(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Partitions: 2}, InstanceID: "a",
		}, driver.Events{})
		revoked := 0
		b := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Partitions: 2}, InstanceID: "b",
		}, driver.Events{Revoked: func(context.Context,
			[]*driver.Source,
		) {
			revoked++
		}})
		var wg sync.WaitGroup
		wg.Go(func() { a.within(1, 20*time.Second) })
		b.within(1, 20*time.Second)
		wg.Wait()
		revoked = 0
		a.end()
		b.within(1, 5*time.Second)
		a = w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Partitions: 2}, InstanceID: "a",
		}, driver.Events{})
		wg.Go(func() { a.within(1, 20*time.Second) })
		b.within(1, 20*time.Second)
		wg.Wait()
		if revoked > 0 {
			w.Errorf("%d revocations because of a restart", revoked)
		}
		a.end()
		b.end()
	})
}
