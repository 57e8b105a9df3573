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
)

// channel is what most tests consume; its topic, in the world's namespace, has the same name.
const channel = "orders"

// shortSession is the shortest that brokers allow: so long they take a crashed member for alive.
const shortSession = 6 * time.Second

// world is one test's broker.
type world struct {
	t      *testing.T
	ns     string             // in front of every topic and group, because others use a real broker too
	server *kafkalocal.Server // nil: the broker is a real one
	reach  []kgo.Opt
	addr   string      // in real time only
	client *kgo.Client // never cut off
	admin  *kadm.Client

	started []*process
}

// in runs f in a world of its own: in virtual time, or on the real broker. Its t is the one to use: the test's own
// belongs to another time.
func in(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	if os.Getenv(realBroker) != "" {
		t.Parallel() // they wait, for the most part
	}
	alone(t, f)
}

// alone is in for what no other test may disturb, or be disturbed by.
func alone(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	if addr := os.Getenv(realBroker); addr != "" {
		f(t, settle(t, nil, []kgo.Opt{kgo.SeedBrokers(addr)}))
		return
	}
	dir := t.TempDir() // of the test, for a bubble must not outlive it
	synctest.Test(t, func(t *testing.T) {
		// What was cut off goes on trying to say goodbye for a while, after everybody else has left.
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
		f(t, settle(t, s, s.Reach()))
	})
}

func settle(t *testing.T, s *kafkalocal.Server, reach []kgo.Opt) *world {
	w := &world{t: t, ns: "t" + strings.ToLower(rand.Text()[:10]), server: s, reach: reach}
	w.client = w.newClient(kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	w.admin = kadm.NewClient(w.client)
	if w.real() {
		admin := w.admin // a test may take another, which is closed by then
		t.Cleanup(func() { w.tidy(admin) })
	}
	return w
}

// tidy deletes the world's topics: the more a broker has, the longer it takes to start after a kill.
func (w *world) tidy(admin *kadm.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		w.t.Error(err)
	}
	for name := range topics {
		if strings.HasPrefix(name, w.ns+".") {
			_, _ = admin.DeleteTopics(ctx, name) // it is a kindness
		}
	}
}

// real says that time passes.
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

// topic is the channel's topic, and group its consumers' group.
func (w *world) topic() string { return w.ns + "." + channel }
func (w *world) group() string { return w.ns + "." + channel }

// create makes the channel's topic.
func (w *world) create(partitions int32) {
	w.t.Helper()
	if _, err := w.admin.CreateTopic(w.t.Context(), partitions, 1, nil, w.topic()); err != nil {
		w.t.Fatal(err)
	}
}

// ensure makes all that a consumer of the channel needs, as the first consumer would.
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

// open opens a backend of a process whose cable is given; nil: one that is never cut.
func (w *world) open(o kafka.Options, c *cable) *kafka.Backend {
	w.t.Helper()
	o.Namespace = w.ns
	if o.SessionTimeout == 0 {
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

// committed is what the group has committed of the channel's topic, by partition.
func (w *world) committed() map[int32]kadm.Offset {
	w.t.Helper()
	all, err := w.admin.FetchOffsets(w.t.Context(), w.group())
	// before its first member, and anybody's
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) && !errors.Is(err, kerr.CoordinatorNotAvailable) {
		w.t.Fatal(err)
	}
	got := map[int32]kadm.Offset{}
	for n, o := range all[w.topic()] {
		got[n] = o.Offset
	}
	return got
}

// commit commits for the group, as somebody else might.
func (w *world) commit(partition int32, at int64, metadata string) {
	w.t.Helper()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: w.topic(), Partition: partition, At: at, LeaderEpoch: -1, Metadata: metadata})
	w.eventually(30*time.Second, "a commit taken", func() bool {
		answers, err := w.admin.CommitOffsets(w.t.Context(), w.group(), offsets)
		if err == nil {
			err = answers.Error()
		}
		if errors.Is(err, kerr.UnknownTopicID) { // a coordinator hears of a new topic a while after its broker does
			return false
		}
		if err != nil {
			w.t.Fatal(err)
		}
		return true
	})
}

// letters are all records of the channel's dead letters.
func (w *world) letters() []*kgo.Record { return w.read(w.deadLetters()) }

// read is all of a topic.
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

// eventually waits until it holds, or fails the test.
func (w *world) eventually(within time.Duration, what string, holds func() bool) {
	w.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > within {
			w.t.Fatalf("%s: not after %v", what, within)
		}
	}
}

// logged is a logger that counts its lines by level.
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
