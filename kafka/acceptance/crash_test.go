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

// child is the environment variable that makes this test's program a consumer. Its value has the address of the broker,
// and the namespace.
const child = "GODWIT_TEST_CONSUMER"

func TestMain(m *testing.M) {
	if where := os.Getenv(child); where != "" {
		os.Exit(consume(where))
	}
	if where := os.Getenv(transformingChild); where != "" {
		os.Exit(transformUntilKilled(where))
	}
	os.Exit(m.Run())
}

// consume is the program of the child process. It prints the number of each record that it has handled, and runs until
// it is killed.
func consume(where string) int {
	addr, ns, _ := strings.Cut(where, " ")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // returns when the parent process ends
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
		if err := nap(ctx, workTime(d.Body)); err != nil {
			return err
		}
		_, err := os.Stdout.WriteString(string(d.Body) + "\n")
		return err
	})
	logger.Error("the consumer has ended", "error", err)
	return 1
}

// workTime is how long the handling of a record takes: for most a few milliseconds, for some seconds, so that thousands
// of later records are finished before those.
func workTime(body []byte) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write(body)
	if h.Sum32()%2000 == 0 {
		return 2 * time.Second
	}
	return time.Duration(2+h.Sum32()%20) * time.Millisecond
}

// The mistake: after a crash all records behind the oldest unfinished one are handled again. The test kills a consumer
// (-9) several times while thousands of records are finished behind slow ones. No record is lost, and no record is
// handled again that was finished longer than one commit interval before the kill.
func TestCrashDuplicatesOfFinishedWork(t *testing.T) {
	records, lives := 60_000, 4
	if testing.Short() {
		records, lives = 30_000, 2
	}
	// There is a commit every second. The rest is for its request, and for the delays of a busy machine.
	const interval = time.Second + 700*time.Millisecond
	w := inRealTime(t)
	w.create(2)
	w.ensure(kafka.Options{})
	w.fill(records, 500)

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	finished := map[int]life{} // the life in which each record was last finished
	again, wasted := 0, 0
	for n := 0; len(finished) < records; n++ {
		long := 24 * time.Hour // the last life ends when all records are handled
		if n < lives {
			long = 1500*time.Millisecond + time.Duration(chance.IntN(1500))*time.Millisecond
		}
		this := w.live(long, records, finished)
		t.Logf("life %d: the first record was handled after %v, and %d in all", n, this.idle, len(this.finished))
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
	t.Logf("%d records, killed %d times: %d handled again, %d of them although their commit was due", records, lives, again,
		wasted)
	if wasted > 0 {
		t.Errorf("%d records were handled again that had been finished more than %v before the kill", wasted, interval)
	}
}

// life is what one process did until it was killed.
type life struct {
	finished map[int]time.Time
	killed   time.Time
	idle     time.Duration // until its first record was handled
}

// live runs a consumer in another process. It kills the process (-9) that time after its first record, or when this and
// earlier processes have handled all records.
func (w *world) live(long time.Duration, records int, before map[int]life) life {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+w.addr+" "+w.ns)
	cmd.Stderr = os.Stderr
	// The pipe closes when this process ends in any way, and then the child ends.
	if _, err := cmd.StdinPipe(); err != nil {
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
	kill := time.AfterFunc(time.Minute, func() { // at most a minute until the first record
		killed <- time.Now()
		_ = cmd.Process.Kill()
	})
	this := life{finished: map[int]time.Time{}}
	missing := records - len(before)
	for lines := bufio.NewScanner(out); missing > 0 && lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			w.t.Errorf("the consumer printed %q", lines.Text())
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

// inRealTime returns a world whose broker other processes can connect to.
func inRealTime(t *testing.T) *world {
	t.Helper()
	if addr := os.Getenv(realBroker); addr != "" {
		w := newWorld(t, nil, []kgo.Opt{kgo.SeedBrokers(addr)})
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
	w := newWorld(t, s, s.Reach())
	w.addr = s.Addr()
	return w
}
