package godwit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/cron"
)

const (
	// tickFor is how long after its time a tick is sent. The service removes duplicates for five minutes: a tick that
	// is sent later than that could come twice.
	tickFor = 4 * time.Minute
	// clockFor is how long an answer about the service's time counts when a tick is sent.
	clockFor = 10 * time.Second
	// clockEvery is the longest wait without another look at the service's clock, and clockBefore is how long before a
	// tick the last but one is: the clock of this machine is not exact over longer times.
	clockEvery  = time.Hour
	clockBefore = time.Minute

	leastInterval   = 10 * time.Second
	longestInterval = 366 * 24 * time.Hour
	maxScheduleName = 80
)

// Schedule is what [Every] sends, and when. Each process that calls Every has the same one.
type Schedule struct {
	// Name tells the schedules of a channel apart: letters, digits, '_' and '-'. Processes that use the same name send
	// the same ticks.
	Name string
	// Cron has the times of the ticks as crontab has them: minute, hour, day of the month, month and day of the week,
	// as "30 6 * * mon-fri"; or @hourly, @daily, @weekly, @monthly, @yearly. A time that the clocks of the Zone skip is
	// sent once after the gap, and one that they show twice is sent once, unless the hour is *.
	Cron string
	// Interval is the time between two ticks instead of Cron: whole seconds, from 10 s to 366 days. Ticks are at
	// multiples of it since January 1 of the year 1, UTC, in all processes: those of 24h at midnight.
	Interval time.Duration
	// Zone is the time zone of Cron by its IANA name, as Europe/Berlin; "": UTC.
	Zone string
	// Message returns the message of a tick, whose time it gets in the Zone. It may be called more than once for a
	// tick, and is called once before the first wait, so that mistakes are found then. The message has no DedupID,
	// OrderKey, Delay, At or Cancellable: the schedule needs its own.
	Message func(tick time.Time) Message
}

// Every sends the messages of a schedule to the channel of a producer until ctx ends, and then returns nil. It is
// called in every process that may send them: no process leads, and the service keeps one of all that they send. On an
// ordered channel each tick comes once, on others once unless a consumer is killed while it sends the tick on
// (docs/later.md). The ticks of a schedule have one order key, schedule/NAME.
//
// The service's clock counts, not that of this machine. A tick is sent until 4 minutes after its time. If no process
// could send it by then, it is skipped; this process logs what it has skipped. An error is about the schedule, about a
// message that the service will never take, or that the producer is closed.
func Every(ctx context.Context, p *Producer, s Schedule) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	if p == nil {
		return invalid("p", "nil", "Every needs the producer of a channel")
	}
	if err := p.every(ctx, s); err != nil && ctx.Err() == nil {
		return p.error("schedule", err)
	}
	return nil
}

