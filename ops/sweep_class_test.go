package ops

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// reading is a number of the table: some, zero, missing (an answer without points, which the seam makes zero), denied,
// partial, or from a region without metrics.
func sweepReading(what string) (r driver.Reading[int64]) {
	switch what {
	case "some":
		r.Value = 3
	case "denied":
		r.Err = &driver.Error{Class: driver.Denied, Err: errors.New(what)}
	case "partial":
		r.Err = &driver.Error{Class: driver.Transient, Err: errors.New(what)}
	case "no metrics":
		r.Err = &driver.Error{Class: driver.NotFound, Err: errors.New(what)}
	}
	return r
}

// Every combination of what is known of a queue has the class that the rules say, in their order: the first rule that
// matches. "*" matches all, and "?" what is unknown.
func TestSweepClassOfQueues(t *testing.T) {
	rules := []struct {
		sent, received, empties, topic, messages, age, tags string
		want                                                SweepClass
	}{
		{"?", "*", "*", "*", "*", "*", "*", SweepUnknown},
		{"some", "some", "*", "*", "*", "*", "*", SweepUsed},
		{"some", "*", "some", "*", "*", "*", "*", SweepUsed},
		{"zero", "some", "*", "*", "*", "*", "*", SweepNoProducers},
		{"zero", "*", "some", "*", "*", "*", "*", SweepNoProducers},
		{"*", "?", "*", "*", "*", "*", "*", SweepUnknown},
		{"*", "*", "?", "*", "*", "*", "*", SweepUnknown},
		{"some", "zero", "zero", "*", "*", "*", "*", SweepNoConsumers},
		{"*", "*", "*", "some", "*", "*", "*", SweepNoProducers},
		{"*", "*", "*", "?", "*", "*", "*", SweepUnknown},
		{"*", "*", "*", "*", "first", "*", "*", SweepStale},
		{"*", "*", "*", "*", "second", "*", "*", SweepStale},
		{"*", "*", "*", "*", "in flight", "*", "*", SweepStale},
		{"*", "*", "*", "*", "delayed", "*", "*", SweepStale},
		{"*", "*", "*", "*", "?", "*", "*", SweepUnknown},
		{"*", "*", "*", "*", "empty", "old", "ours", SweepUnused},
		{"*", "*", "*", "*", "empty", "*", "*", SweepKept},
	}
	readings := []string{"some", "zero", "missing", "denied", "partial", "no metrics"}
	matches := func(rule, is string) bool {
		unknown := is == "denied" || is == "partial" || is == "no metrics" || is == "once" || is == "error"
		return rule == "*" || rule == is || rule == "zero" && is == "missing" || rule == "?" && unknown
	}
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	depths := map[string][]driver.Depth{
		"empty": {{}, {}}, "first": {{Waiting: 1}, {}}, "second": {{}, {Waiting: 1}}, "in flight": {{}, {InFlight: 1}},
		"delayed": {{Delayed: 1}, {}}, "once": {{}}, "error": {{}},
	}
	ages := map[string]time.Time{"old": now.Add(-SweepWindow), "young": now.Add(1 - SweepWindow), "unknown": {}}
	allTags := map[string]map[string]string{
		"ours":    {"managed-by": "godwit", "owner": "shop"},
		"kept":    {"managed-by": "godwit", "owner": "shop", "keep": ""},
		"another": {"managed-by": "godwit", "owner": "bank"},
		"foreign": {"owner": "shop"},
		"unknown": nil,
	}
	n, used := 0, map[int]bool{}
	for _, sent := range readings {
		for _, received := range readings {
			for _, empties := range readings {
				for _, topic := range append(readings, "none") {
					for messages := range depths {
						for age := range ages {
							for tags := range allTags {
								f := sweepFacts{
									info: driver.ChannelInfo{
										Channel: driver.Channel{Queue: "q"}, Created: ages[age], Tags: allTags[tags],
									},
									now: now, owner: "shop", depths: depths[messages],
								}
								f.activity.Sent, f.activity.Received = sweepReading(sent), sweepReading(received)
								f.activity.EmptyReceives = sweepReading(empties)
								if topic != "none" {
									f.topic = &driver.Activity{Sent: sweepReading(topic)}
								}
								if messages == "error" {
									f.depthErr = errors.New("denied")
								}
								var want SweepClass
								for i, r := range rules {
									if matches(r.sent, sent) && matches(r.received, received) &&
										matches(r.empties, empties) && matches(r.topic, topic) &&
										matches(r.messages, messages) && matches(r.age, age) && matches(r.tags, tags) {
										want, used[i] = r.want, true
										break
									}
								}
								n++
								if got, why := f.classify(); got != want || got != SweepUsed && why == "" {
									t.Fatalf("sent %s, received %s, empty %s, topic %s, messages %s, age %s, tags %s: "+
										"%s (%s), want %s", sent, received, empties, topic, messages, age, tags, got,
										why, want)
								}
							}
						}
					}
				}
			}
		}
	}
	if t.Logf("%d combinations", n); len(used) != len(rules) {
		t.Errorf("only %d of %d rules were used", len(used), len(rules))
	}
}

