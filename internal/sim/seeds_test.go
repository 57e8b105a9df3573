package sim

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	manySeeds = flag.Int("sim.seeds", 0,
		"run this many seeds that have not yet passed at this commit, each in a process of its own")
	ledgerPath = flag.String("sim.ledger", "",
		"the file that counts the seeds that passed; default: in the user's cache folder")
	replaySeed = flag.Uint64("sim.replay", 0, "run this seed twice, and compare the traces")
	keepTrace  = flag.String("sim.out", "", "where -sim.replay writes the trace")
	oneOrder   = flag.Uint("sim.order", 0, "the order of goroutines in a replay: 0 is that of the seed")
	manyOrders = flag.Uint("sim.orders", 0,
		"run -sim.replay, or else the seeds of a plain `go test`, in this many orders of goroutines")
)

// enough is the number of seeds in which every kind of fault must occur.
const enough = 20

// seedTakes bounds the real time of one seed, which normally needs a few seconds. A world of half a day needs half a
// minute on a quiet machine, and a loaded machine is no failure.
const (
	seedTakes     = 2 * time.Minute
	longSeedTakes = 15 * time.Minute
)

// takes is the bound for a seed.
func takes(seed uint64) time.Duration {
	if kind := newPlan(seed).kind; kind == worldOutage || kind == worldKept {
		return longSeedTakes
	}
	return seedTakes
}

// trial is one run of a world: its plan, and the order of its goroutines.
type trial struct {
	seed  uint64
	order uint
}

func (t trial) String() string {
	if t.order == 0 {
		return fmt.Sprint("SEED=", t.seed)
	}
	return fmt.Sprintf("SEED=%d ORDER=%d", t.seed, t.order)
}

// firstOrder are the trials of seeds in their own order.
func firstOrder(seeds []uint64) []trial {
	trials := make([]trial, len(seeds))
	for i, seed := range seeds {
		trials[i].seed = seed
	}
	return trials
}

// verdict is the result of one trial's process.
type verdict struct {
	trial
	ok     bool
	output string
	trace  string
	counts map[string]int
}

// run runs a trial in a process of its own, so that every run is the same. Arguments, environment and the length of
// the working folder's name must be the same, too, because they are on the heap. Memory profiling is off, because it
// allocates at random. An order is one more argument, which changes the random numbers of the runtime but not the plan.
func (b *builder) run(ctx context.Context, binary string, t trial, trace string) verdict {
	ctx, cancel := context.WithTimeout(ctx, takes(t.seed))
	defer cancel()
	v := verdict{trial: t, counts: map[string]int{}}
	dir := filepath.Join(b.dir, fmt.Sprintf("%08d", b.runs.Add(1)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		v.output = err.Error()
		return v
	}
	defer func() { _ = os.RemoveAll(dir) }() // the builder removes what is left
	cmd := exec.CommandContext(ctx, binary)
	cmd.Args = []string{
		"sim", "-test.run=^TestWorlds$", "-test.v", fmt.Sprint("-sim.seed=", t.seed), "-sim.tally=tally",
		"-sim.trace=trace",
	}
	if t.order > 0 {
		cmd.Args = append(cmd.Args, fmt.Sprint("-sim.order=", t.order))
	}
	cmd.Dir = dir
	cmd.Env = []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=2GiB", "GODEBUG=asyncpreemptoff=1,memprofilerate=0"}
	out, err := cmd.CombinedOutput()
	v.ok, v.output = err == nil, string(out)
	if ctx.Err() != nil {
		v.output = fmt.Sprintf("%s did not end within %v\n", t, takes(t.seed)) + v.output
	}
	if m := regexp.MustCompile(`trace ([0-9a-f]{12})`).FindStringSubmatch(v.output); m != nil {
		v.trace = m[1]
	}
	text, _ := os.ReadFile(filepath.Join(dir, "tally")) // a process that died has no tally
	for line := range strings.Lines(string(text)) {
		n, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		v.counts[kind], _ = strconv.Atoi(n)
	}
	if trace != "" {
		if err := os.Rename(filepath.Join(dir, "trace"), trace); err != nil {
			v.output += err.Error()
		}
	}
	return v
}

// TestSeeds runs the seeds that are not in the ledger.
func TestSeeds(t *testing.T) {
	if *manySeeds == 0 {
		t.Skip("run it with: make sim")
	}
	begun := time.Now()
	b := newBuilder(t)
	binary := b.build("sim")
	l, err := openLedger(*ledgerPath, b.root)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fmt.Printf("commit %s: %d seeds have passed so far (%s)\n", l.commit, len(l.passed), l.path)
	seeds := l.next(*manySeeds)
	all := newTally()
	traces := map[uint64]string{}
	passed := 0
	results := b.runAll(binary, firstOrder(seeds), func(v verdict) {
		all.merge(v.counts)
		traces[v.seed] = v.trace
		if !v.ok {
			return
		}
		passed++
		if err := l.pass(v.seed); err != nil {
			t.Error(err)
		}
	})
	all.print(os.Stdout)
	if len(traces) == len(seeds) { // otherwise it was stopped
		b.replays(binary, seeds, traces)
	}
	for _, v := range results {
		t.Errorf("seed %d failed; to repeat it: make sim SEED=%d\n%s", v.seed, v.seed, clip(v.output, 60))
	}
	if none := all.missing(); len(none) > 0 && len(traces) >= enough {
		t.Errorf("these did not occur: %s", strings.Join(none, "; "))
	}
	fmt.Printf("%d of %d seeds passed in %v, seeds %d to %d; %d have passed at commit %s\n",
		passed, len(seeds), time.Since(begun).Round(time.Second), seeds[0], seeds[len(seeds)-1],
		len(l.passed), l.commit)
}

// replays runs a few seeds a second time, and checks that the trace is the same.
func (b *builder) replays(binary string, seeds []uint64, traces map[uint64]string) {
	if !b.exact {
		return
	}
	const handful = 5
	again := slices.Clone(seeds)
	rand.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	again = again[:min(handful, len(again))]
	b.runAll(binary, firstOrder(again), func(v verdict) {
		if v.trace == "" || v.trace != traces[v.seed] {
			b.Errorf("two runs of seed %d differ, with the traces %q and %q, so a failure cannot be repeated", v.seed,
				traces[v.seed], v.trace)
		}
	})
	fmt.Printf("seeds %v were run again\n", again)
}

// untilStopped returns a context that ends when the run is interrupted, or shortly before the time of the test is over.
func (b *builder) untilStopped() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(b.Context(), os.Interrupt, syscall.SIGTERM)
	end, limited := b.Deadline()
	if !limited {
		return ctx, stop
	}
	ctx, cancel := context.WithDeadline(ctx, end.Add(-10*time.Second))
	return ctx, func() { cancel(); stop() }
}

