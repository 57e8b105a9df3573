package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// Lasts is how long a plan may be started: later, its numbers say nothing.
	Lasts = 15 * time.Minute
	// keeps is how many runs that have ended are remembered.
	keeps = 500
	// atOnce bounds the runs that are under way, and plansAtOnce the plans: each holds messages.
	atOnce      = 8
	plansAtOnce = 8
	// closing is how long Close waits for runs, which end after their current batch.
	closing = 2 * time.Minute
)

// State says how far a run is.
type State string

// The states, in their order.
const (
	Planning State = "counting" // the plan counts
	Planned  State = "planned"  // somebody may start it
	Running  State = "running"
	Done     State = "done"
	Canceled State = "canceled"
	Failed   State = "failed"
)

// Over reports whether a run has ended.
func (s State) Over() bool { return s == Done || s == Canceled || s == Failed }

// Progress says how far a plan or a run is.
type Progress struct {
	Done, Total int64  // messages; Total 0: unknown
	Lines       []Line // more numbers, for people
	Notes       []string
	// Count is how many messages a plan would change, or an ended run has changed.
	Count int64
	File  string // with the result, for those who may see bodies; "": none
}

// Line is a number with its name.
type Line struct{ Name, Value string }

// Work does something. It calls tell often; not concurrently.
type Work func(ctx context.Context, tell func(Progress)) (Progress, error)

// Plan says what a run would do.
type Plan struct {
	Kind    string // requeue, discard, purge, export
	Channel string
	What    string // the selection, in words
	By      string
	// Changes: the run changes the channel, so that it excludes others.
	Changes bool
	Count   Work // counts, and changes nothing
	Do      Work
}

// Run is one run. It is a copy, which does not change.
type Run struct {
	ID                      string
	Kind, Channel, What     string
	By                      string // who has planned it
	StartedBy, CanceledBy   string
	Changes                 bool
	State                   State
	Planned, Started, Ended time.Time
	Plan, Progress          Progress
	Err                     error
}

// Rate is how many messages a second the run treats; negative: unknown.
func (r *Run) Rate(now time.Time) float64 {
	if !r.Ended.IsZero() {
		now = r.Ended
	}
	took := now.Sub(r.Started).Seconds()
	if r.Started.IsZero() || took <= 0 {
		return -1
	}
	return float64(r.Progress.Done) / took
}

// Stale reports whether a plan is too old to be started.
func (r *Run) Stale(now time.Time) bool { return r.State == Planned && now.Sub(r.Planned) > Lasts }

// BusyError says that another run changes the channel.
type BusyError struct{ Other Run }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s of %s is under way, started by %s: wait for it, or cancel it", e.Other.Kind, e.Other.Channel,
		e.Other.StartedBy)
}

// StateError says that a run cannot be started or canceled any more.
type StateError struct {
	Run  Run
	Wish string // started, canceled
}

func (e *StateError) Error() string {
	if e.Run.Stale(time.Now()) && e.Wish == "started" {
		return fmt.Sprintf("the plan is older than %v, so its numbers say nothing any more: plan it again", Lasts)
	}
	who := ""
	if e.Run.StartedBy != "" {
		who = ", started by " + e.Run.StartedBy
	}
	return fmt.Sprintf("the %s cannot be %s: it is %s%s", e.Run.Kind, e.Wish, e.Run.State, who)
}

// ErrNone says that there is no such run.
var ErrNone = errors.New("there is no such run: it is forgotten, or the console was started again")

// ErrFull says that too many runs are under way.
var ErrFull = fmt.Errorf("%d runs are under way, which is the most at once: wait for one of them", atOnce)

// ErrClosed says that the registry is closed.
var ErrClosed = errors.New("the console is closing")

