package kafkalocal_test

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

// In a bubble of virtual time, a client waits for hours without delay.
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, nil)
		topic := unique()
		c := client(t, s.Reach(), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		create(t, c, topic)
		began := time.Now()
		late := &kgo.Record{Topic: topic, Timestamp: began.Add(2 * time.Hour), Value: []byte("x")}
		want(t, "two hours ahead", c.ProduceSync(t.Context(), late).FirstErr(), kerr.InvalidTimestamp)
		go func() {
			time.Sleep(time.Hour)
			c.Produce(t.Context(), &kgo.Record{Topic: topic, Timestamp: late.Timestamp, Value: []byte("x")}, nil)
		}()
		if n := c.PollFetches(t.Context()).NumRecords(); n != 1 {
			t.Errorf("%d records, want 1", n)
		}
		if took := time.Since(began); took < time.Hour {
			t.Errorf("it came after %v", took)
		}
	})
}

// On an address, every client on the machine reaches it.
func TestAddress(t *testing.T) {
	s := serve(t, &kafkalocal.ServerOptions{Addr: "127.0.0.1:0"})
	c := client(t, []kgo.Opt{kgo.SeedBrokers(s.Addr())})
	create(t, c, unique())
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", s.Addr()); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}

// An address that clients cannot connect to is refused, as is an invalid one, or one that is in use.
func TestAddressRefused(t *testing.T) {
	s := serve(t, &kafkalocal.ServerOptions{Addr: "127.0.0.1:0"})
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":9092", "localhost", s.Addr()} {
		if other, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{Addr: addr}); err == nil {
			t.Errorf("%s was accepted", addr)
			other.Close()
		}
	}
}

// A kill -9 loses nothing that was acknowledged: topics with their configs, records, commits with their metadata.
func TestKillLosesNothing(t *testing.T) {
	for name, in := range map[string]func(*testing.T, func(*testing.T)){
		"virtual time": synctest.Test,
		"real time":    func(t *testing.T, f func(*testing.T)) { f(t) },
	} {
		t.Run(name, func(t *testing.T) { in(t, killLosesNothing) })
	}
}

func killLosesNothing(t *testing.T) {
	s := serve(t, &kafkalocal.ServerOptions{Dir: t.TempDir() + "/data"})
	addr := s.Addr()
	topic, group := unique(), unique()
	c := client(t, s.Reach(), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	create(t, c, topic, "retention.ms", "60000")
	const records = 500
	for i := range records {
		if err := c.ProduceSync(t.Context(),
			&kgo.Record{Topic: topic, Value: []byte(strconv.Itoa(i))}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if i%100 == 99 {
			if err := s.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 5, LeaderEpoch: -1, Metadata: "kept"})
	if _, err := kadm.NewClient(c).CommitOffsets(t.Context(), group, offsets); err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Cluster() != nil {
		t.Error("a killed server has a cluster")
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if s.Addr() != addr {
		t.Errorf("it is at %s now, was at %s", s.Addr(), addr)
	}
	seen := map[string]int{}
	for len(seen) < records {
		fetches := c.PollFetches(within(t))
		if err := fetches.Err(); err != nil {
			t.Fatalf("%v after %d records", err, len(seen))
		}
		fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)]++ })
	}
	stored, err := kadm.NewClient(c).FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := stored.Lookup(topic, 0); o.At != 5 || o.Metadata != "kept" {
		t.Errorf("the commit is %d %q", o.At, o.Metadata)
	}
	if v := s.Cluster().TopicInfo(topic).Configs["retention.ms"]; v == nil || *v != "60000" {
		t.Errorf("the topic's retention is %v", v)
	}
}

// Only the owner can enter the folder, also if the folder existed before. A folder that all users share is refused.
func TestTheFolderIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no such permissions")
	}
	there := t.TempDir()
	if err := os.Chmod(there, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{there, there + "/new"} {
		serve(t, &kafkalocal.ServerOptions{Dir: dir})
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, error %v, want 0700", dir, info.Mode(), err)
		}
	}
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if s, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{Dir: shared}); err == nil ||
		!strings.Contains(err.Error(), "name a folder in it") {
		t.Errorf("a folder that is shared: error %v", err)
		if err == nil {
			_ = s.Close()
		}
	}
}

// A request that was not answered before Kill stays unanswered, and has no effect.
func TestKillAnswersNothing(t *testing.T) {
	s := serve(t, &kafkalocal.ServerOptions{Dir: t.TempDir() + "/data"})
	topic := unique()
	c := client(t, s.Reach(), kgo.RecordRetries(0), kgo.DisableIdempotentWrite(), kgo.RequestRetries(0))
	create(t, c, topic)
	asked, go1 := make(chan struct{}), make(chan struct{})
	cluster := s.Cluster()
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.SleepControl(func() { close(asked); <-go1 })
		return nil, nil, false
	})
	answer := make(chan error, 1)
	c.Produce(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x")},
		func(_ *kgo.Record, err error) { answer <- err })
	<-asked
	if err := s.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(go1)
	if err := <-answer; err == nil {
		t.Error("the record was acknowledged")
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if p := s.Cluster().PartitionInfo(topic, 0); p.HighWatermark != 0 {
		t.Errorf("%d records are kept", p.HighWatermark)
	}
}

// A server in memory cannot be started again with its data.
func TestKillNeedsFolder(t *testing.T) {
	s := serve(t, nil)
	if err := s.Kill(t.Context()); err == nil || !strings.Contains(err.Error(), "Dir") {
		t.Errorf("killed: %v", err)
	}
	if err := s.Start(); err == nil {
		t.Error("started twice")
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// Options of kfake and of the broker reach it.
func TestOptions(t *testing.T) {
	s := serve(t, &kafkalocal.ServerOptions{
		Config:  map[string]string{"log.message.timestamp.type": "LogAppendTime"},
		Cluster: []kfake.Opt{kfake.NumBrokers(3)},
	})
	topic := unique()
	c := client(t, s.Reach(), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	want(t, "three replicas", tryCreate(t, c, topic, 1, 3), nil)
	old := &kgo.Record{Topic: topic, Timestamp: time.Unix(1e9, 0), Value: []byte("x")}
	if err := c.ProduceSync(within(t), old).FirstErr(); err != nil {
		t.Fatal(err)
	}
	c.PollFetches(within(t)).EachRecord(func(r *kgo.Record) {
		if time.Since(r.Timestamp) > time.Minute {
			t.Errorf("the timestamp is %v", r.Timestamp)
		}
	})
}

// lines is a channel of what is written to it.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// kfake's log lines reach the logger.
func TestLogger(t *testing.T) {
	said := make(lines, 100)
	s := serve(t,
		&kafkalocal.ServerOptions{
			Addr:   "127.0.0.1:0",
			Logger: slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	torn := []byte{0, 0, 0, 12, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 0} // a Metadata request of no topics, cut short
	if _, err := conn.Write(torn); err != nil {
		t.Fatal(err)
	}
	if line := <-said; !strings.Contains(line, "unable to parse request") {
		t.Errorf("logged: %s", line)
	}
}