// Dead letters follow their channel, and never go with messages. Those without a channel must be unused themselves.
func TestSweepClassOfDeadLetters(t *testing.T) {
	for _, c := range []struct {
		source SweepClass
		sent   string
		n      int64
		want   SweepClass
	}{
		{SweepUnused, "some", 0, SweepUnused},
		{SweepUnused, "denied", 0, SweepUnused},
		{SweepUnused, "zero", 2, SweepStale},
		{SweepUsed, "zero", 0, SweepUsed},
		{SweepKept, "zero", 0, SweepUsed},
		{SweepStale, "zero", 0, SweepUsed},
		{SweepUnknown, "zero", 0, SweepUsed},
		{"", "zero", 0, SweepUnused},
		{"", "zero", 2, SweepStale},
		{"", "some", 0, SweepUsed},
		{"", "partial", 0, SweepUnknown},
	} {
		now := time.Now()
		f := sweepFacts{
			info: driver.ChannelInfo{
				Channel: driver.Channel{Queue: "q", DeadLetter: true}, Created: now.Add(-2 * SweepWindow),
				Tags: map[string]string{"managed-by": "godwit"},
			},
			now: now, source: c.source, depths: []driver.Depth{{Waiting: c.n}, {Waiting: c.n}},
			activity: driver.Activity{Sent: sweepReading(c.sent)},
		}
		if got, why := f.classify(); got != c.want {
			t.Errorf("%+v: %s (%s)", c, got, why)
		}
	}
}

// An exchange goes if it was not used for a day, is known for three, and feeds nothing that stays.
func TestSweepClassOfExchanges(t *testing.T) {
	now := time.Now()
	for _, published := range []string{"some", "zero", "missing", "denied", "partial", "no metrics"} {
		for _, delivered := range []string{"some", "zero", "denied"} {
			for _, others := range []string{"none", "one", "error"} {
				for _, seen := range []time.Time{{}, now.Add(1 - SweepWindow), now.Add(-SweepWindow)} {
					f := sweepFacts{
						info: driver.ChannelInfo{
							Channel: driver.Channel{Exchange: "e"}, Tags: map[string]string{"managed-by": "godwit"},
						},
						now: now, seen: seen,
						activity: driver.Activity{Sent: sweepReading(published), Delivered: sweepReading(delivered)},
					}
					switch others {
					case "one":
						f.others = []string{"arn"}
					case "error":
						f.othersErr = errors.New("denied")
					}
					known := published == "zero" || published == "missing"
					var want SweepClass
					switch {
					case published == "some" || delivered == "some":
						want = SweepUsed
					case !known || delivered == "denied" || others == "error":
						want = SweepUnknown
					case others == "one":
						want = SweepUsed
					case seen.Equal(now.Add(-SweepWindow)):
						want = SweepUnused
					default:
						want = SweepKept
					}
					if got, why := f.classify(); got != want {
						t.Error(fmt.Sprint(published, delivered, others, now.Sub(seen), got, why, " want ", want))
					}
				}
			}
		}
	}
	mapped := sweepFacts{info: driver.ChannelInfo{
		Channel: driver.Channel{Exchange: "e"}, Mapped: true, Tags: map[string]string{"managed-by": "godwit"},
	}, now: now, seen: now.Add(-SweepWindow)}
	if got, _ := mapped.classify(); got != SweepKept {
		t.Errorf("mapped: %s", got)
	}
}

