package sim

import (
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	mutantSeeds = flag.Int("sim.mutants", 0,
		"break the code in one place at a time, and run up to this many seeds until one fails")
	mutantNames = flag.String("sim.only", "", "the mutants of -sim.mutants, as a regular expression")
)

// mutant is a change to the code that the simulation must find. A few defects would be found only by chance, and have
// unit tests instead of mutants: a renewal after a release, a lane that continues after its lease has ended, an age
// that includes the channel's own delay, and a dead letter with its original deduplication id.
type mutant struct {
	name    string
	patches []patch
}

func mutants() []mutant {
	return []mutant{
		{"continue-the-lane-after-a-release", []patch{{
			"internal/engine/flow.go",
			"\tcase driver.BehindReleases:\n\t\tf.thenSettle(next, driver.Release, 0)\n",
			"\tcase driver.BehindReleases:\n\t\tf.then(next, wayReady)\n",
		}}},
		{"delete-before-handling", []patch{
			{
				"internal/engine/worker.go",
				"\tr.obs.Started(next)\n",
				"\t_ = it.in.service.recv.Settle(context.Background(), []driver.Settlement{{Handle: next.handle, Action: driver.Done}})\n\tr.obs.Started(next)\n",
			},
			{
				"internal/engine/worker.go", "\t\"bytes\"\n",
				"\t\"bytes\"\n\t\"context\"\n",
			},
		}},
		{"drop-the-leases-of-waiting-messages", []patch{{
			"internal/engine/keeper.go",
			"\t\t\tcase left == 0, it.lease.going, it.lease.renewing != nil:\n",
			"\t\t\tcase it.state.waiting():\n\t\t\tcase left == 0, it.lease.going, it.lease.renewing != nil:\n",
		}}},
		{"cancel-settles-on-shutdown", []patch{{
			"internal/engine/settler.go",
			"\t\t\terr := r.Settle(ctx, ss)\n",
			"\t\t\terr := r.Settle(f.polls, ss)\n",
		}}},
		{"ignore-batch-failures", []patch{{
			"snssqs/internal/client/batch.go",
			"\t\treturn entries.Errs[entry]\n",
			"\t\treturn nil\n",
		}}},
		{"finish-deliveries-after-a-failed-one", []patch{{
			"internal/engine/batch.go",
			"\t\tif it.lost.Load() || v.Action != ActionDone && !dropped {\n",
			"\t\tif it.lost.Load() || dropped && false {\n",
		}}},
		{"finish-deliveries-after-a-dropped-one", []patch{{
			"internal/engine/batch.go",
			"\t\tdropped := v.Action == ActionDrop && !v.Failed && failed[i] == nil\n",
			"\t\tdropped := v.Action == ActionDrop\n",
		}}},
		{"expire-at-half-the-age", []patch{{
			"delivery.go",
			"\t\td.ExpiresAt = in.First.Add(life)\n",
			"\t\td.ExpiresAt = in.First.Add(life / 2)\n",
		}}},
		{"count-the-age-from-the-receive", []patch{{
			"delivery.go",
			"\t\td.ExpiresAt = in.First.Add(life)\n",
			"\t\td.ExpiresAt = time.Now().Add(life)\n",
		}}},
		{"discard-what-should-be-a-dead-letter", []patch{{
			"consumer.go",
			"\tif c.o.DeadLetterExpired {\n",
			"\tif c.o.DeadLetterExpired && false {\n",
		}}},
		{"retry-after-the-expiry", []patch{{
			"handling.go",
			"v.Action != engine.ActionRetry || !d.late(v.After) {\n",
			"v.Action != engine.ActionRetry || !d.late(v.After) || true {\n",
		}}},
		{"keep-waiting-deliveries-in-a-pause", []patch{{
			"internal/engine/gate.go",
			"\tif g.f.lim.Keeps {\n",
			"\tif true {\n",
		}}},
		{"stay-paused", []patch{{
			"consumer.go",
			"\t\ts.Resume()\n",
			"\t\t_ = s\n",
		}}},
		{"ignore-the-share-of-a-tenant", []patch{{
			"internal/engine/tenants.go",
			"\tif one == nil || one.out < t.share {\n",
			"\tif one == nil || one.out < 2*t.share {\n",
		}}},
		{"count-a-release-as-an-attempt", []patch{{
			"internal/engine/flow.go",
			"func (f *flow) releaseAfter(it *Item, e event, pause time.Duration) {\n\tf.untouched(it)\n",
			"func (f *flow) releaseAfter(it *Item, e event, pause time.Duration) {\n\tf.talk.about(it, Observer.Released)\n",
		}}},
		{"count-attempts-while-the-breaker-is-open", []patch{{
			"internal/engine/breaker.go",
			"\treturn open\n",
			"\treturn false\n",
		}}},
		{"never-grow", []patch{{
			"internal/engine/pacing.go",
			"\tp.workers = p.pacer.Tick(sample)\n",
			"\t_ = p.pacer.Tick(sample)\n",
		}}},
		{"never-shrink", []patch{{
			"internal/engine/pacing.go",
			"\tp.workers = p.pacer.Tick(sample)\n",
			"\tp.workers = max(before, p.pacer.Tick(sample))\n",
		}}},
		{"serve-only-the-first-of-a-fleet", []patch{{
			"internal/engine/fleet.go",
			"\t\tat := (b.turn + i) % len(b.queues)\n",
			"\t\tat := i\n",
		}}},
		{"ignore-the-limit-in-a-fleet", []patch{{
			"internal/engine/fleet.go",
			"q.gathering || !q.alone && q.active >= q.limit {",
			"q.gathering {",
		}}},
		{"ignore-the-weights-of-a-fleet", []patch{{
			"internal/engine/fleet.go",
			"\t\tb.turn, b.left = best, q.weight\n",
			"\t\tb.turn, b.left = best, 1\n",
		}}},
		{"forget-finished-messages", []patch{{
			"snssqs/ledger.go",
			"\treturn known, copied\n",
			"\treturn known && false, copied\n",
		}}},
		{"delete-bodies-of-dead-letters", []patch{{
			"snssqs/settle.go",
			"\t\tif batch[i].Action == driver.Done && !batch[i].KeepBody && errs[i] == nil {\n",
			"\t\tif errs[i] == nil {\n",
		}}},
		{"leave-the-breaker-open", []patch{{
			"internal/engine/breaker.go",
			"\tif _, open := b.circuit.Open(now); !open {\n",
			"\tif _, open := b.circuit.Open(now); !open && b.over {\n",
		}}},
		{"never-probe", []patch{{
			"internal/engine/breaker.go",
			"\tb.let(fresh)\n",
			"\t_ = fresh\n",
		}}},
		{"count-a-held-retry-as-no-attempt", []patch{{
			"internal/engine/flow.go",
			"\tf.held.hold(it, v.After, it.Attempt)\n",
			"\tf.held.hold(it, v.After, it.Attempt-1)\n",
		}}},
		{"forget-failures-of-held-retries", []patch{{
			"internal/engine/worker.go",
			"\tit.Failures++\n",
			"\tit.Failures = 1\n",
		}}},
		{"keep-waiting-lanes-in-places", []patch{{
			"internal/engine/hold.go",
			"\tif f.lim.Keeps {\n",
			"\tif f.lim.HoldBelow > 0 {\n",
		}}},
		{"do-not-bound-the-shelf", []patch{{
			"internal/engine/places.go",
			"p.shelf+size <= p.bytes.limit/shelfPart\n",
			"p.shelf+size <= p.bytes.limit*shelfPart\n",
		}}},
		{"subscribe-without-the-filter", []patch{{
			"internal/filterpolicy/policy.go",
			"\tcase n == 0:\n",
			"\tcase n >= 0:\n",
		}}},
		{"compare-a-prefix-with-the-whole-key", []patch{{
			"snssqs/internal/wire/filter.go",
			"return strings.HasPrefix(key, p) }))\n",
			"return key == p && strings.HasPrefix(key, p) }))\n",
		}}},
		{"return-the-error-of-another-entry", []patch{{
			"internal/engine/batch.go",
			"\t\tv := r.decide(it, chosen[i], cause, failed[i])\n",
			"\t\tv := r.decide(it, chosen[i], cause, failed[len(its)-1-i])\n",
		}}},
		{"create-a-topic-without-subscriptions", []patch{{
			"snssqs/internal/estate/exchange.go",
			"\t\treturn p.subscribeAll(ctx, t, ExchangeOf(s.Channel))\n",
			"\t\treturn nil\n",
		}}},
		{"ignore-the-twelve-hours", []patch{{
			"snssqs/receiver.go",
			"\tleaseTotal    = maxVisibility - time.Minute\n",
			"\tleaseTotal    = 2 * maxVisibility\n",
		}}},
	}
}

