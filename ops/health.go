package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/wholefile"
)

const (
	// healthEvery is how often the file is written when no state changes.
	healthEvery = 5 * time.Second
	// asleepEvery is how often a Health looks for delayed messages that nobody wakes. The first look is so long after
	// the start, because metrics are late, and these consumers may be the first ones for days. asleepAgain is how often
	// it looks while there are such messages, and asleepFor bounds a look.
	asleepEvery = time.Hour
	asleepAgain = 10 * time.Minute
	asleepFor   = time.Minute
	// HealthFileMaxAge is the age from which a file says that its process does not work.
	HealthFileMaxAge = 30 * time.Second
)

// HealthOptions are the options of NewHealth. The zero value is usable.
type HealthOptions struct {
	// File is written at each change of a state, and every five seconds, for `godwit health`. Set it where a command
	// decides about the health of the process, as in Docker. "": none.
	File string
	// Starting is how long a consumer may be Initializing, or Initialized without running. 0: 60 s. Raise it where
	// provisioning takes long.
	Starting time.Duration
	// Exiting is how long a consumer may be Exiting, beyond its ShutdownTimeout. 0: 10 s. Raise it where the last calls
	// to the service take long.
	Exiting time.Duration
	// Handling is how long a handler may run, beyond its ProcessingTimeout. 0: 60 s. Raise it where handlers need long
	// to notice the end of their context.
	Handling time.Duration
	// Backend is asked once an hour whether nobody has received the delayed messages of these consumers, or the ticks
	// of schedules, for a day; then the consumers are not ready. Set it where messages are delayed for longer than SQS
	// does, or schedules run (docs/later.md), because such messages are lost some days later. It lists the channels,
	// and asks the service's metrics. nil: nothing is asked.
	Backend godwit.Backend
	// Logger gets the errors of writing the file; nil: slog.Default(). Set it to log elsewhere.
	Logger *slog.Logger
}

// Health watches the consumers of a process, for whoever restarts it. Make it before the consumers, add its
// [Health.Hooks] to their hooks, and close it after them.
type Health struct {
	o       HealthOptions
	changed chan struct{}
	stop    context.CancelFunc // nil: it is closed
	tasks   sync.WaitGroup

	mu        sync.Mutex
	consumers []*watched
	asleep    map[string]bool // names, as orders@later and orders@ticks, from which nobody has received for a day
}

// watched is one consumer.
type watched struct {
	name     string
	began    time.Time
	consumer *godwit.Consumer // nil: it is not made yet
}

// HealthReport is the state of the consumers of a process.
type HealthReport struct {
	At        time.Time        `json:"at"`
	PID       int              `json:"pid"`
	Consumers []ConsumerHealth `json:"consumers"`
}

// ConsumerHealth is the state of one consumer.
type ConsumerHealth struct {
	Channel  string     `json:"channel"`
	State    string     `json:"state"`
	Since    time.Time  `json:"since"`
	Paused   bool       `json:"paused,omitempty"`
	Running  int        `json:"running"`             // handlers
	Oldest   *time.Time `json:"oldest,omitempty"`    // when the oldest running handler began
	LastPoll *time.Time `json:"last_poll,omitempty"` // that was answered
	// Dead has the reasons for which the process should be started again. They are among those of Unhealthy.
	Dead []string `json:"dead,omitempty"`
	// Unhealthy has all reasons for which the consumer does not work.
	Unhealthy []string `json:"unhealthy,omitempty"`
}

