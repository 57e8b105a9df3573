package ops

import (
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
	past     time.Time // when the past was asked for last
	pastErr  error     // of that
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
	s := &Sampler{b: b, changed: make(chan struct{}), history: &history.History{}}
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

// round makes the views of a period in which somebody watches. One goroutine uses it.
type round struct {
	s        *Sampler
	rates    *history.Rates // nil: there are none
	infos    []driver.ChannelInfo
	listed   time.Time // when the channels were listed
	counted  time.Time // when the rates were
	err      error     // of the last list
	ratesErr error
	filled   bool // the past was asked for in this period
}

// look looks at all channels once.
func (r *round) look(ctx context.Context, now time.Time) *View {
	ctx, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	pace := r.pace()
	// An empty list costs one request, and the first channel is waited for.
	if len(r.infos) == 0 || r.s.o.Fresh || now.Sub(r.listed) >= pace.Catalog {
		r.list(ctx, now)
		pace = r.pace()
	}
	all := make([]Listed, len(r.infos))
	for i, info := range r.infos {
		all[i].ChannelInfo = info
	}
	all = look(ctx, r.s.b, all)
	if r.rates != nil && (r.counted.IsZero() || now.Sub(r.counted) >= pace.Rates) {
		r.ratesErr = r.rates.Update(ctx, r.channels(), now)
		r.counted = now
	}
	return &View{At: now, Pace: pace, Channels: r.watched(all, now), Err: r.err, RatesErr: r.ratesErr}
}

const (
	// pastMost bounds how many channels are filled, and pastEvery how often.
	pastMost  = 2000
	pastEvery = time.Minute
	// pastDenied is how long a service that has refused is not asked again.
	pastDenied = time.Hour
	// pastGap is the shortest time without a look that is filled.
	pastGap = 2 * time.Minute
)

// gap is the last time of a channel of which nothing is remembered.
type gap struct {
	channel driver.Channel
	since   time.Time
}

// gaps returns the gaps before a look is remembered.
func (r *round) gaps(now time.Time) (all []gap) {
	s := r.s
	wait := pastEvery
	if driver.ClassOf(s.pastErr) == driver.Denied {
		wait = pastDenied
	}
	if r.filled || !s.o.Past || s.o.NoRates || s.do.Past == nil || !s.past.IsZero() && now.Sub(s.past) < wait {
		return nil
	}
	for _, info := range r.infos[:min(len(r.infos), pastMost)] {
		last := s.history.Latest(info.Channel)
		if first := now.Add(-history.Span); last.Before(first) {
			last = first
		}
		if now.Sub(last) >= pastGap {
			all = append(all, gap{info.Channel, last})
		}
	}
	return all
}

// fill asks for what the service has counted in gaps, and reports whether it was asked.
func (r *round) fill(ctx context.Context, gaps []gap) bool {
	s := r.s
	if len(gaps) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	r.filled, s.past = true, time.Now()
	cs, since := make([]driver.Channel, len(gaps)), s.past
	for i, g := range gaps {
		if cs[i] = g.channel; g.since.Before(since) {
			since = g.since
		}
	}
	all, err := s.do.Past(ctx, cs, since)
	for i := range all {
		if err == nil && driver.ClassOf(all[i].Err) != driver.Permanent { // which is nothing to mend
			err = all[i].Err
		}
		var moments []history.Moment
		for _, m := range all[i].Minutes {
			if m.At.Before(gaps[i].since) {
				continue // the sampler has looked then
			}
			for at := m.At; at.Before(m.At.Add(time.Minute)); at = at.Add(history.Every) {
				moments = append(moments, history.Moment{At: at, Point: pointOfMinute(&m)})
			}
		}
		s.history.Fill(all[i].Channel, moments)
	}
	s.pastErr = err
	return true
}

// list reads the catalog. If that fails, the channels stay as they were.
func (r *round) list(ctx context.Context, now time.Time) {
	r.listed = now
	infos, err := r.s.do.Catalog(ctx)
	if r.err = err; err != nil {
		return
	}
	r.infos = r.infos[:0:0]
	for _, info := range infos {
		if ok, _ := path.Match(r.s.o.Match, info.Channel.String()); ok || r.s.o.Match == "" {
			r.infos = append(r.infos, info)
		}
	}
}

// pace is the pace for the channels that are known.
func (r *round) pace() Pace {
	looks := 0
	for _, info := range r.infos {
		if info.Channel.Queue != "" {
			looks++
		}
	}
	return paceFor(r.s.o.Interval, r.s.o.Requests, len(r.infos), looks, r.rates != nil)
}

func (r *round) channels() []driver.Channel {
	cs := make([]driver.Channel, len(r.infos))
	for i, info := range r.infos {
		cs[i] = info.Channel
	}
	return cs
}

// watched makes the samples of a view.
func (r *round) watched(all []Listed, now time.Time) []Watched {
	dead := map[driver.Channel]int64{}
	for i := range all {
		if l := &all[i]; l.Channel.DeadLetter && l.Err == nil {
			dead[l.Channel] = l.Depth.All()
		}
	}
	ws := make([]Watched, len(all))
	for i := range all {
		l, w := &all[i], &ws[i]
		w.ChannelInfo, w.Err = l.ChannelInfo, l.Err
		w.Sample = Sample{
			At: now, Waiting: l.Depth.Waiting, InFlight: l.Depth.InFlight, Delayed: l.Depth.Delayed,
			Oldest: l.Depth.Oldest, DeadLetters: -1, Sent: -1, Done: -1,
		}
		if n, ok := dead[deadOf(l.Channel)]; ok && !l.Channel.DeadLetter {
			w.DeadLetters = n
		}
		if l.Channel.Queue == "" {
			w.Oldest = -1
		}
		if r.rates != nil {
			w.Sent, w.Done = r.rates.Of(l.Channel)
			if age, ok := r.rates.Oldest[l.Channel]; ok && w.Oldest < 0 {
				w.Oldest = age
			}
		}
	}
	return ws
}

const (
	// catalogEvery and ratesEvery are the shortest times between two requests of the catalog, and of the activity.
	// Services show their changes only after a minute or more.
	catalogEvery = time.Minute
	ratesEvery   = time.Minute

	// A look at a channel costs two requests on SQS: for its URL and for its attributes.
	requestsALook = 2
	// A catalog costs two requests for each channel, and one for each hundred of them.
	requestsAnEntry = 2
	entriesAPage    = 100
	// A request for the activity answers for 83 queues on AWS: six metrics of each, of five hundred.
	channelsAnActivity = 83
)

// Pace is how often a Sampler looks, and what that costs. The requests are estimated as they are on AWS.
type Pace struct {
	// Wanted is the interval that was asked for, and Interval the one that the budget allows.
	Wanted, Interval time.Duration
	// Catalog is how often the list of channels is read, and Rates how often their activity.
	Catalog, Rates time.Duration
	// Requests is how many requests a minute this costs, and Budget how many are allowed.
	Requests, Budget int
}

// paceFor divides a budget: at most a quarter of it is for catalogs, an eighth for activity, and the rest for looks.
func paceFor(wanted time.Duration, budget, channels, looks int, meters bool) Pace {
	p := Pace{Wanted: wanted, Budget: budget}
	catalog := requestsAnEntry*channels + channels/entriesAPage + 1
	p.Catalog = atMost(catalog, float64(budget)/4, catalogEvery)
	used := aMinute(catalog, p.Catalog)
	if meters {
		activity := channels/channelsAnActivity + 1
		p.Rates = atMost(activity, float64(budget)/8, ratesEvery)
		used += aMinute(activity, p.Rates)
	}
	p.Interval = atMost(requestsALook*looks, float64(budget)-used, wanted)
	p.Requests = int(used + aMinute(requestsALook*looks, p.Interval) + 0.5)
	return p
}

// atMost is the interval at which some requests are at most limit a minute, and at least least.
func atMost(requests int, limit float64, least time.Duration) time.Duration {
	needs := time.Duration(float64(requests) / limit * float64(time.Minute))
	if needs <= least {
		return least
	}
	return (needs + time.Second - 1).Truncate(time.Second)
}

func aMinute(requests int, every time.Duration) float64 {
	return float64(requests) * float64(time.Minute) / float64(every)
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
