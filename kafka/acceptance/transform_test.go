//go:build synctests

package acceptance

import (
	"bufio"
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// results is the channel of the results of a transform.
const results = "results"

// work is what the function of these tests does with a record: it fails for one in 50 the first time, rejects another
// one in 50, and returns a message for each other record, or two.
type work struct {
	records int
	longest time.Duration // of a call

	mu     sync.Mutex
	failed map[int]bool
	calls  int
}

func newWork(records int) *work {
	return &work{records: records, longest: 40 * time.Millisecond, failed: map[int]bool{}}
}

func rejects(n int) bool { return n%50 == 7 }

// resultsOf are the bodies of the messages that result from a record.
func resultsOf(n int) []string {
	switch {
	case rejects(n):
		return nil
	case n%10 == 3:
		return []string{strconv.Itoa(n) + "a", strconv.Itoa(n) + "b"}
	case n%10 == 4: // nothing results from it
		return nil
	}
	return []string{strconv.Itoa(n)}
}

func (k *work) do(ctx context.Context, d *godwit.Delivery) ([]godwit.Message, error) {
	if err := nap(ctx, rand.N(k.longest)); err != nil {
		return nil, err
	}
	n := number(d)
	k.mu.Lock()
	first := !k.failed[n]
	k.failed[n] = true
	k.calls++
	k.mu.Unlock()
	var ms []godwit.Message
	for _, body := range resultsOf(n) {
		ms = append(ms, godwit.Message{OrderKey: d.OrderKey, Body: []byte(body)})
	}
	switch {
	case rejects(n):
		return []godwit.Message{{Body: []byte("of a failed function")}}, godwit.Permanent(errOfTest)
	case n%50 == 11 && first:
		return ms, godwit.RetryAfter(200*time.Millisecond, errOfTest)
	}
	return ms, nil
}

// called is the number of calls so far.
func (k *work) called() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls
}

// transform is a process that transforms the channel's records.
func (w *world) transform(o kafka.Options, k *work) *process {
	w.t.Helper()
	return w.startProcess(o, func(b *kafka.Backend) (*godwit.Consumer, runs) {
		c, p := w.ends(b, o)
		return c, func(ctx context.Context) (godwit.Report, error) { return godwit.Transform(ctx, c, p, k.do) }
	})
}

// sendAndHandle is a process that does the same without transactions: its handlers send, and are done.
func (w *world) sendAndHandle(o kafka.Options, k *work) *process {
	w.t.Helper()
	return w.startProcess(o, func(b *kafka.Backend) (*godwit.Consumer, runs) {
		c, p := w.ends(b, o)
		return c, func(ctx context.Context) (godwit.Report, error) {
			return c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
				ms, err := k.do(ctx, d)
				if err != nil {
					return err
				}
				return p.SendBatch(ctx, ms)
			})
		}
	})
}

// ends are a consumer of the channel and a producer of the results.
func (w *world) ends(b *kafka.Backend, o kafka.Options) (*godwit.Consumer, *godwit.Producer) {
	w.t.Helper()
	c, err := godwit.NewConsumer(w.t.Context(), b, channel, &godwit.ConsumerOptions{
		Concurrency: 50, Logger: o.Logger, Ordered: o.Ordering != kafka.OrderNone,
		MaxAttempts: 100, // some records fail once in each process, and processes are killed
	})
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := godwit.NewProducer(w.t.Context(), b, results, &godwit.ProducerOptions{
		Ordered: o.Ordering != kafka.OrderNone,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c, p
}

// runs runs a consumer until ctx ends.
type runs func(ctx context.Context) (godwit.Report, error)

// startProcess starts a process with a backend of its own.
func (w *world) startProcess(o kafka.Options, open func(b *kafka.Backend) (*godwit.Consumer, runs)) *process {
	w.t.Helper()
	c := w.newCable()
	p := &process{w: w, cable: c, backend: w.open(o, c), done: make(chan struct{})}
	var run runs
	p.consumer, run = open(p.backend)
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(p.done)
		p.report, p.err = run(ctx)
	}()
	w.started = append(w.started, p)
	w.t.Cleanup(func() { _, _ = p.stop() })
	return p
}

// readCommitted returns the committed records of a topic, when it has no open transaction.
func (w *world) readCommitted(topic string) (got []*kgo.Record) {
	w.t.Helper()
	var ends kadm.ListedOffsets
	closed := false
	defer func() {
		if !closed {
			w.describeTransactions(topic)
		}
	}()
	w.eventually(time.Minute, "no open transaction", func() bool { // of a process that has crashed
		all, err := w.admin.ListEndOffsets(w.t.Context(), topic)
		if err != nil {
			w.t.Fatal(err)
		}
		if ends, err = w.admin.ListCommittedOffsets(w.t.Context(), topic); err != nil {
			w.t.Fatal(err)
		}
		stable := true
		ends.Each(func(o kadm.ListedOffset) {
			end, _ := all.Lookup(o.Topic, o.Partition)
			stable = stable && end.Offset == o.Offset
		})
		closed = stable
		return stable
	})
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	isolation := kgo.ReadCommitted()
	if !w.real() {
		isolation = kgo.ReadUncommitted() // decision 0068: after a crash, kfake hides committed records, too
	}
	c := w.newClient(kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(isolation),
		kgo.KeepControlRecords()) // a log may end with a control record
	defer c.Close()
	open := undecided{}
	ctx, cancel := context.WithTimeout(w.t.Context(), 60*time.Second)
	defer cancel()
	for len(left) > 0 {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.t.Fatalf("read %s: %v after %d records", topic, err, len(got))
		}
		for _, r := range fetches.Records() {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			switch {
			case !w.real():
				got = append(got, open.decide(r)...)
			case !r.Attrs.IsControl():
				got = append(got, r)
			}
		}
	}
	return got
}

