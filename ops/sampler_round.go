package ops

import (
	"cmp"
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
	filled   bool // the gaps before this period are owed
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
	// pastDenied is how long a service that has refused is not asked again, and the longest time after other failures.
	pastDenied = time.Hour
	// pastGap is the shortest time without a look that is filled.
	pastGap = 2 * time.Minute
)

// gap is a time of a channel of which nothing is remembered.
type gap struct {
	channel      driver.Channel
	since, until time.Time
}

// gaps returns the gaps that the service is to be asked for now: those before the first look of this period, and those
// of earlier calls that have failed.
func (r *round) gaps(now time.Time) (all []gap) {
	s := r.s
	if !s.o.Past || s.o.NoRates || s.do.Past == nil {
		return nil
	}
	first := now.Add(-history.Span)
	known := r.infos[:min(len(r.infos), pastMost)]
	for _, info := range known {
		last := s.history.Latest(info.Channel)
		if last.Before(first) {
			last = first
		}
		if r.filled || now.Sub(last) < pastGap {
			continue
		}
		if before, ok := s.owed[info.Channel]; ok {
			last = before.since
		}
		s.owed[info.Channel] = gap{info.Channel, last, now}
	}
	r.filled = r.filled || len(known) > 0
	if len(s.owed) == 0 || now.Before(s.pastNext) {
		return nil
	}
	for _, info := range known {
		if g, ok := s.owed[info.Channel]; ok && g.until.Sub(first) >= pastGap {
			all = append(all, g)
		}
	}
	return all
}

// fill asks for what the service has counted in gaps, and reports whether it was asked. What could not be had now is
// asked for again later, less and less often.
func (r *round) fill(ctx context.Context, gaps []gap) bool {
	s := r.s
	if len(gaps) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	now := time.Now()
	first := now.Add(-history.Span)
	cs, since := make([]driver.Channel, len(gaps)), now
	for i, g := range gaps {
		if cs[i] = g.channel; g.since.Before(since) {
			since = g.since
		}
	}
	if since.Before(first) {
		since = first
	}
	all, err := s.do.Past(ctx, cs, since)
	failed := map[driver.Channel]gap{}
	for i, g := range gaps {
		switch {
		case i >= len(all):
			failed[g.channel] = g
			continue
		case all[i].Err != nil && driver.ClassOf(all[i].Err) != driver.Permanent: // which is nothing to mend
			err, failed[g.channel] = cmp.Or(err, all[i].Err), g
		}
		var moments []history.Moment
		for _, m := range all[i].Minutes {
			if m.At.Before(g.since) || !m.At.Before(g.until) {
				continue // the sampler has looked then
			}
			for at := m.At; at.Before(m.At.Add(time.Minute)); at = at.Add(history.Every) {
				moments = append(moments, history.Moment{At: at, Point: pointOfMinute(&m)})
			}
		}
		s.history.Fill(all[i].Channel, moments)
	}
	s.pastErr, s.owed = err, failed
	s.pastWait = min(max(pastEvery, 2*s.pastWait), pastDenied)
	switch {
	case err == nil:
		s.pastWait = 0
	case driver.ClassOf(err) == driver.Denied:
		s.pastWait = pastDenied
	}
	s.pastNext = now.Add(max(s.pastWait, pastEvery))
	return true
}