func (p *Producer) every(ctx context.Context, s Schedule) error {
	next, err := s.times()
	if err := errors.Join(err, s.check(p)); err != nil {
		return err
	}
	if err := p.schedules.begin(&s); err != nil {
		return err
	}
	defer p.schedules.end(&s)
	r := &scheduleRun{
		Schedule: s, producer: p, next: next, log: p.outbox.log.With("schedule", s.Name),
		clock: serviceClock{ask: func(ctx context.Context) (time.Time, error) { return p.clock(ctx, p.spec.Channel) }},
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	due := next(r.clock.now().Add(-tickFor)) // other processes may not have sent the last ones
	if _, err := r.message(due); err != nil {
		return err
	}
	return r.run(ctx, due)
}

// times checks when the ticks of a schedule are, and returns the function that computes the tick after a time.
func (s *Schedule) times() (next func(time.Time) time.Time, err error) {
	switch {
	case (s.Cron == "") == (s.Interval == 0):
		return nil, invalid("Schedule.Cron", strconv.Quote(s.Cron), fmt.Sprintf("and Interval is %v: set one of both",
			s.Interval))
	case s.Cron == "" && s.Zone != "":
		return nil, invalid("Schedule.Zone", strconv.Quote(s.Zone), "it is for Cron: remove it, or set that instead of Interval")
	case s.Cron == "" && s.Interval%time.Second != 0:
		return nil, invalid("Schedule.Interval", s.Interval, "it must be whole seconds")
	case s.Cron == "":
		return func(t time.Time) time.Time { return t.UTC().Truncate(s.Interval).Add(s.Interval) },
			within("Schedule.Interval", s.Interval, leastInterval, longestInterval)
	}
	zone, err := time.LoadLocation(s.Zone)
	if err == nil && zone == time.Local {
		err = errors.New("it differs between machines")
	}
	if err != nil {
		return nil, invalid("Schedule.Zone", strconv.Quote(s.Zone), err.Error()+
			": use a name as Europe/Berlin, and import time/tzdata if the machine has no time zones")
	}
	e, err := cron.Parse(s.Cron)
	if err != nil {
		return nil, invalid("Schedule.Cron", strconv.Quote(s.Cron), err.Error())
	}
	return func(t time.Time) time.Time { return e.Next(t, zone) }, nil
}

func (s *Schedule) check(p *Producer) error {
	illegal := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	}
	switch {
	case s.Name == "" || len(s.Name) > maxScheduleName || strings.ContainsFunc(s.Name, illegal):
		return invalid("Schedule.Name", strconv.Quote(s.Name), fmt.Sprintf(
			"it must be 1 to %d letters, digits, '_' and '-'", maxScheduleName))
	case s.Message == nil:
		return invalid("Schedule.Message", "nil", "set the function that returns the message of a tick")
	case p.spec.Channel.DeadLetter:
		return invalid("channel", p.name, "a schedule sends to a channel, and not to its dead letters")
	case p.clock == nil:
		return invalid("backend", fmt.Sprintf("%T", p.backend), "it has no schedules: they need SNS and SQS")
	}
	return nil
}

// expression is when the ticks are, as a text.
func (s *Schedule) expression() string {
	if s.Cron == "" {
		return s.Interval.String()
	}
	return strings.TrimSpace(s.Cron + " " + s.Zone)
}

// schedules are those that run on one producer.
type schedules struct {
	mu      sync.Mutex
	running map[string][]string // expressions by name
}

func (all *schedules) begin(s *Schedule) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	of := s.expression()
	for _, other := range all.running[s.Name] {
		if other != of {
			return invalid("Schedule.Name", s.Name, fmt.Sprintf(
				"a schedule of this name runs on this producer with %q, and this one has %q: give it another name", other, of))
		}
	}
	if all.running == nil {
		all.running = map[string][]string{}
	}
	all.running[s.Name] = append(all.running[s.Name], of)
	return nil
}

func (all *schedules) end(s *Schedule) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.running[s.Name] = all.running[s.Name][1:]; len(all.running[s.Name]) == 0 {
		delete(all.running, s.Name)
	}
}

// serviceClock is the service's time, from its last answer on. It does not depend on what this machine's clock shows,
// nor on a change of that.
type serviceClock struct {
	ask      func(ctx context.Context) (time.Time, error)
	told     time.Time
	answered time.Time // by this machine
}

func (c *serviceClock) read(ctx context.Context) error {
	t, err := c.ask(ctx)
	if err == nil {
		c.told, c.answered = t, time.Now()
	}
	return err
}

func (c *serviceClock) age() time.Duration { return time.Since(c.answered) }
func (c *serviceClock) now() time.Time     { return c.told.Add(c.age()) }

// scheduleRun is one call of Every.
type scheduleRun struct {
	Schedule
	producer *Producer
	next     func(time.Time) time.Time
	clock    serviceClock
	log      *slog.Logger
}

