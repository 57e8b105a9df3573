package sim

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Flags of `go test ./internal/sim`; the Makefile's targets sim and sim-mutants set them.
var (
	oneSeed   = flag.Uint64("sim.seed", 0, "run this seed alone")
	fullTrace = flag.String("sim.trace", "", "write the trace of -sim.seed to this file")
	tallyFile = flag.String("sim.tally", "", "write the tally of -sim.seed to this file")
)

// fewSeeds are the worlds that a plain `go test` lives through: cheap ones, which see every kind of fault between them.
func fewSeeds() []uint64 {
	return []uint64{4, 11, 15, 21, 30, 35, 36, 46, 47, 48, 49, 52, 58, 77, 78, 79}
}

// Whatever strikes, the promises of the consumer hold.
func TestWorlds(t *testing.T) {
	if *oneSeed != 0 {
		alone(t, *oneSeed)
		return
	}
	all := newTally()
	for _, seed := range fewSeeds() {
		judge(t, seed, all)
	}
	if none := all.missing(); len(none) > 0 && !t.Failed() {
		t.Errorf("in seeds %v never struck: %s", fewSeeds(), strings.Join(none, "; "))
	}
}

// judge lives through one seed and says what is wrong with it.
func judge(t *testing.T, seed uint64, all *tally) *world {
	begun := time.Now()
	w, wrong := live(t, seed)
	all.merge(w.tally.counts())
	for i, complaint := range wrong {
		if i == 5 {
			t.Errorf("seed %d: and %d more", seed, len(wrong)-i)
			break
		}
		t.Errorf("seed %d: %s", seed, complaint)
	}
	if len(wrong) > 0 {
		t.Logf("to see it again: make sim SEED=%d", seed)
	}
	t.Logf("seed %d: trace %s, drained %v after the trouble, %v", seed, w.trace.sum(), w.rest.Round(time.Second), time.Since(begun).Round(time.Millisecond))
	return w
}

// alone is one seed in a process of its own.
func alone(t *testing.T, seed uint64) {
	all := newTally()
	w := judge(t, seed, all)
	if *fullTrace != "" {
		if err := os.WriteFile(*fullTrace, []byte(strings.Join(w.trace.all(), "\n")+"\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
	if *tallyFile == "" {
		all.print(os.Stdout)
		return
	}
	var out strings.Builder
	for kind, n := range all.counts() {
		fmt.Fprintf(&out, "%d %s\n", n, kind)
	}
	if err := os.WriteFile(*tallyFile, []byte(out.String()), 0o600); err != nil {
		t.Error(err)
	}
}
