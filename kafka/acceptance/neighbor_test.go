//go:build synctests

package acceptance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// reader reads n records of a topic as a member of a group, commits them, and leaves. It returns their values.
type reader func(w *world, topic, group string, n int) []string

// franz reads with franz-go.
func franz(w *world, topic, group string, n int) []string {
	return franzBy(kgo.CooperativeStickyBalancer())(w, topic, group, n)
}

// franzBy is franz with an assignor.
func franzBy(assignor kgo.GroupBalancer) reader {
	return func(w *world, topic, group string, n int) []string { return readFranz(w, topic, group, n, assignor) }
}

func readFranz(w *world, topic, group string, n int, assignor kgo.GroupBalancer) (got []string) {
	c := w.newClient(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.Balancers(assignor), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	for len(got) < n {
		fetches := c.PollRecords(w.t.Context(), n-len(got))
		if err := fetches.Err(); err != nil {
			w.t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		if err := c.CommitRecords(w.t.Context(), fetches.Records()...); err != nil {
			w.t.Fatal(err)
		}
	}
	return got
}

// java reads with Kafka's own consumer.
func java(w *world, topic, group string, n int) []string {
	return w.neighbor("consume", topic, group, strconv.Itoa(n))
}

// javaBy is java with one assignor; its default is range, or else cooperative-sticky.
func javaBy(assignor string) reader {
	return func(w *world, topic, group string, n int) []string {
		return w.neighbor("consume", topic, group, strconv.Itoa(n), assignor)
	}
}

// neighbor runs testdata/Neighbor.java on the real broker, and returns the lines that it prints.
func (w *world) neighbor(args ...string) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "java", append([]string{
		"-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", os.Getenv(realJava),
		"testdata/Neighbor.java", os.Getenv(realBroker),
	}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%v: %v", args, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// librdkafka reads with kcat, whose library is also that of Confluent's clients.
func librdkafka(w *world, topic, group string, n int) []string {
	return librdkafkaBy("range,roundrobin")(w, topic, group, n) // its default
}

// librdkafkaBy is librdkafka with other assignors.
func librdkafkaBy(assignors string) reader {
	return func(w *world, topic, group string, n int) []string { return readKcat(w, topic, group, n, assignors) }
}

func readKcat(w *world, topic, group string, n int, assignors string) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Getenv(realKcat), "-q", "-b", os.Getenv(realBroker), "-G", group,
		"-X", "auto.offset.reset=earliest", "-X", "partition.assignment.strategy="+assignors, "-c",
		strconv.Itoa(n), topic)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("kcat: %v", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// needs skips a test without a program of the real broker's environment.
func needs(t *testing.T, variable string) {
	t.Helper()
	if os.Getenv(variable) == "" || os.Getenv(realBroker) == "" {
		t.Skip(variable + " is not set: .ci/kafka sets it")
	}
}

// needsJava skips a test without Kafka's own clients.
func needsJava(t *testing.T) {
	t.Helper()
	needs(t, realJava)
}

// The mistake: a team cannot go back to its own consumers, or loses records on the way. Here a consumer goes on where
// that of another program stopped, and after the way back the other program handles again only what was finished
// beyond the watermark.
func TestThereAndBack(t *testing.T) {
	for name, read := range map[string]reader{"franz-go": franz, "java": java, "librdkafka": librdkafka} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "java":
				needsJava(t)
			case "librdkafka":
				needs(t, realKcat)
			}
			in(t, func(t *testing.T, w *world) {
				topic, group := w.ns+".Shop_Orders", w.ns+" billing"
				w.createTopic(topic)
				for n := range 8 {
					w.produce(&kgo.Record{Topic: topic, Key: []byte{byte(n)}, Value: []byte(strconv.Itoa(n))})
				}
				if got := read(w, topic, group, 3); !slices.Equal(got, []string{"0", "1", "2"}) {
					t.Fatalf("the other program read %v", got)
				}
				o := kafka.Options{
					Names: map[string]kafka.Resource{channel: {Topic: topic, Group: group}},
					Channels: map[string]kafka.ChannelOptions{
						channel: {Start: kafka.Start{From: kafka.StartCommitted}},
					},
				}
				if got := w.handles(o, 5, "4", "6"); !slices.Equal(got, []string{"3", "4", "5", "6", "7"}) {
					t.Errorf("handled after the other program: %v", got)
				}
				if got := read(w, topic, group, 3); !slices.Equal(got, []string{"4", "5", "6"}) {
					t.Errorf("after the way back the other program read %v, want 4, 5 and 6", got)
				}
				w.produce(&kgo.Record{Topic: topic, Value: []byte("8")})
				if got := w.handles(o, 2); !slices.Equal(got, []string{"7", "8"}) {
					t.Errorf("handled at last: %v, want 7 and 8", got)
				}
			})
		})
	}
}