// run sends ticks, from one on.
func (r *scheduleRun) run(ctx context.Context, due time.Time) error {
	for {
		if err := r.wait(ctx, due); err != nil {
			return err
		}
		sent, err := r.send(ctx, due)
		if err != nil {
			return err
		}
		first := due
		due = r.next(due)
		if sent {
			continue
		}
		skipped := 1
		for r.clock.now().Sub(due) >= tickFor {
			skipped++
			due = r.next(due)
		}
		r.log.Warn("this process has sent no message at the ticks of a schedule within 4 minutes after their times; "+
			"unless another process has, they are skipped", "ticks", skipped, "first", first)
	}
}

// wait waits until the time of a tick, by the service's clock.
func (r *scheduleRun) wait(ctx context.Context, due time.Time) error {
	for {
		left := due.Sub(r.clock.now())
		if left <= 0 {
			return ctx.Err()
		}
		if left > clockBefore {
			left = min(left-clockBefore, clockEvery)
		}
		if err := backoff.Sleep(ctx, left); err != nil {
			return err
		}
		if err := r.read(ctx); err != nil {
			return err
		}
	}
}

// read asks for the service's time until it answers.
func (r *scheduleRun) read(ctx context.Context) error {
	var said time.Time
	for try := 1; ; try++ {
		if r.producer.isClosed() {
			return ErrClosed
		}
		err := r.clock.read(ctx)
		if err == nil || ctx.Err() != nil || driver.ClassOf(err) == driver.Permanent {
			return err
		}
		if time.Since(said) >= time.Minute {
			said = time.Now()
			r.log.Warn("the service does not tell its time; that is repeated, and no tick of the schedule is sent meanwhile",
				"error", err)
		}
		if err := backoff.Sleep(ctx, sendAgain.Jittered(try)); err != nil {
			return err
		}
	}
}

// send sends the message of a tick; false: its time is over. An error ends the schedule.
func (r *scheduleRun) send(ctx context.Context, tick time.Time) (sent bool, err error) {
	for try := 1; ; try++ {
		if r.clock.age() > clockFor {
			if err := r.read(ctx); err != nil {
				return false, err
			}
		}
		left := tick.Add(tickFor).Sub(r.clock.now())
		if left <= 0 {
			return false, nil
		}
		m, err := r.message(tick)
		if err != nil {
			return false, err
		}
		m.by = time.Now().Add(left)
		within, end := context.WithDeadline(ctx, m.by)
		err = r.producer.Send(within, m)
		over := within.Err() != nil
		end()
		switch class := driver.ClassOf(err); {
		case err == nil:
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case over:
			return false, nil //nolint:nilerr // the time of the tick is over, and the caller logs that
		case errors.Is(err, ErrClosed), errors.Is(err, ErrInvalid), class == driver.Permanent, class == driver.TooLarge:
			return false, err
		}
		r.log.Warn("the message of a tick was not accepted; it is sent again until 4 minutes after its time",
			"tick", tick, "error", err)
		if err := backoff.Sleep(ctx, min(sendAgain.Jittered(try), left)); err != nil {
			return false, err
		}
	}
}

// message is that of a tick, with what makes it one of all processes.
func (r *scheduleRun) message(tick time.Time) (Message, error) {
	m := r.Message(tick)
	why := "of the message of schedule " + r.Name + ": the schedule needs its own, so that the service keeps one of those " +
		"that all processes send: leave it out"
	switch {
	case m.DedupID != "":
		return m, invalid("Message.DedupID", strconv.Quote(m.DedupID), why)
	case m.OrderKey != "":
		return m, invalid("Message.OrderKey", strconv.Quote(m.OrderKey), why)
	case m.Delay != 0 || !m.At.IsZero() || m.Cancellable:
		return m, invalid("Message.Delay", m.Delay, "with At, or Cancellable, of the message of schedule "+r.Name+
			": it is sent at its tick, and nothing that waits is recognized as the same: leave all three out")
	}
	m.tick = true
	m.OrderKey = "schedule/" + r.Name
	m.DedupID = m.OrderKey + "/" + strconv.FormatInt(tick.Unix(), 10)
	return m, nil
}
