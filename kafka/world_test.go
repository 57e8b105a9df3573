//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// world is a broker in memory, with a client of the test's own, in a bubble of virtual time.
type world struct {
	*testing.T
	cluster *kfake.Cluster
	network *kfake.VirtualNetwork
	client  *kgo.Client
	admin   *kadm.Client
	former  bool // processes that begin are of a version that names tiers and dead letters without the group
}

func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	inWorldOf(t, 1, f)
}

// inWorldOf is inWorld with several brokers.
func inWorldOf(t *testing.T, brokers int, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, network: &kfake.VirtualNetwork{}}
		var err error
		ports := make([]int, brokers)
		for i := range ports {
			ports[i] = 9092 + i
		}
		if w.cluster, err = kfake.NewCluster(kfake.Ports(ports...), kfake.ListenFn(w.network.Listen)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.cluster.Close)
		w.client, err = kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
			kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.client.Close)
		w.admin = kadm.NewClient(w.client)
		f(w)
	})
}

// life is one process: a backend whose connections a test can cut all at once, as a crash does.
type life struct {
	w    *world
	b    *kafka.Backend
	recv driver.Receiver
	wire *cutter

	errors int // failed receives; all of the errors are temporary
}

// begin starts a process. Its channel is orders, with one partition unless o has another number.
func (w *world) begin(o kafka.Options, events driver.Events) *life {
	w.Helper()
	l := &life{w: w, wire: &cutter{dial: w.network.DialContext}}
	o.Brokers = w.cluster.ListenAddrs()
	o.Client = append(o.Client, kgo.Dialer(l.wire.DialContext))
	if o.Partitions == 0 {
		o.Partitions = 1
	}
	var err error
	if l.b, err = kafka.Open(w.Context(), &o); err != nil {
		w.Fatal(err)
	}
	if w.former {
		l.b.UseFormerNames()
	}
	if err := l.b.Ensure(w.Context(), driver.ChannelSpec{Channel: orders, Owner: true}); err != nil {
		w.Fatal(err)
	}
	l.open(events)
	w.Cleanup(func() { // if the test ended early
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = errors.Join(l.recv.Close(ctx), l.b.Close(ctx))
		if l.wire.gone() {
			time.Sleep(5 * time.Minute) // a client without answers gives up in the end
		}
	})
	return l
}

var orders = driver.Channel{Queue: "orders"} // o decides whether it is ordered

func (l *life) open(events driver.Events) {
	l.w.Helper()
	var err error
	if l.recv, err = l.b.Receiver(l.w.Context(), orders, driver.ReceiverOptions{
		Concurrency: 10, Wait: time.Second,
		Events: events,
	}); err != nil {
		l.w.Fatal(err)
	}
}

// end closes the receiver and the backend.
func (l *life) end() {
	l.w.Helper()
	if err := errors.Join(l.recv.Close(l.w.Context()), l.b.Close(l.w.Context())); err != nil {
		l.w.Error(err)
	}
}

// crash cuts all connections permanently. The rest of the process is cleaned up when the test ends.
func (l *life) crash() { l.wire.cut() }

// send sends texts, "key=body" or "body", to a partition of the topic.
func (w *world) send(n int32, texts ...string) {
	w.Helper()
	for _, text := range texts {
		r := &kgo.Record{Topic: "orders", Partition: n, Value: []byte(text)}
		for i := range text {
			if text[i] == '=' {
				r.Key, r.Value = []byte(text[:i]), []byte(text[i+1:])
				break
			}
		}
		if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			w.Fatal(err)
		}
	}
}

// get receives until there are n deliveries, for at most a minute and a half: a crashed member's session ends before
// that.
func (l *life) get(n int) []driver.Delivery {
	l.w.Helper()
	ds := l.within(n, 90*time.Second)
	if len(ds) != n {
		l.w.Fatalf("received %d of %d: %s", len(ds), n, texts(ds))
	}
	return ds
}