// describeTransactions logs what the brokers know about the transactions of a topic.
func (w *world) describeTransactions(topic string) {
	w.t.Helper()
	producers, err := w.admin.DescribeProducers(context.Background(), nil)
	w.t.Logf("the producers of %s: %v", topic, err)
	for _, p := range producers.SortedProducers() {
		if p.Topic != topic {
			continue
		}
		w.t.Logf("  partition %d: producer %d, epoch %d, last at %v, transaction from %d", p.Partition, p.ProducerID,
			p.ProducerEpoch, time.UnixMilli(p.LastTimestamp), p.CurrentTxnStartOffset)
	}
	all, err := w.admin.ListTransactions(context.Background(), nil, nil)
	w.t.Logf("all transactions: %v", err)
	for _, tx := range all.Sorted() {
		w.t.Logf("  %s: producer %d, %s", tx.TxnID, tx.ProducerID, tx.State)
	}
}

// undecided are the records of transactions, of each partition and epoch of a producer, until their marker.
type undecided map[transaction][]*kgo.Record

type transaction struct {
	partition int32
	producer  int64
	epoch     int16
}

// decide returns the records that are committed when the next record of a log was read.
func (u undecided) decide(r *kgo.Record) (committed []*kgo.Record) {
	tx := transaction{r.Partition, r.ProducerID, r.ProducerEpoch}
	switch {
	case r.Attrs.IsControl():
		var key kmsg.ControlRecordKey
		if err := key.ReadFrom(r.Key); err == nil && key.Type == kmsg.ControlRecordKeyTypeCommit {
			committed = u[tx]
		}
		delete(u, tx)
	case r.Attrs.IsTransactional():
		u[tx] = append(u[tx], r)
	default:
		committed = []*kgo.Record{r}
	}
	return committed
}

// once compares the committed results, and the dead letters, with what the records result in. It returns how many are
// missing, and how many there are too many.
func (w *world) once(records, keys int) (missing, again, late int) {
	w.t.Helper()
	want := map[string]int{}
	for n := range records {
		for _, body := range resultsOf(n) {
			want[body]++
		}
		if rejects(n) {
			want["dead "+strconv.Itoa(n)]++
		}
	}
	newest := map[int]int{} // by key
	for _, r := range w.readCommitted(w.ns + "." + results) {
		body := string(r.Value)
		first := want[body] == 1
		want[body]--
		n, err := strconv.Atoi(strings.TrimRight(body, "ab"))
		if err != nil {
			w.t.Errorf("the result %q should not exist", body)
			continue
		}
		if n < newest[n%keys] && first {
			late++
		}
		newest[n%keys] = max(newest[n%keys], n)
	}
	for _, r := range w.readCommitted(w.deadLetters()) {
		want["dead "+string(r.Value)]--
	}
	for _, n := range want {
		missing += max(0, n)
		again += max(0, -n)
	}
	return missing, again, late
}

// allCommitted reports whether the group has committed all records of its topic and its tiers.
func (w *world) allCommitted(o kafka.Options, records int) bool {
	all, err := w.admin.FetchOffsets(w.t.Context(), w.group())
	if err != nil {
		return false
	}
	b := w.open(o, nil)
	defer w.close(b)
	d, err := b.Inspect(w.t.Context(), driver.Channel{Queue: channel, Ordered: o.Ordering != kafka.OrderNone})
	if err != nil {
		return false
	}
	n := int64(0)
	for _, at := range all[w.topic()] {
		n += at.At
	}
	return n >= int64(records) && d.Waiting == 0 && d.Delayed == 0
}