// runAll runs trials, as many at the same time as there are processors, and returns those that failed, in order. If it
// is stopped, it says which have not ended.
func (b *builder) runAll(binary string, trials []trial, each func(verdict)) (failed []verdict) {
	ctx, cancel := b.untilStopped()
	defer cancel()
	todo := make(chan trial)
	var mu sync.Mutex
	var workers sync.WaitGroup
	left := map[trial]bool{}
	for _, t := range trials {
		left[t] = true
	}
	for range runtime.NumCPU() {
		workers.Go(func() {
			for t := range todo {
				v := b.run(ctx, binary, t, "")
				if !v.ok && ctx.Err() != nil {
					return
				}
				mu.Lock()
				delete(left, t)
				each(v)
				if !v.ok {
					failed = append(failed, v)
				}
				mu.Unlock()
			}
		})
	}
	for _, t := range trials {
		select {
		case todo <- t:
		case <-ctx.Done():
		}
	}
	close(todo)
	workers.Wait()
	if len(left) > 0 {
		b.Errorf("stopped (%v): %d worlds have not ended: %v", context.Cause(ctx), len(left),
			slices.SortedFunc(maps.Keys(left), compareTrials))
	}
	slices.SortFunc(failed, func(a, b verdict) int { return compareTrials(a.trial, b.trial) })
	return failed
}

func compareTrials(a, b trial) int {
	return cmp.Or(cmp.Compare(a.seed, b.seed), cmp.Compare(a.order, b.order))
}

// TestOrders runs the same plans in other orders of goroutines. A plain `go test` meets one order by chance; here a
// failure can be repeated.
func TestOrders(t *testing.T) {
	if *manyOrders == 0 {
		t.Skip("run it with: make sim ORDERS=n")
	}
	seeds := fewSeeds()
	if *replaySeed != 0 {
		seeds = []uint64{*replaySeed}
	}
	var trials []trial
	for order := range *manyOrders {
		for _, seed := range seeds {
			trials = append(trials, trial{seed, order + 1})
		}
	}
	b := newBuilder(t)
	passed := 0
	for _, v := range b.runAll(b.build("sim"), trials, func(v verdict) {
		if v.ok {
			passed++
		}
	}) {
		t.Errorf("a world failed; to repeat it: make sim %s\n%s", v.trial, clip(v.output, 60))
	}
	fmt.Printf("%d of %d worlds passed\n", passed, len(trials))
}

// TestReplay runs one seed twice, and checks that both runs are the same.
func TestReplay(t *testing.T) {
	if *replaySeed == 0 {
		t.Skip("run it with: make sim SEED=n")
	}
	b := newBuilder(t)
	binary := b.build("sim")
	again := trial{*replaySeed, *oneOrder}
	first := b.run(t.Context(), binary, again, filepath.Join(b.dir, "first"))
	second := b.run(t.Context(), binary, again, "")
	fmt.Print(first.output)
	switch {
	case first.trace == "" || first.trace != second.trace:
		t.Errorf("two runs of seed %d differ: traces %q and %q", *replaySeed, first.trace, second.trace)
	default:
		fmt.Printf("two runs of seed %d have the same trace, %s\n", *replaySeed, first.trace)
	}
	if *keepTrace != "" {
		text, err := os.ReadFile(filepath.Join(b.dir, "first"))
		if err == nil {
			err = os.WriteFile(*keepTrace, text, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
		fmt.Printf("the trace is in %s\n", *keepTrace)
	}
	if !first.ok {
		t.Errorf("seed %d failed", *replaySeed)
	}
}

// clip returns the first lines of a text.
func clip(text string, most int) string {
	lines := strings.SplitAfterN(text, "\n", most+1)
	if len(lines) > most {
		lines = append(lines[:most], "…\n")
	}
	return strings.Join(lines, "")
}