// What a topology has declared is kept, whoever owns it.
func TestSweepKeepsWhatIsDeclared(t *testing.T) {
	tags := map[string]string{"managed-by": "godwit", "owner": "shop"}
	if why := forbiddenTags(tags, "shop"); why != "" {
		t.Errorf("without a topology: %s", why)
	}
	tags["topology"] = "prod"
	if why := forbiddenTags(tags, "shop"); why != "topology prod has declared it" {
		t.Errorf("with a topology: %q", why)
	}
}

// A queue that a command has made for itself goes when nobody polls it, also with messages, which are copies.
func TestSweepClassOfTemporaryQueues(t *testing.T) {
	now := time.Now()
	f := sweepFacts{
		info: driver.ChannelInfo{
			Channel: driver.Channel{Exchange: "e", Queue: "tail-1"}, Created: now.Add(-2 * SweepWindow),
			Tags: map[string]string{"managed-by": "godwit", "owner": "shop", tagTemporary: "tail"},
		},
		now: now, owner: "shop", depths: []driver.Depth{{Waiting: 2}, {Waiting: 2}},
	}
	for _, sent := range []string{"some", "zero"} {
		f.activity.Sent = sweepReading(sent)
		f.activity.Received, f.activity.EmptyReceives = sweepReading("zero"), sweepReading("zero")
		if got, why := f.classify(); got != SweepUnused {
			t.Errorf("%s: %s (%s)", sent, got, why)
		}
		f.activity.EmptyReceives = sweepReading("some")
		if got, why := f.classify(); got == SweepUnused {
			t.Errorf("%s, and somebody polls: %s (%s)", sent, got, why)
		}
	}
}

// Messages that wait for their time are used while their channel, or the exchange of the name, is not unused.
func TestSweepClassOfLaterMessages(t *testing.T) {
	later := driver.Channel{Queue: "q", Later: true}
	for _, of := range []driver.Channel{
		{Queue: "q"}, {Queue: "q", Ordered: true}, {Exchange: "q"}, {Exchange: "q", Ordered: true},
	} {
		for _, class := range []SweepClass{SweepUsed, SweepUnused} {
			classes := map[driver.Channel]SweepClass{of: class, {Queue: "other"}: SweepStale}
			if got := classOfLater(classes, later); got != class {
				t.Errorf("%s of %s: %s", later, of, got)
			}
		}
	}
	if got := classOfLater(map[driver.Channel]SweepClass{{Exchange: "q", Queue: "one"}: SweepUsed}, later); got != "" {
		t.Errorf("without its channel: %s", got)
	}
	for source, want := range map[SweepClass]SweepClass{SweepUsed: SweepUsed, SweepUnused: SweepStale, "": SweepStale} {
		f := sweepFacts{
			info:   driver.ChannelInfo{Channel: later, Tags: map[string]string{"managed-by": "godwit"}},
			source: source, depths: []driver.Depth{{InFlight: 1}, {InFlight: 1}},
		}
		if got, why := f.classify(); got != want {
			t.Errorf("its channel is %q: %s (%s)", source, got, why)
		}
	}
}
