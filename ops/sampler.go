package ops

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	defaultInterval = 10 * time.Second
	defaultBudget   = 1200
	// leastBudget is what a single channel needs.
	leastBudget = 10
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
	rings    map[driver.Channel]*ring
}

// View is what a Sampler has seen last. It is not changed any more.
type View struct {
	At       time.Time
	Pace     Pace
	Channels []Watched
	// Err is why the list of channels could not be read; the channels are then those of before. RatesErr is why the
	// rates could not.
	Err, RatesErr error
	// HistoryErr is why the file of the history could not be written last.
	HistoryErr error
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
	s := &Sampler{b: b, changed: make(chan struct{}), rings: map[driver.Channel]*ring{}}
	if o != nil {
		s.o = *o
	}
	if s.o.Interval == 0 {
		s.o.Interval = defaultInterval
	}
	if s.o.Requests == 0 {
		s.o.Requests = defaultBudget
	}
	switch _, err := path.Match(s.o.Match, ""); {
	case err != nil:
		return nil, fmt.Errorf("ops: SamplerOptions.Match is %q: %w", s.o.Match, err)
	case s.o.Interval < time.Second:
		return nil, fmt.Errorf("ops: SamplerOptions.Interval is %v: it must be at least 1s", s.o.Interval)
	case s.o.Requests < leastBudget:
		return nil, fmt.Errorf("ops: SamplerOptions.Requests is %d: it must be at least %d a minute", s.o.Requests,
			leastBudget)
	}
	if s.do = driver.OperationsOf(b); s.do.Catalog == nil {
		return nil, fmt.Errorf("ops: %w", errNoCatalog)
	}
	if _, ok := b.(driver.Inspector); !ok {
		return nil, errors.New("ops: this backend cannot count messages: it is no driver.Inspector")
	}
	if s.o.History != "" {
		if err := s.load(); err != nil {
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
// has watched.
func (s *Sampler) History(ch driver.Channel) []Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rings[ch]
	if r == nil {
		return nil
	}
	samples := r.samples(time.Now().Add(-remembers))
	if letters := s.rings[deadOf(ch)]; letters != nil && !ch.DeadLetter {
		joinDead(samples, letters.samples(time.Now().Add(-remembers)))
	}
	return samples
}

// joinDead adds the dead letters of the same rounds. Their times may differ, because a history has seconds.
func joinDead(samples, letters []Sample) {
	for i, j := 0, 0; i < len(samples) && j < len(letters); {
		switch apart := samples[i].At.Sub(letters[j].At); {
		case apart > remembersEvery/2:
			j++
		case apart < -remembersEvery/2:
			i++
		default:
			samples[i].DeadLetters = letters[j].Waiting + letters[j].InFlight + letters[j].Delayed
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
		r.rates = &rates{activity: s.do.Activity}
	}
	file := archive{s: s, last: time.Now()}
	defer func() { _ = file.keep(true) }() // nobody watches who could be told
	var unkept error
	for ctx.Err() == nil {
		begun := time.Now()
		view := r.look(ctx, begun)
		if ctx.Err() != nil {
			return
		}
		view.HistoryErr = unkept
		s.publish(view)
		unkept = file.keep(false)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range v.Channels {
		c := &v.Channels[i]
		if c.Err != nil {
			continue
		}
		r := s.rings[c.Channel]
		if r == nil {
			r = &ring{}
			s.rings[c.Channel] = r
		}
		r.add(v.At, pointOf(&c.Sample))
	}
	for ch, r := range s.rings { // of channels that are gone
		if v.At.Sub(r.last) > remembers {
			delete(s.rings, ch)
		}
	}
	s.view = v
	close(s.changed)
	s.changed = make(chan struct{})
}