func (l *life) within(n int, d time.Duration) (ds []driver.Delivery) {
	l.w.Helper()
	for ends := time.Now().Add(d); len(ds) < n && time.Now().Before(ends); {
		var err error
		if ds, err = l.recv.Receive(l.w.Context(), driver.Ask{Max: n - len(ds)}, ds); err != nil {
			if class := driver.ClassOf(err); !class.Passing() && class != driver.NotFound {
				l.w.Fatal(err)
			}
			l.errors++
			time.Sleep(time.Second) // as the core does, which never receives in a tight loop
		}
	}
	return ds
}

func (l *life) nothing(d time.Duration) {
	l.w.Helper()
	if ds := l.within(1, d); len(ds) > 0 {
		l.w.Errorf("received %s, want no delivery", texts(ds))
	}
}

func (l *life) settle(action driver.Action, ds ...driver.Delivery) {
	l.w.Helper()
	ss := make([]driver.Settlement, len(ds))
	for i := range ds {
		ss[i] = driver.Settlement{Handle: ds[i].Handle, Action: action, Attempt: ds[i].Attempt + 1}
		switch action {
		case driver.Retry:
			ss[i].After = 5 * time.Second
		case driver.Reject:
			ss[i].Death = &driver.Death{Error: "no", Kind: "permanent"}
		}
	}
	if err := l.recv.Settle(l.w.Context(), ss); err != nil {
		l.w.Errorf("settle as %s: %v", action, err)
	}
}

// committed is the group's committed offset of a partition, with its metadata.
func (w *world) committed(n int32) (int64, string) {
	w.Helper()
	all, err := w.admin.FetchOffsets(w.Context(), "orders")
	if err != nil {
		w.Fatal(err)
	}
	o, ok := all.Lookup("orders", n)
	if !ok {
		return -1, ""
	}
	return o.At, o.Metadata
}

// count is the number of records in a topic.
func (w *world) count(topic string) (n int64) {
	w.Helper()
	ends, err := w.admin.ListEndOffsets(w.Context(), topic)
	if err != nil {
		w.Fatal(err)
	}
	ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
	return n
}

func texts(ds []driver.Delivery) []string {
	all := make([]string, len(ds))
	for i := range ds {
		all[i] = string(ds[i].Body)
	}
	return all
}

func (w *world) same(ds []driver.Delivery, want ...string) {
	w.Helper()
	if got := texts(ds); fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("received %v, want %v", got, want)
	}
}

func numbers(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "k" + strconv.Itoa(i%10) + "=" + strconv.Itoa(i)
	}
	return all
}

// cutter is a dialer. After cut, its connections are closed, and new ones fail.
type cutter struct {
	dial  func(ctx context.Context, network, host string) (net.Conn, error)
	hangs bool // while it is cut, new connections get no answer instead of an error
	mu    sync.Mutex
	conns []net.Conn
	done  bool
}

var errCut = errors.New("the process is gone")

func (c *cutter) DialContext(ctx context.Context, network, host string) (net.Conn, error) {
	if c.gone() {
		if c.hangs {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // as franz-go's own dialer does
			defer cancel()
			<-ctx.Done()
		}
		return nil, errCut
	}
	conn, err := c.dial(ctx, network, host)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done && err == nil {
		return nil, errors.Join(errCut, conn.Close())
	}
	c.conns = append(c.conns, conn)
	return conn, err
}

func (c *cutter) cut() {
	c.mu.Lock()
	c.done = true
	conns := c.conns
	c.mu.Unlock()
	for _, conn := range conns {
		if conn != nil {
			_ = conn.Close()
		}
	}
}

// mend permits connections again.
func (c *cutter) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.conns = false, nil
}

// commit commits for the group, as another program could.
func (w *world) commit(at int64, metadata string) {
	w.Helper()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: "orders", Partition: 0, At: at, LeaderEpoch: -1, Metadata: metadata})
	if err := w.admin.CommitAllOffsets(w.Context(), "orders", offsets); err != nil {
		w.Fatal(err)
	}
}

// drop deletes a topic, and no client is told.
func (w *world) drop(topic string) {
	w.Helper()
	if err := w.cluster.DeleteTopic(topic); err != nil {
		w.Fatal(err)
	}
	w.client.PurgeTopicsFromClient(topic)
}

func (c *cutter) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}
