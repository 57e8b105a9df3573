package localaws_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/s3"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// speed is a flag, because a time limit says nothing about a run beside others or with the race detector.
var speed = flag.Bool("localaws.speed", false, "judge how fast the server is; run nothing else meanwhile")

// tries is how often a measurement may be repeated: the best one counts, because other load can only make it worse.
const tries = 5

// within fails the test unless one of a few measurements stays below a limit.
func within(t *testing.T, limit time.Duration, measure func() time.Duration) {
	t.Helper()
	best := time.Duration(math.MaxInt64)
	for range tries {
		if best = min(best, measure()); best < limit {
			t.Logf("%v, of %v", best, limit)
			return
		}
	}
	t.Errorf("took %v, more than %v", best, limit)
}

// TestSpeed holds the server against its limits of time. CI runs it alone, as .ci/speed.
func TestSpeed(t *testing.T) {
	if !*speed {
		t.Skip("only with -localaws.speed")
	}
	t.Run("fourteen days by Advance", func(t *testing.T) {
		within(t, 5*time.Second, func() time.Duration {
			begin := time.Now()
			passFortnight(t, advance)
			return time.Since(begin)
		})
	})
	t.Run("a minute of the metrics of a thousand queues, of 1 % of a core", func(t *testing.T) {
		server, err := localaws.New(&localaws.Options{Seed: testSeed})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		m := newMeters(t, server)
		for i := range 1000 {
			m.send(m.queue(fmt.Sprintf("q%03d", i), nil), "x")
		}
		within(t, time.Minute/100, func() time.Duration {
			const minutes = 30
			begin := time.Now()
			server.Advance(minutes * time.Minute)
			return time.Since(begin) / minutes
		})
	})
	t.Run("a page of 1,000 keys among a million", func(t *testing.T) {
		server := millionKeys(t)
		defer server.Close()
		within(t, 10*time.Millisecond, func() time.Duration {
			var took []time.Duration
			for i := range 21 {
				begin := time.Now()
				listAfter(t, server, i*45_000)
				took = append(took, time.Since(begin))
			}
			slices.Sort(took)
			return took[len(took)/2]
		})
	})
	speedOfKept(t)
	for _, what := range []string{"put", "get"} {
		t.Run("processor time of "+what+" of 1 MiB, beside canned replies", func(t *testing.T) {
			best := 0.0
			for range tries {
				if best = max(best, cpuBesideCanned(t, what)); best >= 0.75 {
					t.Logf("%.2f of canned replies", best)
					return
				}
			}
			t.Errorf("%.2f of canned replies, want at least 0.75", best)
		})
	}
	for _, size := range []int{1 << 10, 1 << 20} {
		for _, what := range []string{"put", "get"} {
			t.Run(fmt.Sprintf("%s %d bytes, beside canned replies", what, size), func(t *testing.T) {
				best := 0.0
				for range tries {
					if best = max(best, besideCanned(t, what, size)); best >= 0.7 {
						t.Logf("%.2f of canned replies", best)
						return
					}
				}
				t.Errorf("%.2f of canned replies, want at least 0.7", best)
			})
		}
	}
}

// cpuBesideCanned returns the processor time of a handler that gives canned replies, as a share of that of localaws,
// for the same calls. Each turn is a server in a process of its own; the median of the turns counts, because the
// kernel's part depends on where it wakes the client.
func cpuBesideCanned(t *testing.T, what string) float64 {
	t.Helper()
	body := bytes.Repeat([]byte{'x'}, 1<<20)
	cost := func(kind string, calls int) time.Duration {
		addr, stop := serveElsewhere(t, kind)
		c, closeIdle := objectClient(addr)
		call := objectCall(t, c, what, body)
		for range calls {
			call()
		}
		closeIdle()
		return stop()
	}
	few, many := 20, 320
	if what == "get" { // which costs a tenth
		many = 3020
	}
	took := map[string][]time.Duration{}
	for range 5 {
		for _, kind := range []string{"localaws", "canned-objects"} {
			start := cost(kind, few)
			took[kind] = append(took[kind], cost(kind, many)-start)
		}
	}
	median := func(kind string) float64 {
		slices.Sort(took[kind])
		return float64(took[kind][len(took[kind])/2])
	}
	return median("canned-objects") / median("localaws")
}

// millionKeys returns a server with a bucket of a million empty objects.
func millionKeys(t *testing.T) *localaws.Server {
	t.Helper()
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.S3().Plant(s3.Seed{Name: "million"}); err != nil {
		t.Fatal(err)
	}
	b := server.S3().Bucket("million")
	now := server.Now()
	for i := range 1_000_000 {
		o := &bucket.Object{Key: fmt.Sprintf("key/%07d", i), ETag: "d41d8cd98f00b204e9800998ecf8427e", Modified: now}
		if err := b.Put(o, bucket.Condition{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return server
}

// listAfter lists a page of the million keys behind one of them.
func listAfter(t *testing.T, server *localaws.Server, i int) {
	t.Helper()
	url := fmt.Sprintf("http://localaws/million?list-type=2&start-after=key/%07d", i)
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if n := bytes.Count(text, []byte("<Key>")); err != nil || n != 1000 {
		t.Fatalf("%d keys, %v", n, err)
	}
}

// besideCanned returns how fast localaws is, as a share of a handler that gives canned replies. Both are in processes
// of their own, and take turns, so that other load slows both; of each, the fastest turn counts.
func besideCanned(t *testing.T, what string, size int) float64 {
	t.Helper()
	body := bytes.Repeat([]byte{'x'}, size)
	calls := max(20, 200*(1<<10)/size)
	kinds := []string{"localaws", "canned-objects"}
	var call [2]func()
	fastest := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for i, kind := range kinds {
		addr, stop := serveElsewhere(t, kind)
		c, closeIdle := objectClient(addr)
		t.Cleanup(func() {
			closeIdle()
			stop()
		})
		call[i] = objectCall(t, c, what, body)
	}
	for range 12 {
		for i := range kinds {
			begin := time.Now()
			for range calls {
				call[i]()
			}
			fastest[i] = min(fastest[i], time.Since(begin))
		}
	}
	return float64(fastest[1]) / float64(fastest[0])
}
