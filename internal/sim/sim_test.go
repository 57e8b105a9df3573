package sim

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Flags of `go test ./internal/sim`, which the Makefile's targets sim and sim-mutants set.
var (
	oneSeed   = flag.Uint64("sim.seed", 0, "run only this seed")
	fullTrace = flag.String("sim.trace", "", "write the trace of -sim.seed to this file")
	tallyFile = flag.String("sim.tally", "", "write the tally of -sim.seed to this file")
)

// fewSeeds are the seeds of a plain `go test`. They are fast, and every kind of fault and check occurs in at least one
// of them.
func fewSeeds() []uint64 {
	few := []uint64{3, 4, 11, 15, 20, 21, 23, 30, 35, 36, 46, 47, 48, 49, 52, 58, 61, 63, 77, 78, 79, 83}
	if withKafka {
		few = append(few, 13, 53)
	}
	return few
}

// With all kinds of faults, consumers keep their promises.
func TestWorlds(t *testing.T) {
	if *oneSeed != 0 {
		oneWorld(t, *oneSeed)
		return
	}
	all := newTally()
	for _, seed := range fewSeeds() {
		checkSeed(t, seed, all)
	}
	if none := all.missing(); len(none) > 0 && !t.Failed() {
		t.Errorf("these did not occur in the seeds %v: %s", fewSeeds(), strings.Join(none, "; "))
	}
}

// checkSeed runs one seed and reports its violations.
func checkSeed(t *testing.T, seed uint64, all *tally) *world {
	begun := time.Now()
	run := runSeed
	if kindOf(seed) == worldKafka && !withKafka {
		t.Skipf("seed %d is a world of Kafka, which needs the build tag synctests", seed)
	}
	switch kindOf(seed) {
	case worldOperated, worldKafka:
		run = runOperated
	case worldLater:
		run = runLater
	}
	w, wrong := run(t, seed)
	all.merge(w.tally.counts())
	for i, violation := range wrong {
		if i == 5 {
			t.Errorf("seed %d: and %d more", seed, len(wrong)-i)
			break
		}
		t.Errorf("seed %d: %s", seed, violation)
	}
	if len(wrong) > 0 {
		t.Logf("to repeat it: make sim SEED=%d", seed)
	}
	t.Logf("seed %d: trace %s, drained %v after the time of faults, took %v", seed, w.trace.sum(),
		w.rest.Round(time.Second), time.Since(begun).Round(time.Millisecond))
	return w
}

// oneWorld runs one seed in this process, and writes its trace and tally.
func oneWorld(t *testing.T, seed uint64) {
	all := newTally()
	w := checkSeed(t, seed, all)
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
