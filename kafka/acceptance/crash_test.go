//go:build synctests

package acceptance

import (
	"bufio"
	"context"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

// child in the environment makes this test's program a consumer of the broker and namespace that it names.
const child = "GODWIT_TEST_CONSUMER"

func TestMain(m *testing.M) {
	if who := os.Getenv(child); who != "" {
		os.Exit(consume(who))
	}
	os.Exit(m.Run())
}

// consume is the child: it tells of each record that it has handled, and lives until it is killed.
func consume(who string) int {
	addr, ns, _ := strings.Cut(who, " ")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent is gone
		cancel()
	}()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	b, err := kafka.Open(ctx, &kafka.Options{
		Brokers: []string{addr}, Namespace: ns, InstanceID: "the-one",
		Logger: logger,
	})
	if err != nil {
		logger.Error(err.Error())
		return 1
	}
	c, err := godwit.NewConsumer(ctx, b, channel, &godwit.ConsumerOptions{Concurrency: 200, Logger: logger})
	if err != nil {
		logger.Error(err.Error())
		return 1
	}
	_, err = c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
		if err := nap(ctx, toil(d.Body)); err != nil {
			return err
		}
		_, err := os.Stdout.WriteString(string(d.Body) + "\n")
		return err
	})
	logger.Error("the consumer has ended", "error", err)
	return 1
}

// toil is how long a record takes: most a few milliseconds, some seconds, so that thousands of later ones are finished
// before them.
func toil(body []byte) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write(body)
	if h.Sum32()%2000 == 0 {
		return 2 * time.Second
	}
	return time.Duration(2+h.Sum32()%20) * time.Millisecond
}

// The mistake: everything behind the oldest unfinished record is handled again after a crash. A consumer is killed (-9)
// again and again while thousands of records are finished beyond slow ones. None is lost; and none is handled again
// that was finished earlier than one commit interval before the kill.
func TestCrashDuplicatesOfFinishedWork(t *testing.T) {
	records, lives := 60_000, 4
	if testing.Short() {
		records, lives = 30_000, 2
	}
	// A commit a second, its way to the broker, and what two cores are late by that others use too.
	const interval = time.Second + 700*time.Millisecond
	w := inRealTime(t)
	w.create(2)
	w.ensure(kafka.Options{})
	w.fill(records, 500)

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	finished := map[int]life{} // in which each was last finished
	again, wasted := 0, 0
	for n := 0; len(finished) < records; n++ {
		long := 24 * time.Hour // the last one lives until all is done
		if n < lives {
			long = 1500*time.Millisecond + time.Duration(chance.IntN(1500))*time.Millisecond
		}
		this := w.live(long, records, finished)
		t.Logf("life %d: its first record came after %v, and it handled %d", n, this.idle, len(this.finished))
		for n := range this.finished {
			if before, known := finished[n]; known {
				again++
				if before.finished[n].Before(before.killed.Add(-interval)) {
					wasted++
				}
			}
			finished[n] = this
		}
	}
	t.Logf("%d records, killed %d times: %d handled again, %d of them for no good reason", records, lives, again,
		wasted)
	if wasted > 0 {
		t.Errorf("%d records were handled again that had been finished more than %v before the kill", wasted, interval)
	}
}

// life is what a consumer did until it was killed.
type life struct {
	finished map[int]time.Time
	killed   time.Time
	idle     time.Duration // until its first record
}

// live runs a consumer in a process of its own and kills it (-9) so long after its first record, or when every record
// was handled, before or by it.
func (w *world) live(long time.Duration, records int, before map[int]life) life {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+w.addr+" "+w.ns)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // it ends with us, whatever becomes of us
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	killed := make(chan time.Time, 1)
	kill := time.AfterFunc(time.Minute, func() { // a minute until the first record
		killed <- time.Now()
		_ = cmd.Process.Kill()
	})
	this := life{finished: map[int]time.Time{}}
	missing := records - len(before)
	for lines := bufio.NewScanner(out); missing > 0 && lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			w.t.Errorf("the consumer says %q", lines.Text())
			continue
		}
		if len(this.finished) == 0 {
			this.idle = time.Since(begun)
			kill.Reset(min(long, time.Minute))
		}
		this.finished[n] = time.Now()
		if _, known := before[n]; !known {
			missing--
		}
	}
	if kill.Stop() {
		killed <- time.Now()
		_ = cmd.Process.Kill()
	}
	this.killed = <-killed
	_ = cmd.Wait()
	if len(this.finished) == 0 || missing > 0 && long > time.Minute {
		w.t.Fatalf("the consumer has handled %d records in a minute, and %d are missing; committed is %v",
			len(this.finished), missing, w.committed())
	}
	return this
}

// inRealTime is a world whose broker other processes reach.
func inRealTime(t *testing.T) *world {
	t.Helper()
	if addr := os.Getenv(realBroker); addr != "" {
		w := settle(t, nil, []kgo.Opt{kgo.SeedBrokers(addr)})
		w.addr = addr
		return w
	}
	s, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w := settle(t, s, s.Reach())
	w.addr = s.Addr()
	return w
}
