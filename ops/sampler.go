package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"path"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/history"
)

const (
	defaultInterval = 10 * time.Second
	defaultBudget   = 1200
	// LeastRequests is the smallest SamplerOptions.Requests: a single channel needs so many a minute.
	LeastRequests = 10
	// LeastInterval is the smallest SamplerOptions.Interval.
	LeastInterval = time.Second
	// roundWithin bounds one round of looks, so that a service that does not answer is told.
	roundWithin = time.Minute
)

// SamplerOptions are the options of a Sampler. The zero value is usable.
type SamplerOptions struct {
	// Interval is how often every channel is looked at. Change it if a chart needs more or less detail. 0: 10 s.
	Interval time.Duration
	// Requests is how many requests a minute all looks may cost. Lower it if the account's limits or prices matter;
	// with many channels, the interval becomes longer than asked for. 0: 1,200, which are about 0.70 $ a day on SQS.
	Requests int
	// Match selects channels by a pattern of path.Match, such as orders* or wishlist_events.*. Set it to look at a part
	// of many channels. "": all.
	Match string
	// NoRates leaves the rates out. Set it on AWS if CloudWatch's price for each metric matters, or to need no
	// permission for it.
	NoRates bool
	// Past fills the times in which nobody has watched with what the service has counted then, as soon as somebody
	// watches again. Set it for charts. On AWS it costs six of CloudWatch's metrics for each queue, one for an
	// exchange, of at most 2,000 channels, and needs the same permission as rates. It has no effect with NoRates.
	Past bool
	// Fresh reads the list of channels at every interval, instead of each minute or more. Set it for a server on this
	// machine, where channels come and go and a list costs nothing.
	Fresh bool
	// History is a file that keeps the samples of the last six hours. It is read by NewSampler, and written each minute
	// while somebody watches, and when nobody does any more. Set it so that a restart does not lose them. "": none.
	History string
}

// Sampler looks at all channels of a backend at intervals, once for all who watch, and only while somebody does. It
// remembers six hours of samples in less than 64 KiB a channel. It is safe for concurrent use.
type Sampler struct {
	b  driver.Backend
	do driver.Operations
	o  SamplerOptions

	mu       sync.Mutex
	watchers int
	stop     context.CancelFunc
	stopped  chan struct{} // closed when the goroutine of the last period has ended
	view     *View         // nil: none yet
	changed  chan struct{} // closed when view changes
	history  *history.History
	owed     map[driver.Channel]gap // what the past is still asked for
	pastNext time.Time              // when it may be asked for again, and
	pastWait time.Duration          // how long that was after the last failure
	pastErr  error                  // of the last answer
}

// View is what a Sampler has seen last. It is not changed any more.
type View struct {
	At       time.Time
	Pace     Pace
	Channels []Watched
	// Err is why the list of channels could not be read; the channels are then those of before. RatesErr is why the
	// rates could not.
	Err, RatesErr error
	// HistoryErr is why the file of the history could not be written last, and PastErr why times in which nobody has
	// watched stay unknown, as far as the service could have told.
	HistoryErr, PastErr error
}

// Watched is a channel in a View.
type Watched struct {
	driver.ChannelInfo
	Sample
	// Err is why the channel could not be looked at; its depth is then unknown, and no sample is remembered.
	Err error
}

// Sample is what waits in a channel at a time. The depth of an exchange is zero.
type Sample struct {
	At                         time.Time
	Waiting, InFlight, Delayed int64
	DeadLetters                int64 // in the channel's dead letters; negative: unknown, or it has none
	// Oldest is the age of the oldest waiting message; negative: unknown. On AWS it is from some minutes before.
	Oldest time.Duration
	// Sent and Done are messages a second, as the average of the last minutes; negative: unknown. On AWS they are late
	// by some minutes.
	Sent, Done float64
}

