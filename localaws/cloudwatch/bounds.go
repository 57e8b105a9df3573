package cloudwatch

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Bounds hold what the services of all places of a server may take together, so that clients cannot fill the memory, or
// make the clock's minutes last longer than a minute. The zero value is empty. It is safe for concurrent use.
type Bounds struct {
	metrics metric.Room

	mu     sync.Mutex
	bytes  int // of alarms
	points int // that one evaluation of all alarms reads
}

const (
	maxMetricBytes = 256 << 20 // about 500,000 metrics with a few points each
	maxAlarmBytes  = 64 << 20  // far more than 5,000 alarms of ordinary size take
	maxAlarms      = 5000      // CloudWatch: of an account in a region
	maxPoints      = 250_000   // that are read each minute: a tenth of a second of one processor
	// maxAdvanced is how many points the alarms may read while the clock is moved: about 20 s of one processor.
	maxAdvanced = 50_000_000
	// selected stands for the metrics that a query of Metrics Insights reads; how many there are changes.
	selected = 1000
)

// load is what an alarm takes.
type load struct{ bytes, points int }

// loadOf returns what an alarm takes: its texts as it was sent, parsed, and in its answers; its range for each query.
func loadOf(a *metricAlarm) load {
	const empty, copies = 1536, 3
	text, err := json.Marshal(a.input)
	if err != nil { // texts and finite numbers
		panic("cloudwatch: an alarm cannot be measured: " + err.Error())
	}
	l := load{bytes: empty + copies*len(text), points: a.rule.Range()}
	if a.queries != nil {
		n := len(a.queries.all)
		for i := range a.queries.all {
			if a.queries.all[i].selection != nil {
				n += selected
			}
		}
		l.points *= n
	}
	return l
}

// full is the refusal of a metric when there is no room for it.
func (b *Bounds) full() *wire.Error {
	if b.metrics.Taken() < maxMetricBytes {
		return nil
	}
	return tooMuch("metrics and their points take more than %d MiB. Points expire with time, and a reset of the server "+
		"removes all", maxMetricBytes>>20)
}

// take adds an alarm in the place of another, or refuses it. The loads of alarms that are restored are not refused.
func (b *Bounds) take(old, add load, restored bool) *wire.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes, points := b.bytes-old.bytes+add.bytes, b.points-old.points+add.points
	switch {
	case restored:
	case bytes > maxAlarmBytes:
		return tooMuch("alarms take more than %d MiB", maxAlarmBytes>>20)
	case points > maxPoints:
		return tooMuch("alarms read more than %d datapoints in each evaluation; this one reads %d: use fewer evaluation "+
			"periods or fewer queries", maxPoints, add.points)
	}
	b.bytes, b.points = bytes, points
	return nil
}

// Advance returns for how long the clock can be moved at once, so that the evaluations of the alarms in between take
// less than a minute.
func (b *Bounds) Advance() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	const longest = 1 << 62
	if b.points == 0 {
		return longest
	}
	return time.Duration(maxAdvanced/b.points+1) * time.Minute
}

// tooMuch is the error for what this server, but not AWS, has no room for.
func tooMuch(format string, args ...any) *wire.Error {
	e := wire.Validation("This server refuses it: its "+format+".", args...)
	e.Code = "LimitExceeded"
	return e
}
