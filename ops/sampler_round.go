package ops

import (
	"context"
	"path"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/history"
)

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