// transforms runs a disturbed transform until everything is committed, and checks the results.
func transforms(t *testing.T, w *world, o kafka.Options, start func(kafka.Options, *work) *process,
	disturb func(chance *rand.Rand, members *[]*process),
) (missing, again, late int) {
	const keys = 200
	records := 40_000
	if testing.Short() || w.real() {
		records = 15_000
	}
	w.create(4)
	b := w.open(o, nil)
	w.ends(b, o) // creates the topics
	w.close(b)
	w.fill(records, keys)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	k := newWork(records)
	members := []*process{start(o, k), start(o, k)}
	w.eventually(60*time.Second, "the first results", func() bool { return k.called() > 100 })
	if disturb != nil {
		most := 1000
		if w.real() { // after a crash, 15 s of real time pass until the broker ends the open transaction
			most = 12
			if testing.Short() {
				most = 5
			}
		}
		for n := 0; n < most && k.called() < records; n++ {
			time.Sleep(time.Duration(300+chance.IntN(500)) * time.Millisecond)
			disturb(chance, &members)
			for len(members) < 2 {
				members = append(members, start(o, k))
			}
		}
	}
	began := time.Now()
	w.eventually(4*time.Minute, "everything is committed", func() bool {
		time.Sleep(time.Second)
		return w.allCommitted(o, records)
	})
	for _, p := range members {
		if report, err := p.stop(); err != nil || report.Leaked != 0 {
			t.Errorf("a member ended with %v, and %d leaks", err, report.Leaked)
		}
	}
	missing, again, late = w.once(records, keys)
	t.Logf("%d records, %d calls, committed after another %v: %d results missing, %d too many, %d out of order",
		records, k.called(), time.Since(began), missing, again, late)
	return missing, again, late
}

// The disturbances.
func leaves(chance *rand.Rand, members *[]*process) {
	i := chance.IntN(len(*members))
	p := (*members)[i]
	*members = slices.Delete(*members, i, i+1)
	go func() { _, _ = p.stop() }() // while the next one comes
}

func crashes(chance *rand.Rand, members *[]*process) {
	i := chance.IntN(len(*members))
	p := (*members)[i]
	*members = slices.Delete(*members, i, i+1)
	p.w.awaitStable(p.w.group())
	p.crash()
}

// kills kills the broker (-9) three times.
func kills(w *world) func(*rand.Rand, *[]*process) {
	killed := 0
	return func(*rand.Rand, *[]*process) {
		if killed++; killed <= 3 {
			w.kill()
			w.restart()
			time.Sleep(3 * time.Second)
		}
	}
}

// The mistake: a program that reads records, and sends others that result from them, repeats results after a crash or a
// rebalance, or loses them. Here processes leave, crash, and are cut off, and the broker is killed, while functions
// fail, records are retried, and others become dead letters. A consumer of committed records gets each result once, in
// the order of its key, and each dead letter once.
func TestTransformOnce(t *testing.T) {
	park := kafka.Options{
		ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second}},
	}
	for name, c := range map[string]struct {
		o        kafka.Options
		disturb  func(w *world) func(*rand.Rand, *[]*process)
		fakeOnly bool
		short    bool // also on a real broker with -short: each case takes half a minute there
	}{
		"undisturbed":         {},
		"undisturbed, parked": {o: park},
		"leaving":             {disturb: func(*world) func(*rand.Rand, *[]*process) { return leaves }},
		"crashing":            {disturb: func(*world) func(*rand.Rand, *[]*process) { return crashes }},
		"crashing, parked": {
			o: park, short: true,
			disturb: func(*world) func(*rand.Rand, *[]*process) { return crashes },
		},
		"broker killed": {disturb: kills, fakeOnly: true},
		"leaving, consumer protocol": {
			o:       kafka.Options{ChannelOptions: kafka.ChannelOptions{GroupProtocol: kafka.GroupConsumer}},
			disturb: func(*world) func(*rand.Rand, *[]*process) { return leaves },
		},
		"static members": {o: kafka.Options{InstanceID: "one"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.fakeOnly && os.Getenv(realBroker) != "" {
				t.Skip("a broker without replicas tears transactions: decision 0100; TestCluster kills brokers with them")
			}
			if testing.Short() && !c.short && os.Getenv(realBroker) != "" {
				t.Skip("with -short, other cases run on a real broker")
			}
			alone(t, func(t *testing.T, w *world) {
				disturb := (func(*rand.Rand, *[]*process))(nil)
				if c.disturb != nil {
					disturb = c.disturb(w)
				}
				start := w.transform
				if c.o.InstanceID != "" {
					start = w.numbered(start)
				}
				missing, again, late := transforms(t, w, c.o, start, disturb)
				if missing+again+late > 0 {
					t.Errorf("%d results are missing, %d too many, %d out of order", missing, again, late)
				}
			})
		})
	}
}