// ledgerMutants are mutants of the engine's ledger. For each resource that a delivery holds there is one that does not
// return it in one transition, and one in which the resource's owner does not count it. The engine's unit tests find
// each of them.
func ledgerMutants() []mutant {
	const (
		file = "internal/engine/lifecycle.go"
		give = "\tif give := it.held &^ keeps; give != 0 {\n"
		take = "\tif take := want &^ it.held; take != 0 {\n"
	)
	edge := func(name, on, forgotten string) mutant {
		return mutant{"forget-" + name, []patch{{
			file, give,
			"\tgive := it.held &^ keeps\n\tif " + on + " {\n\t\tgive &^= " + forgotten +
				"\n\t}\n\tif give != 0 {\n",
		}}}
	}
	owner := func(name, file, old, new string) mutant {
		return mutant{"uncounted-" + name, []patch{{"internal/engine/" + file, old, new}}}
	}
	return []mutant{
		edge("the-place", "it.state == running && to == settling", "hasPlace"),
		edge("the-shelf", "it.state == shelved && to == queued", "hasShelf"),
		edge("the-bytes", "it.state == lost && to == gone", "hasBytes"),
		edge("the-lease", "it.state == settling && to == gone", "hasLease"),
		edge("the-lane", "it.state == shelved && to == settling", "hasLane"),
		edge("the-bus", "it.state == queued && to == gone", "hasLine"),
		edge("the-tenants-line", "it.state == aside && to == settling", "hasAside"),
		edge("the-timer", "it.state == shelved && to == gone", "hasTimer"),
		edge("the-share", "it.state == kept && to == settling", "hasShare"),
		edge("the-start", "it.state == canceled && to == shelved", "hasStart"),
		edge("what-runs", "it.state == gathering && to == behind", "hasRun"),
		edge("the-verdict", "it.state == settling && to == gone", "hasSettle"),
		{"forget-to-take-the-start", []patch{{
			file, take,
			"\ttake := want &^ it.held\n\tif to == settling {\n\t\ttake &^= hasStart\n\t}\n\tif take != 0 {\n",
		}}},
		{"keep-the-stint-of-what-waits", []patch{{
			file,
			"\tif to.waiting() {\n\t\tkeeps &^= hasStint\n", "\tif to == behind {\n\t\tkeeps &^= hasStint\n",
		}}},
		{"use-again-what-is-renewed", []patch{{
			"internal/engine/ledger.go",
			"\tif it.state == gone && it.held == 0 {\n", "\tif it.state == gone && it.held&^hasRenew == 0 {\n",
		}}},
		owner("place", "ledger.go", "\t\tp.taken--\n", ""),
		owner("shelf", "ledger.go",
			"\t\tp.shelved, p.shelf = p.shelved-1, p.shelf-it.size\n", "\t\tp.shelf -= it.size\n"),
		owner("bytes", "ledger.go", "\t\tp.bytes.give(it.size)\n", ""),
		owner("lease", "ledger.go", "\t\tl.leases.remove(it)\n", ""),
		owner("lane", "ledger.go", "\t\tit.src.leave(it)\n", ""),
		owner("bus", "ledger.go", "\t\tl.queue.remove(it)\n", ""),
		owner("share", "tenants.go", "\tone.out--\n", ""),
		owner("tenants-line", "tenants.go", "\tone.waiting--\n\tt.waiting.Add(-1)\n", "\tone.waiting--\n"),
		owner("timer", "ledger.go", "\t\theap.Remove(&l.retries, it.heapAt)\n", ""),
		owner("start", "ledger.go", "\t\tit.src.started--\n", ""),
		owner("what-runs", "ledger.go", "\t\tif l.running--; l.running == 0 {\n", "\t\tif l.running == 0 {\n"),
		owner("verdict", "ledger.go", "\t\tp.settling--\n", ""),
	}
}