// NewSampler returns a sampler that makes no request before somebody watches.
func NewSampler(b driver.Backend, o *SamplerOptions) (*Sampler, error) {
	s := &Sampler{
		b: b, changed: make(chan struct{}), history: &history.History{}, owed: map[driver.Channel]gap{},
	}
	s.o = *cmp.Or(o, &SamplerOptions{})
	s.o.Interval = cmp.Or(s.o.Interval, defaultInterval)
	s.o.Requests = cmp.Or(s.o.Requests, defaultBudget)
	switch _, err := path.Match(s.o.Match, ""); {
	case err != nil:
		return nil, fmt.Errorf("ops: SamplerOptions.Match is %q: %w", s.o.Match, err)
	case s.o.Interval < LeastInterval:
		return nil, fmt.Errorf("ops: SamplerOptions.Interval is %v: it must be at least %v", s.o.Interval, LeastInterval)
	case s.o.Requests < LeastRequests:
		return nil, fmt.Errorf("ops: SamplerOptions.Requests is %d: it must be at least %d a minute", s.o.Requests,
			LeastRequests)
	}
	if s.do = driver.OperationsOf(b); s.do.Catalog == nil {
		return nil, fmt.Errorf("ops: %w", errNoCatalog)
	}
	if s.do.Inspect == nil {
		return nil, errors.New("ops: this backend cannot count messages: it has no Operations.Inspect")
	}
	if s.o.History != "" {
		var err error
		if s.history, err = history.Load(s.o.History); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Watch yields what the sampler sees, each time that it has looked, until ctx ends or the loop is left. A view that is
// not older than the interval comes at once. A slow loop misses views. When nobody watches any more, the sampler
// stops, and the last loop waits for that.
func (s *Sampler) Watch(ctx context.Context) iter.Seq[View] {
	return func(yield func(View) bool) {
		s.join(ctx)
		defer s.leave()
		var seen *View
		for ctx.Err() == nil {
			s.mu.Lock()
			view, changed := s.view, s.changed
			s.mu.Unlock()
			if view != nil && view != seen && (seen != nil || time.Since(view.At) <= view.Pace.Interval) {
				if seen = view; !yield(*view) {
					return
				}
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// History returns the samples of a channel of the last six hours, oldest first. There are none of times in which nobody
// has watched, but for those that SamplerOptions.Past has filled: each minute then has the largest numbers of the
// minute, every ten seconds.
func (s *Sampler) History(ch driver.Channel) []Sample {
	var samples []Sample
	for _, m := range s.history.Of(ch) {
		samples = append(samples, sampleOf(&m))
	}
	if !ch.DeadLetter {
		joinDead(samples, s.history.Of(deadOf(ch)))
	}
	return samples
}

// joinDead adds the dead letters of the same rounds. Their times may differ, because a history has seconds.
func joinDead(samples []Sample, letters []history.Moment) {
	for i, j := 0, 0; i < len(samples) && j < len(letters); {
		switch apart := samples[i].At.Sub(letters[j].At); {
		case apart > history.Every/2:
			j++
		case apart < -history.Every/2:
			i++
		default:
			samples[i].DeadLetters = int64(letters[j].Waiting) + int64(letters[j].InFlight) + int64(letters[j].Delayed)
			i++
			j++
		}
	}
}

func deadOf(ch driver.Channel) driver.Channel {
	ch.DeadLetter = true
	return ch
}

// join begins the sampling with the first who watches.
func (s *Sampler) join(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers++; s.watchers > 1 {
		return
	}
	before := s.stopped
	var period context.Context
	period, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.stopped = make(chan struct{})
	go func(stopped chan struct{}) {
		defer close(stopped)
		if before != nil {
			<-before
		}
		s.run(period)
	}(s.stopped)
}

// leave ends the sampling with the last who watches.
func (s *Sampler) leave() {
	s.mu.Lock()
	s.watchers--
	stop, stopped, last := s.stop, s.stopped, s.watchers == 0
	s.mu.Unlock()
	if last {
		stop()
		<-stopped
	}
}

// run samples until ctx ends.
func (s *Sampler) run(ctx context.Context) {
	r := round{s: s}
	if s.do.Activity != nil && !s.o.NoRates {
		r.rates = &history.Rates{Activity: s.do.Activity}
	}
	file := history.Archive{Of: s.history, Path: s.o.History, Last: time.Now()}
	defer func() { _ = file.Keep(true) }() // nobody watches who could be told
	var unkept error
	for ctx.Err() == nil {
		begun := time.Now()
		view := r.look(ctx, begun)
		if ctx.Err() != nil {
			return
		}
		view.HistoryErr, view.PastErr = unkept, s.pastErr
		gaps := r.gaps(begun)
		s.publish(view)
		if r.fill(ctx, gaps) {
			filled := *view
			filled.PastErr = s.pastErr
			s.show(&filled)
		}
		unkept = file.Keep(false)
		timer := time.NewTimer(view.Pace.Interval - time.Since(begun))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// publish makes a view the current one, and remembers its samples.
func (s *Sampler) publish(v *View) {
	points := map[driver.Channel]history.Point{}
	for i := range v.Channels {
		if c := &v.Channels[i]; c.Err == nil {
			points[c.Channel] = pointOf(&c.Sample)
		}
	}
	s.history.Add(v.At, points)
	s.show(v)
}

// show makes a view the current one.
func (s *Sampler) show(v *View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = v
	close(s.changed)
	s.changed = make(chan struct{})
}

// pointOf makes a point of a sample.
func pointOf(s *Sample) history.Point {
	return history.Point{
		Waiting: float32(s.Waiting), InFlight: float32(s.InFlight), Delayed: float32(s.Delayed),
		Oldest: known(s.Oldest.Seconds()), Sent: known(s.Sent), Done: known(s.Done),
	}
}

// pointOfMinute makes a point of a minute that the service has counted.
func pointOfMinute(m *driver.Minute) history.Point {
	return history.Point{
		Waiting: known(float64(m.Waiting)), InFlight: known(float64(m.InFlight)), Delayed: known(float64(m.Delayed)),
		Oldest: known(m.Oldest.Seconds()), Sent: known(float64(m.Sent) / 60), Done: known(float64(m.Deleted) / 60),
	}
}

// sampleOf is the inverse of pointOf, without the dead letters.
func sampleOf(m *history.Moment) Sample {
	return Sample{
		At: m.At, Waiting: int64(orUnknown(m.Waiting)), InFlight: int64(orUnknown(m.InFlight)),
		Delayed:     int64(orUnknown(m.Delayed)),
		DeadLetters: -1, Oldest: time.Duration(orUnknown(m.Oldest) * float64(time.Second)),
		Sent: orUnknown(m.Sent), Done: orUnknown(m.Done),
	}
}

// known stores a negative number as unknown.
func known(v float64) float32 {
	if v < 0 {
		return float32(math.NaN())
	}
	return float32(v)
}

func orUnknown(v float32) float64 {
	if math.IsNaN(float64(v)) {
		return -1
	}
	return float64(v)
}