// NewHealth begins to watch. It writes the file, so that a file that cannot be written is an error at once.
func NewHealth(o *HealthOptions) (*Health, error) {
	h := &Health{changed: make(chan struct{}, 1)}
	h.o = *cmp.Or(o, &HealthOptions{})
	if h.o.Starting < 0 || h.o.Exiting < 0 || h.o.Handling < 0 {
		return nil, fmt.Errorf("ops: HealthOptions has Starting %v, Exiting %v and Handling %v: none can be negative",
			h.o.Starting, h.o.Exiting, h.o.Handling)
	}
	h.o.Starting = cmp.Or(h.o.Starting, time.Minute)
	h.o.Exiting = cmp.Or(h.o.Exiting, 10*time.Second)
	h.o.Handling = cmp.Or(h.o.Handling, time.Minute)
	if h.o.Logger == nil {
		h.o.Logger = slog.Default()
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	if h.o.File != "" {
		if err := h.write(); err != nil {
			stop()
			return nil, fmt.Errorf("ops: HealthOptions.File: %w", err)
		}
		h.tasks.Go(func() { h.keepWriting(ctx) })
	}
	if h.o.Backend != nil {
		h.tasks.Go(func() { h.keepLooking(ctx) })
	}
	return h, nil
}

// Hooks returns hooks for one consumer, which is watched from now on. Add them with [godwit.Hooks.Join] to others.
func (h *Health) Hooks(channel string) godwit.Hooks {
	w := &watched{name: channel, began: time.Now()}
	h.mu.Lock()
	h.consumers = append(h.consumers, w)
	h.mu.Unlock()
	h.change()
	return godwit.Hooks{
		Created: func(c *godwit.Consumer) {
			h.mu.Lock()
			w.consumer = c
			h.mu.Unlock()
			h.change()
		},
		State:   func(_, _ godwit.State) { h.change() },
		Breaker: func(bool, error) { h.change() },
	}
}

// change asks for the file to be written.
func (h *Health) change() {
	select {
	case h.changed <- struct{}{}:
	default: // it is asked for already
	}
}

// Report returns the state of all consumers, in the order in which they were added.
func (h *Health) Report() HealthReport {
	now := time.Now()
	r := HealthReport{At: now.UTC(), PID: os.Getpid(), Consumers: []ConsumerHealth{}}
	h.mu.Lock()
	all, asleep := make([]watched, len(h.consumers)), h.asleep
	for i, w := range h.consumers {
		all[i] = *w
	}
	h.mu.Unlock()
	for i := range all {
		c := h.judge(&all[i], now)
		for _, beside := range besideOf(all[i].name) {
			if asleep[beside] && c.State != godwit.StateExited.String() {
				c.Unhealthy = append(c.Unhealthy, "nobody has sent on messages for a day from "+beside+", where they "+
					"wait for their time; SQS deletes them some days later")
			}
		}
		r.Consumers = append(r.Consumers, c)
	}
	return r
}

// besideOf is where the delayed messages of a channel, or of its exchange, and the ticks of its schedules wait.
func besideOf(channel string) []string {
	of, _, _ := strings.Cut(channel, ".")
	return []string{driver.Channel{Queue: of, Later: true}.String(), driver.Channel{Queue: of, Ticks: true}.String()}
}

// keepLooking looks for delayed messages that nobody wakes, until ctx ends.
func (h *Health) keepLooking(ctx context.Context) {
	for every := asleepEvery; backoff.Sleep(ctx, every) == nil; {
		asleep, err := h.look(ctx)
		if err != nil {
			if ctx.Err() == nil {
				h.o.Logger.Warn("it is unknown whether somebody wakes delayed messages; that is asked again",
					"error", err, "in", every)
			}
			continue
		}
		every = asleepEvery
		if len(asleep) > 0 {
			every = asleepAgain
		}
		h.mu.Lock()
		h.asleep = asleep
		h.mu.Unlock()
		h.change()
	}
}

// look returns the channels of the consumers from which nobody wakes delayed messages, or ticks of schedules.
func (h *Health) look(ctx context.Context) (asleep map[string]bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, asleepFor)
	defer cancel()
	infos, err := catalog(ctx, h.o.Backend)
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{}
	h.mu.Lock()
	for _, w := range h.consumers {
		for _, beside := range besideOf(w.name) {
			ours[beside] = true
		}
	}
	h.mu.Unlock()
	var mine []Listed
	for i := range infos {
		if infos[i].Channel.Beside() && ours[infos[i].Channel.String()] {
			mine = append(mine, Listed{ChannelInfo: infos[i]})
		}
	}
	mine = look(ctx, h.o.Backend, mine)
	findAsleep(ctx, driver.OperationsOf(h.o.Backend), mine)
	asleep = map[string]bool{}
	for i := range mine {
		if mine[i].Asleep {
			asleep[mine[i].Channel.String()] = true
		}
	}
	return asleep, nil
}

// judge decides about one consumer.
func (h *Health) judge(w *watched, now time.Time) ConsumerHealth {
	known := godwit.Health{State: godwit.StateInitializing, Since: w.began}
	if w.consumer != nil {
		known = w.consumer.Health()
	}
	c := ConsumerHealth{
		Channel: w.name, State: known.State.String(), Since: known.Since.UTC(),
		Paused: known.Paused || known.PausedAtService, Running: known.Running,
		Oldest: moment(known.Oldest), LastPoll: moment(known.LastPoll),
	}
	lasts := now.Sub(known.Since)
	dead := func(format string, args ...any) { c.Dead = append(c.Dead, fmt.Sprintf(format, args...)) }
	switch known.State {
	case godwit.StateInitializing, godwit.StateInitialized:
		if lasts > h.o.Starting {
			dead("it has been %v for %v", known.State, lasts.Round(time.Second))
		}
	case godwit.StateExiting:
		if lasts > known.ShutdownTimeout+h.o.Exiting {
			dead("it has been %v for %v, and its ShutdownTimeout is %v", known.State, lasts.Round(time.Second),
				known.ShutdownTimeout)
		}
	case godwit.StateProcessing:
		if ran := now.Sub(known.Oldest); !known.Oldest.IsZero() && ran > known.ProcessingTimeout+h.o.Handling {
			dead("a handler has been running for %v, and its ProcessingTimeout is %v", ran.Round(time.Second),
				known.ProcessingTimeout)
		}
	case godwit.StateExited: // whoever runs it knows why
		return c
	}
	if known.PollHangs {
		dead("the service does not answer polls")
	}
	c.Unhealthy = append(slices.Clone(c.Dead), known.Unhealthy...)
	return c
}