// Every mutant still fits the source.
func TestMutantsFit(t *testing.T) {
	for _, m := range slices.Concat(mutants(), operatedMutants(), kafkaMutants(), ledgerMutants(), laterMutants()) {
		for _, p := range m.patches {
			if err := (patched{}).apply(p, "../..", ""); errors.Is(err, errNotOnce) {
				t.Errorf("%s: the source has changed: %v; adapt the mutant", m.name, err)
			} else if err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// TestMutants checks that the simulation finds each mutant.
func TestMutants(t *testing.T) {
	if *mutantSeeds == 0 {
		t.Skip("run it with: make sim-mutants")
	}
	b := newBuilder(t)
	whole := b.build("sim")
	for _, of := range []struct {
		kind    worldKind
		mutants []mutant
	}{
		{worldFaults, mutants()},
		{worldOperated, operatedMutants()},
		{worldKafka, kafkaMutants()},
		{worldLater, laterMutants()},
	} {
		for _, m := range of.mutants {
			if !regexp.MustCompile(*mutantNames).MatchString(m.name) {
				continue
			}
			found, ok := b.find(m, of.kind, *mutantSeeds)
			if !ok {
				t.Errorf("%s: not found in %d seeds", m.name, *mutantSeeds)
				continue
			}
			if v := b.run(t.Context(), whole, trial{seed: found.seed}, ""); !v.ok {
				t.Errorf("seed %d fails without %s, too: %s", found.seed, m.name, firstViolation(v.output))
			}
			fmt.Printf("%-38s found by seed %d: %s\n", m.name, found.seed, firstViolation(found.output))
		}
	}
}

// TestLedgerMutants checks that the engine's unit tests find each mutant of its ledger, without the simulation.
func TestLedgerMutants(t *testing.T) {
	if *mutantSeeds == 0 {
		t.Skip("run it with: make sim-mutants")
	}
	b := newBuilder(t)
	b.exact = false
	for _, m := range ledgerMutants() {
		binary := b.buildPackage("./internal/engine", m.name, m.patches...)
		cmd := exec.Command(binary, "-test.timeout", "1m")
		cmd.Dir = filepath.Join(b.root, "internal/engine")
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s: no unit test of the engine fails", m.name)
		} else {
			fmt.Printf("%-38s found: %s\n", m.name, firstFailure(string(out)))
		}
	}
}

// firstFailure returns the first message of a failed unit test.
func firstFailure(output string) string {
	for line := range strings.Lines(output) {
		if _, what, ok := strings.Cut(line, "_test.go:"); ok {
			return strings.TrimSpace(what)
		}
		if strings.HasPrefix(line, "panic:") {
			return strings.TrimSpace(line)
		}
	}
	return "the process ended without a message"
}

// find returns the first seed that finds a mutant, among those of a kind with operators, or among all seeds.
func (b *builder) find(m mutant, kind worldKind, seeds int) (verdict, bool) {
	binary := b.build(m.name, m.patches...)
	var all []uint64
	for seed := uint64(1); len(all) < seeds; seed++ {
		if kind == worldFaults || kindOf(seed) == kind {
			all = append(all, seed)
		}
	}
	for some := range slices.Chunk(all, 4) {
		if failed := b.runAll(binary, firstOrder(some), func(verdict) {}); len(failed) > 0 {
			return failed[0], true
		}
	}
	return verdict{}, false
}

// firstViolation returns the first violation of a failed seed.
func firstViolation(output string) string {
	for line := range strings.Lines(output) {
		if _, what, ok := strings.Cut(line, ": seed "); ok {
			_, what, _ = strings.Cut(what, ": ")
			return strings.TrimSpace(what)
		}
	}
	return "the process ended without a message"
}