// handles runs a consumer until n records were started, and stops it. The stuck ones are not finished.
func (w *world) handles(o kafka.Options, n int, stuck ...string) []string {
	w.t.Helper()
	var mu sync.Mutex
	var got []string
	co := godwit.ConsumerOptions{Concurrency: 10, ShutdownTimeout: 2 * time.Second} // for the stuck ones
	p := w.start(o, co, func(ctx context.Context, d *godwit.Delivery) error {
		mu.Lock()
		got = append(got, string(d.Body))
		mu.Unlock()
		if slices.Contains(stuck, string(d.Body)) {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	})
	all := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(slices.Values(got))
	}
	w.eventually(time.Minute, fmt.Sprintf("%d records started", n), func() bool { return len(all()) >= n })
	time.Sleep(2 * time.Second) // for records that must not be delivered
	if _, err := p.stop(); err != nil {
		w.t.Error(err)
	}
	return all()
}

// createTopic creates a topic with one partition.
func (w *world) createTopic(name string) {
	w.t.Helper()
	if _, err := w.admin.CreateTopic(w.t.Context(), 1, w.replicas, nil, name); err != nil {
		w.t.Fatal(err)
	}
}

// produce sends records as another program does.
func (w *world) produce(rs ...*kgo.Record) {
	w.t.Helper()
	if err := w.client.ProduceSync(w.t.Context(), rs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// A key has the same partition as with Kafka's own producer, so that programs can be moved one by one without a change
// of the order of their keys.
func TestPartitionsOfJava(t *testing.T) {
	needsJava(t)
	in(t, func(t *testing.T, w *world) {
		const keys = 200
		w.create(7)
		want := map[string]int32{}
		for _, line := range w.neighbor("produce", w.topic(), strconv.Itoa(keys)) {
			partition, key, _ := strings.Cut(line, "\t")
			n, err := strconv.Atoi(partition)
			if err != nil {
				t.Fatal(err)
			}
			want[key] = int32(n)
		}
		b := w.open(kafka.Options{}, nil)
		defer w.close(b)
		p, err := godwit.NewProducer(t.Context(), b, channel, nil)
		if err != nil {
			t.Fatal(err)
		}
		for key := range want {
			if key == "" {
				continue // an empty order key is no key
			}
			if err := p.Send(t.Context(), godwit.Message{OrderKey: key, Body: []byte("godwit")}); err != nil {
				t.Fatal(err)
			}
		}
		used := map[int32]bool{}
		for _, r := range w.read(w.topic()) {
			used[r.Partition] = true
			if r.Partition != want[string(r.Key)] {
				t.Errorf("key %q is in partition %d, and Java's is in %d", r.Key, r.Partition, want[string(r.Key)])
			}
		}
		if len(want) != keys || len(used) != 7 {
			t.Errorf("%d keys in %d partitions", len(want), len(used))
		}
	})
}

// The mistake: a consumer with another protocol or assignor joins a group that is in use, and is refused in the
// background again and again, or changes who has which partitions. Here it is not created, and the error names the
// other members.
func TestGroupInUse(t *testing.T) {
	for is, opts := range map[string][]kgo.Opt{
		"a classic group with the assignor range":      {kgo.Balancers(kgo.RangeBalancer())},
		"a group of the consumer protocol (KIP-848)":   {kgo.ServerSideBalancer()},
		"a classic group with the assignor roundrobin": {kgo.Balancers(kgo.RoundRobinBalancer())},
	} {
		t.Run(is, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.create(1)
				w.fill(1, 1)
				theirs := w.newClient(append(opts, kgo.ClientID("their-app"), kgo.ConsumerGroup(w.group()),
					kgo.ConsumeTopics(w.topic()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
				if err := theirs.PollRecords(t.Context(), 1).Err(); err != nil {
					t.Fatal(err)
				}
				b := w.open(kafka.Options{}, nil)
				defer w.close(b)
				_, err := godwit.NewConsumer(t.Context(), b, channel, nil)
				if err == nil || !strings.Contains(err.Error(), is) ||
					!strings.Contains(err.Error(), "their-app") {
					t.Errorf("%v, want an error with %q", err, is)
				}
				theirs.Close()
				w.eventually(30*time.Second, "a consumer after the others have left", func() bool {
					_, err = godwit.NewConsumer(t.Context(), b, channel, nil)
					return err == nil
				})
			})
		})
	}
}

// The mistake: a group whose programs cannot all be stopped at once cannot be migrated, because it has one assignor.
// Here two consumers join beside another program, which reads on and leaves. Then the group uses Godwit's assignor, and
// no record is lost.
func TestBesideOtherAssignors(t *testing.T) {
	for name, c := range map[string]struct {
		read   reader
		alone  string // the group's assignor without Godwit
		beside string // and with it
	}{
		"franz-go, range":        {franzBy(kgo.RangeBalancer()), "range", "range"},
		"franz-go, roundrobin":   {franzBy(kgo.RoundRobinBalancer()), "roundrobin", "roundrobin"},
		"java":                   {java, "range", cooperative},
		"java, range":            {javaBy("RangeAssignor"), "range", "range"},
		"java, roundrobin":       {javaBy("RoundRobinAssignor"), "roundrobin", "roundrobin"},
		"librdkafka":             {librdkafka, "range", "range"},
		"librdkafka, roundrobin": {librdkafkaBy("roundrobin"), "roundrobin", "roundrobin"},
	} {
		t.Run(name, func(t *testing.T) {
			switch {
			case testing.Short() && strings.HasSuffix(name, "roundrobin"):
				t.Skip("the full run has it")
			case strings.HasPrefix(name, "java"):
				needsJava(t)
			case strings.HasPrefix(name, "librdkafka"):
				needs(t, realKcat)
			}
			in(t, func(t *testing.T, w *world) { besideOthers(t, w, c.read, c.alone, c.beside) })
		})
	}
}

// cooperative is the assignor of Godwit's groups.
const cooperative = "cooperative-sticky"

func besideOthers(t *testing.T, w *world, read reader, alone, beside string) {
	offers := map[string]kafka.Assignor{"range": kafka.AssignorRange, "roundrobin": kafka.AssignorRoundRobin}[alone]
	o := kafka.Options{Channels: map[string]kafka.ChannelOptions{channel: {Assignor: offers}}}
	w.create(6)
	w.ensure(o)
	stop := w.traffic(o, 5*time.Millisecond) // the other program is there for 7 s, or longer
	var theirs []string
	left := make(chan struct{})
	go func() {
		defer close(left)
		theirs = read(w, w.topic(), w.group(), 1500)
	}()
	is := func(assignor string, members int) func() bool {
		return func() bool {
			groups, err := w.admin.DescribeGroups(t.Context(), w.group())
			g := groups[w.group()]
			return err == nil && g.State == "Stable" && g.Protocol == assignor && len(g.Members) == members
		}
	}
	w.eventually(time.Minute, "the other program in the group", is(alone, 1))
	j := newJournal(1 << 20)
	for range 2 {
		w.start(o, godwit.ConsumerOptions{Concurrency: 20}, noting(j,
			func(ctx context.Context, _ *godwit.Delivery) error { return nap(ctx, 5*time.Millisecond) }))
	}
	w.eventually(time.Minute, "Godwit's members beside it", is(beside, 3))
	w.eventually(time.Minute, "records handled beside it", func() bool { n, _ := j.count(); return n > 300 })
	<-left
	w.eventually(time.Minute, "Godwit's assignor", is(cooperative, 2))
	accepted, errs := stop()
	for _, err := range errs {
		t.Error(err)
	}
	w.eventually(time.Minute, "all records handled", func() bool {
		for _, n := range accepted {
			if !j.wasHandled(n) && !slices.Contains(theirs, strconv.Itoa(n)) {
				return false
			}
		}
		return true
	})
	n, times := j.count()
	t.Logf("%d records: the other program read %d, Godwit handled %d of them %d times", len(accepted), len(theirs), n,
		times)
	for _, p := range w.started {
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
	}
}

// The mistake: a group that is to begin at the end of its topic begins there at every start until its first commit, and
// skips what was sent in between. Here the position is committed before the consumer runs.
func TestStartAtTheEnd(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.create(2)
		w.fill(10, 5)
		o := kafka.Options{
			Channels: map[string]kafka.ChannelOptions{channel: {Start: kafka.Start{From: kafka.StartLatest}}},
		}
		b := w.open(o, nil)
		if _, err := godwit.NewConsumer(t.Context(), b, channel, nil); err != nil { // and never run
			t.Fatal(err)
		}
		w.close(b)
		w.produce(&kgo.Record{Topic: w.topic(), Value: []byte("new")})
		if got := w.handles(o, 1); !slices.Equal(got, []string{"new"}) {
			t.Errorf("handled %v, want only what was sent after the first start", got)
		}
	})
}