// numbered gives each process an instance id of its own.
func (w *world) numbered(start func(kafka.Options, *work) *process) func(kafka.Options, *work) *process {
	n := 0
	return func(o kafka.Options, k *work) *process {
		n++
		o.InstanceID += strconv.Itoa(n)
		return start(o, k)
	}
}

// transformingChild is the environment variable that makes this test's program a transforming process. Its value has
// the address of the broker, and the namespace.
const transformingChild = "GODWIT_TEST_TRANSFORMER"

// transformUntilKilled is the program of the child process.
func transformUntilKilled(where string) int {
	addr, ns, _ := strings.Cut(where, " ")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // returns when the parent process ends
		cancel()
	}()
	fail := func(err error) int {
		slog.New(slog.NewTextHandler(os.Stderr, nil)).Error("the transform has ended", "error", err)
		return 1
	}
	b, err := kafka.Open(ctx, &kafka.Options{Brokers: []string{addr}, Namespace: ns, InstanceID: "the-one"})
	if err != nil {
		return fail(err)
	}
	c, err := godwit.NewConsumer(ctx, b, channel, &godwit.ConsumerOptions{
		Ordered: true, Concurrency: 200, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return fail(err)
	}
	p, err := godwit.NewProducer(ctx, b, results, &godwit.ProducerOptions{Ordered: true})
	if err != nil {
		return fail(err)
	}
	k := newWork(0)
	_, err = godwit.Transform(ctx, c, p, func(ctx context.Context, d *godwit.Delivery) ([]godwit.Message, error) {
		ms, err := k.do(ctx, d)
		_, _ = os.Stdout.WriteString(".\n")
		return ms, err
	})
	return fail(err)
}

// A process that transforms records is killed (-9) several times, at any point of its transactions. A consumer of
// committed records gets each result once.
func TestTransformKilled(t *testing.T) {
	const keys = 500
	records, lives := 100_000, 8
	if testing.Short() {
		records, lives = 20_000, 3
	}
	w := inRealTime(t)
	w.create(4)
	b := w.open(kafka.Options{}, nil)
	w.ends(b, kafka.Options{})
	w.close(b)
	w.fill(records, keys)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	calls := 0
	for range lives {
		calls += w.transformFor(time.Duration(500+chance.IntN(1500)) * time.Millisecond)
	}
	k := newWork(records)
	p := w.transform(kafka.Options{InstanceID: "the-one"}, k)
	w.eventually(2*time.Minute, "everything is committed", func() bool {
		time.Sleep(time.Second)
		return w.allCommitted(kafka.Options{}, records)
	})
	if _, err := p.stop(); err != nil {
		t.Error(err)
	}
	missing, again, late := w.once(records, keys)
	t.Logf("%d records, killed %d times after %d calls, another %d calls: %d results missing, %d too many, %d out of order",
		records, lives, calls, k.called(), missing, again, late)
	if missing+again+late > 0 {
		t.Errorf("%d results are missing, %d too many, %d out of order", missing, again, late)
	}
}

// transformFor runs a transforming process, and kills it (-9) that time after its first call. It returns the number of
// calls.
func (w *world) transformFor(long time.Duration) (calls int) {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), transformingChild+"="+w.addr+" "+w.ns)
	cmd.Stderr = os.Stderr
	// The pipe closes when this process ends in any way, and then the child ends.
	if _, err := cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); calls++ {
		if calls == 0 {
			kill.Reset(long)
		}
	}
	_ = cmd.Wait()
	if calls == 0 {
		w.t.Fatal("the process has handled no record in a minute")
	}
	return calls
}

// Without transactions the same program repeats results: the test of them would notice it.
func TestSendingHandlersRepeatResults(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		missing, again, _ := transforms(t, w, kafka.Options{}, w.sendAndHandle, kills(w))
		if missing > 0 || again == 0 {
			t.Errorf("%d results are missing, and %d too many: the disturbances are too weak", missing, again)
		}
	})
}
