//go:build synctests

package acceptance

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

const (
	realBroker  = "GODWIT_KAFKA"         // host:port
	realRestart = "GODWIT_KAFKA_RESTART" // a command that kills the broker and starts it again
	realCluster = "GODWIT_KAFKA_CLUSTER" // the command that starts three brokers: .ci/kafka-broker
	realJava    = "GODWIT_KAFKA_JAVA"    // the class path of Kafka's own clients
	realKcat    = "GODWIT_KAFKA_KCAT"    // the path of kcat, a client with librdkafka
)

// channel is the channel of most tests. Its topic has the same name, in the world's namespace.
const channel = "orders"

// shortSession is the shortest session timeout that brokers allow. A crashed member counts as alive for that long.
const shortSession = 6 * time.Second

// world is the broker of one test.
type world struct {
	t      *testing.T
	ns     string             // the prefix of all topics and groups, because other tests use a real broker, too
	server *kafkalocal.Server // nil: a real broker
	reach  []kgo.Opt
	addr   string // of the broker; in real time only
	// replicas is the number of replicas of a topic.
	replicas int16
	client   *kgo.Client // never cut off
	admin    *kadm.Client

	started []*process
}

// in runs f in a world of its own: in virtual time, or on the real broker. f uses its own t, because the t of the test
// is outside the bubble.
func in(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	if os.Getenv(realBroker) != "" {
		t.Parallel() // most of the time tests wait
	}
	alone(t, f)
}

// alone is in for a test that must run while no other test runs.
func alone(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	if addr := os.Getenv(realBroker); addr != "" {
		f(t, newWorld(t, nil, []kgo.Opt{kgo.SeedBrokers(addr)}))
		return
	}
	dir := t.TempDir() // of the test, because it must exist until the bubble ends
	synctest.Test(t, func(t *testing.T) {
		// After all others have left, a process that was cut off still tries to leave its group for a while.
		t.Cleanup(func() { time.Sleep(5 * time.Minute) })
		s, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{Dir: dir + "/data"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		f(t, newWorld(t, s, s.Reach()))
	})
}

func newWorld(t *testing.T, s *kafkalocal.Server, reach []kgo.Opt) *world {
	w := &world{t: t, ns: "t" + strings.ToLower(rand.Text()[:10]), server: s, reach: reach, replicas: 1}
	w.client = w.newClient(kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	w.admin = kadm.NewClient(w.client)
	if w.real() {
		admin := w.admin // a test may replace w.admin with a client that is closed before the cleanup
		t.Cleanup(func() { w.deleteTopics(admin) })
	}
	return w
}

// deleteTopics deletes the topics of the world, because a broker with more topics takes longer to start after a kill.
func (w *world) deleteTopics(admin *kadm.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		w.t.Error(err)
	}
	for name := range topics {
		if strings.HasPrefix(name, w.ns+".") {
			_, _ = admin.DeleteTopics(ctx, name) // a topic that remains affects no test
		}
	}
}

// real reports whether the broker is a real one, in real time.
func (w *world) real() bool { return w.server == nil }

func (w *world) newClient(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	c, err := kgo.NewClient(append(w.reach[:len(w.reach):len(w.reach)], opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

// topic is the topic of the channel, and group the group of its consumers.
func (w *world) topic() string { return w.ns + "." + channel }
func (w *world) group() string { return w.ns + "." + channel }

// create creates the topic of the channel.
func (w *world) create(partitions int32) {
	w.t.Helper()
	if _, err := w.admin.CreateTopic(w.t.Context(), partitions, w.replicas, nil, w.topic()); err != nil {
		w.t.Fatal(err)
	}
}

// ensure creates everything that a consumer of the channel needs, as the first consumer would.
func (w *world) ensure(o kafka.Options) {
	w.t.Helper()
	b := w.open(o, nil)
	if err := b.Ensure(w.t.Context(), driver.ChannelSpec{
		Channel: driver.Channel{Queue: channel},
		Owner:   true,
	}); err != nil {
		w.t.Fatal(err)
	}
	w.close(b)
}

// open opens the backend of a process. c is the cable that can be cut; nil: the backend is never cut off.
func (w *world) open(o kafka.Options, c *cable) *kafka.Backend {
	w.t.Helper()
	o.Namespace = w.ns
	if o.SessionTimeout == 0 && o.GroupProtocol != kafka.GroupConsumer {
		o.SessionTimeout = shortSession
	}
	opts := append(w.reach[:len(w.reach):len(w.reach)], kgo.MetadataMinAge(100*time.Millisecond))
	if c != nil {
		opts = append(opts, kgo.Dialer(c.dial))
	}
	o.Client = append(opts, o.Client...)
	b, err := kafka.Open(w.t.Context(), &o)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w *world) close(b interface{ Close(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		w.t.Errorf("close: %v", err)
	}
}

// committed returns the committed offsets of the group, by partition of the channel's topic.
func (w *world) committed() map[int32]kadm.Offset {
	w.t.Helper()
	all, err := w.admin.FetchOffsets(w.t.Context(), w.group())
	// the errors of a group that has not had a member yet, and of a broker that has not had a group yet
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) && !errors.Is(err, kerr.CoordinatorNotAvailable) {
		w.t.Fatal(err)
	}
	got := map[int32]kadm.Offset{}
	for n, o := range all[w.topic()] {
		got[n] = o.Offset
	}
	return got
}

// commit commits an offset for the group, as another program could.
func (w *world) commit(partition int32, at int64, metadata string) {
	w.t.Helper()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: w.topic(), Partition: partition, At: at, LeaderEpoch: -1, Metadata: metadata})
	w.eventually(30*time.Second, "the commit accepted", func() bool {
		answers, err := w.admin.CommitOffsets(w.t.Context(), w.group(), offsets)
		if err == nil {
			err = answers.Error()
		}
		if errors.Is(err, kerr.UnknownTopicID) {
			return false // the group coordinator learns of a new topic later than the other brokers
		}
		if err != nil {
			w.t.Fatal(err)
		}
		return true
	})
}

// readDeadLetters returns all records of the channel's dead letters.
func (w *world) readDeadLetters() []*kgo.Record { return w.read(w.deadLetters()) }

// read returns all records of a topic.
func (w *world) read(topic string) []*kgo.Record {
	w.t.Helper()
	ends, err := w.admin.ListEndOffsets(w.t.Context(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	left := 0
	ends.Each(func(o kadm.ListedOffset) { left += int(o.Offset) })
	c := w.newClient(kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	var got []*kgo.Record
	for len(got) < left {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.t.Fatalf("read %s: %v after %d of %d records", topic, err, len(got), left)
		}
		got = append(got, fetches.Records()...)
	}
	return got
}

// eventually waits until holds returns true, and fails the test if that takes too long.
func (w *world) eventually(within time.Duration, what string, holds func() bool) {
	w.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > within {
			w.t.Fatalf("not after %[2]v: %[1]s", what, within)
		}
	}
}

// logged returns a logger that calls count with the level and text of each line.
func logged(count func(level slog.Level, line string)) *slog.Logger {
	return slog.New(slog.NewTextHandler(lines(count), nil))
}

type lines func(slog.Level, string)

func (l lines) Write(p []byte) (int, error) {
	level := slog.LevelInfo
	if strings.Contains(string(p), "level=ERROR") {
		level = slog.LevelError
	}
	l(level, string(p))
	return len(p), nil
}