// Registry owns runs. It is safe for concurrent use.
type Registry struct {
	log *Log

	mu      sync.Mutex
	next    int
	runs    []*one // in the order of their plans
	changed chan struct{}
	closed  bool
	ctx     context.Context //nolint:containedctx // of all runs; Close ends it
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// one is a run with what only the registry knows.
type one struct {
	Run
	do     Work
	cancel context.CancelFunc
}

// New returns a registry that writes to a log.
func New(log *Log) *Registry {
	r := &Registry{log: log, changed: make(chan struct{})}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Close cancels all runs, and waits for them.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	ended := make(chan struct{})
	go func() {
		r.work.Wait()
		close(ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("console: runs have not ended: %w", context.Cause(ctx))
	}
}

// Plan begins to count, and returns the run.
func (r *Registry) Plan(p *Plan) (Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return Run{}, ErrClosed
	}
	counting := 0
	for _, o := range r.runs {
		if o.State == Planning {
			counting++
		}
	}
	if counting >= plansAtOnce {
		return Run{}, ErrFull
	}
	r.next++
	o := &one{
		Run: Run{
			ID: strconv.Itoa(r.next), Kind: p.Kind, Channel: p.Channel, What: p.What, By: p.By, Changes: p.Changes,
			State: Planning, Planned: time.Now(),
		},
		do: p.Do,
	}
	r.runs = append(r.runs, o)
	r.forget()
	ctx, count := r.begin(o), p.Count
	r.work.Go(func() {
		result, err := count(ctx, r.teller(o))
		r.counted(o, result, err)
	})
	r.tell()
	return o.Run, nil
}

// Start starts a planned run.
func (r *Registry) Start(id, by string) (Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.find(id)
	switch {
	case o == nil:
		return Run{}, ErrNone
	case r.closed:
		return o.Run, ErrClosed
	case o.State != Planned || o.Stale(time.Now()):
		return o.Run, &StateError{o.Run, "started"}
	}
	running := 0
	for _, other := range r.runs {
		if other.State != Running {
			continue
		}
		running++
		if other.Channel == o.Channel && other.Changes && o.Changes {
			return o.Run, &BusyError{other.Run}
		}
	}
	if running >= atOnce {
		return o.Run, ErrFull
	}
	if err := r.log.Add(Entry{
		At: time.Now(), By: by, Action: o.Kind, Channel: o.Channel, What: o.What, Run: o.ID, Result: "started",
		Messages: o.Plan.Count,
	}); err != nil {
		return o.Run, err
	}
	o.State, o.Started, o.StartedBy, o.Progress = Running, time.Now(), by, Progress{Total: o.Plan.Count}
	ctx := r.begin(o)
	r.work.Go(func() {
		result, err := o.do(ctx, r.teller(o))
		r.ended(o, result, err)
	})
	r.tell()
	return o.Run, nil
}

// Cancel ends a run, or a plan. It undoes nothing.
func (r *Registry) Cancel(id, by string) (Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.find(id)
	switch {
	case o == nil:
		return Run{}, ErrNone
	case o.State.Over():
		return o.Run, &StateError{o.Run, "canceled"}
	}
	if o.CanceledBy == "" {
		if err := r.log.Add(Entry{
			At: time.Now(), By: by, Action: o.Kind, Channel: o.Channel, What: o.What, Run: o.ID, Result: "canceled",
		}); err != nil {
			return o.Run, err
		}
		o.CanceledBy = by
	}
	if o.State == Planned {
		o.State, o.Ended = Canceled, time.Now()
	}
	o.cancel()
	r.tell()
	return o.Run, nil
}

// Find returns a run.
func (r *Registry) Find(id string) (Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.find(id); o != nil {
		return o.Run, nil
	}
	return Run{}, ErrNone
}

// All returns all runs, the newest first, and a channel that is closed when one of them changes.
func (r *Registry) All() ([]Run, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Run, 0, len(r.runs))
	for _, o := range slices.Backward(r.runs) {
		all = append(all, o.Run)
	}
	return all, r.changed
}

func (r *Registry) find(id string) *one {
	for _, o := range r.runs {
		if o.ID == id {
			return o
		}
	}
	return nil
}

// begin makes the context of a plan or a run. The caller holds the lock.
func (r *Registry) begin(o *one) context.Context {
	var ctx context.Context
	ctx, o.cancel = context.WithCancel(r.ctx)
	return ctx
}

// tell wakes those who wait for a change. The caller holds the lock.
func (r *Registry) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// teller returns what a work calls with its progress.
func (r *Registry) teller(o *one) func(Progress) {
	return func(p Progress) {
		r.mu.Lock()
		defer r.mu.Unlock()
		o.Progress = p
		r.tell()
	}
}

// counted ends a plan.
func (r *Registry) counted(o *one, result Progress, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.cancel()
	o.Plan, o.Progress, o.Err = result, result, err
	switch o.State = Planned; {
	case o.CanceledBy != "" || r.closed:
		o.State, o.Err, o.Ended = Canceled, nil, time.Now()
	case err != nil:
		o.State, o.Ended = Failed, time.Now()
	}
	r.tell()
}

// ended ends a run.
func (r *Registry) ended(o *one, result Progress, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.cancel()
	o.Progress, o.Err, o.Ended = result, err, time.Now()
	switch o.State = Done; {
	case errors.Is(err, context.Canceled) && (o.CanceledBy != "" || r.closed):
		o.State, o.Err = Canceled, nil
	case err != nil:
		o.State = Failed
	}
	text := string(o.State)
	if o.Err != nil {
		text += ": " + o.Err.Error()
	}
	if err := r.log.Add(Entry{
		At: o.Ended, By: o.StartedBy, Action: o.Kind, Channel: o.Channel, What: o.What, Run: o.ID, Result: text,
		Messages: result.Count,
	}); err != nil {
		o.Progress.Notes = append(o.Progress.Notes, err.Error())
	}
	r.tell()
}

// forget drops the oldest runs that have ended, or were never started. The caller holds the lock.
func (r *Registry) forget() {
	for i := 0; len(r.runs) > keeps && i < len(r.runs); {
		if r.runs[i].State == Running || r.runs[i].State == Planning {
			i++
			continue
		}
		r.runs = slices.Delete(r.runs, i, i+1)
	}
}