// keepWriting writes the file until ctx ends.
func (h *Health) keepWriting(ctx context.Context) {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.changed:
		}
		err := h.write()
		if err != nil && !failing { // once, since it is tried every five seconds
			h.o.Logger.Error("the health file could not be written; it is tried again", "error", err)
		}
		failing = err != nil
	}
}

// write replaces the file.
func (h *Health) write() error {
	text, err := json.MarshalIndent(h.Report(), "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Replace(h.o.File, append(text, '\n'), 0o644)
}

// Close ends the watch, and removes the file: from then on, nothing is written that a look could take for the present.
func (h *Health) Close() error {
	if h.stop == nil {
		return nil
	}
	h.stop()
	h.tasks.Wait()
	h.stop = nil
	if h.o.File == "" {
		return nil
	}
	return os.Remove(h.o.File)
}

// Complaints returns why the process is not ready or, with live, why it should be started again; none: it works.
func (r *HealthReport) Complaints(live bool) (all []string) {
	for i := range r.Consumers {
		c := &r.Consumers[i]
		reasons := c.Unhealthy
		if live {
			reasons = c.Dead
		}
		for _, reason := range reasons {
			all = append(all, c.Channel+": "+reason)
		}
	}
	return all
}

// Started reports whether all consumers have been made.
func (r *HealthReport) Started() bool {
	return !slices.ContainsFunc(r.Consumers, func(c ConsumerHealth) bool {
		return c.State == godwit.StateInitializing.String()
	})
}

// Handler serves /livez, /readyz and /startupz, which answer 200 or 503 with the reasons, and the report as JSON with
// ?verbose; /debug/stuck, the stacks of handlers that have used more than half of their time; and /demand, as
// [DemandHandler] does, with what the consumers of this process measure. Serve it on an address that only the operator
// reaches.
func (h *Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", h.answer(func(r *HealthReport) []string { return r.Complaints(true) }))
	mux.HandleFunc("GET /readyz", h.answer(func(r *HealthReport) []string {
		if !r.Started() {
			return append(r.Complaints(false), "not all consumers have been made")
		}
		return r.Complaints(false)
	}))
	mux.HandleFunc("GET /startupz", h.answer(func(r *HealthReport) []string {
		if !r.Started() {
			return []string{"not all consumers have been made"}
		}
		return nil
	}))
	mux.HandleFunc("GET /debug/stuck", h.stuck)
	mux.HandleFunc("GET /demand", answerDemand(h.demand))
	return mux
}

// answer answers with 200 if there is no complaint.
func (h *Health) answer(complaints func(r *HealthReport) []string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		report := h.Report()
		all := complaints(&report)
		status, text := http.StatusOK, "ok\n"
		if len(all) > 0 {
			status, text = http.StatusServiceUnavailable, strings.Join(all, "\n")+"\n"
		}
		w.Header().Set("Cache-Control", "no-store")
		if req.URL.Query().Has("verbose") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(report) // the client has gone
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // as above
	}
}

// demand asks the consumers of this process, or that of one channel.
func (h *Health) demand(ctx context.Context, q url.Values) (v any, status int, err error) {
	all, channel := []ChannelDemand{}, q.Get("channel")
	for _, one := range h.made() {
		if channel != "" && one.name != channel {
			continue
		}
		d, err := one.consumer.Demand(ctx)
		if err != nil {
			return nil, http.StatusServiceUnavailable, err
		}
		demand := ChannelDemand{
			Channel: one.name, Backlog: d.Backlog, InFlight: d.InFlight, AgeSeconds: d.Age.Seconds(),
			Workers: d.Workers, Consumers: d.Consumers,
		}
		if channel != "" {
			return demand, http.StatusOK, nil
		}
		all = append(all, demand)
	}
	if channel != "" {
		return nil, http.StatusNotFound, fmt.Errorf("ops: this process has no consumer of %s", channel)
	}
	return all, http.StatusOK, nil
}

// made returns the consumers that are made.
func (h *Health) made() (all []watched) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.consumers {
		if one.consumer != nil {
			all = append(all, *one)
		}
	}
	return all
}

// stuck shows where handlers are that have used more than half of their time.
func (h *Health) stuck(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	now, n := time.Now(), 0
	for _, one := range h.made() {
		health := one.consumer.Health()
		for _, slow := range one.consumer.Slow(health.ProcessingTimeout / 2) {
			n++
			_, _ = fmt.Fprintf(w, "%s: message %s, for %v of %v\n%s\n\n", one.name, slow.MessageID,
				now.Sub(slow.Since).Round(time.Millisecond), health.ProcessingTimeout, slow.Stack)
		}
	}
	if n == 0 {
		_, _ = fmt.Fprintln(w, "no handler has used more than half of its time")
	}
}
