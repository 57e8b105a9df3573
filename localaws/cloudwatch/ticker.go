package cloudwatch

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/cloudwatch/alarm"
)

// ticker calls a function at multiples of a unit of the clock, as long as there is something to do. A server in which
// nothing happens has no timer.
type ticker struct {
	clock *clock.Clock
	tick  func(now time.Time) (again time.Duration)

	mu     sync.Mutex
	closed bool
	next   time.Time // of the pending tick; zero: there is none
	last   time.Time // of the last tick
	stop   func()
}

func (t *ticker) init(c *clock.Clock, tick func(time.Time) time.Duration) { t.clock, t.tick = c, tick }

// start makes sure that there is a tick at the next multiple of a unit.
func (t *ticker) start(unit time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	now := t.clock.Now()
	next := now.Truncate(unit).Add(unit)
	if !next.After(t.last) {
		next = t.last.Add(unit) // the machine's clock was set back
	}
	if !t.next.IsZero() && !next.Before(t.next) {
		return
	}
	if t.stop != nil {
		t.stop()
	}
	t.next = next
	t.stop = t.clock.AfterFunc(next.Sub(now), func() { t.fire(next) })
}

// fire is a tick. A timer may fire slightly early or late; the tick is for its own time.
func (t *ticker) fire(at time.Time) {
	t.mu.Lock()
	if t.closed || !t.next.Equal(at) {
		t.mu.Unlock()
		return
	}
	t.next, t.last = time.Time{}, at
	t.mu.Unlock()
	if again := t.tick(at); again > 0 {
		t.start(again)
	}
}

func (t *ticker) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.stop != nil {
		t.stop()
	}
}

// tick is what happens at a whole minute: sources report, alarms are evaluated, and old points are removed. It returns
// the time unit of the next tick; 0: there is nothing to do.
func (s *Service) tick(now time.Time) time.Duration {
	awake := s.collect(now)
	evaluated := s.evaluateAlarms(now, time.Minute)
	if now.Equal(now.Truncate(time.Hour)) {
		s.metrics.Trim(now)
	}
	switch {
	case awake || evaluated:
		return time.Minute
	case s.metrics.Len() > 0:
		return time.Hour // points expire
	default:
		return 0
	}
}

// shortTick evaluates the alarms with a period below a minute.
func (s *Service) shortTick(now time.Time) time.Duration {
	if s.evaluateAlarms(now, shortInterval) {
		return shortInterval
	}
	return 0
}

// watch makes sure that an alarm is evaluated.
func (s *Service) watch(a *metricAlarm) {
	if a.interval() == shortInterval {
		s.short.start(shortInterval)
		return
	}
	s.minutes.start(time.Minute)
}

// collect stores what sources report, and reports whether one of them is awake.
func (s *Service) collect(now time.Time) (awake bool) {
	for _, source := range s.opts.Sources {
		samples, again := source.Collect(now)
		s.metrics.Put(now, samples...)
		awake = awake || again
	}
	return awake
}

// evaluateAlarms evaluates the alarms of an interval, and reports whether there are any.
func (s *Service) evaluateAlarms(now time.Time, interval time.Duration) (any bool) {
	s.mu.Lock()
	alarms := s.sortedAlarms()
	s.mu.Unlock()
	for _, a := range alarms {
		if a.interval() == interval {
			any = true
			s.evaluateAlarm(a, now)
		}
	}
	return any
}

// evaluateAlarm evaluates an alarm, unless it was replaced or deleted meanwhile, and carries out its actions.
func (s *Service) evaluateAlarm(a *metricAlarm, now time.Time) {
	r := read(s, a, now)
	if r.tooFew {
		return
	}
	s.mu.Lock()
	if s.alarms[a.input.AlarmName] != a {
		s.mu.Unlock()
		return
	}
	v, changed := a.rule.Evaluate(a.state.value, r.points)
	if !changed {
		s.mu.Unlock()
		return
	}
	n := change(s, a, v.State, v.Reason, a.rule.Data(v, alarm.Query{
		At: now, Unit: a.input.Unit, Statistic: a.input.Statistic + a.input.ExtendedStatistic, Period: a.period(),
	}))
	s.mu.Unlock()
	carryOut(s, n)
}
