package ops

import (
	"context"
	"path"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// round makes the views of a period in which somebody watches. One goroutine uses it.
type round struct {
	s        *Sampler
	rates    *rates // nil: there are none
	infos    []driver.ChannelInfo
	listed   time.Time // when the channels were listed
	counted  time.Time // when the rates were
	err      error     // of the last list
	ratesErr error
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
		r.ratesErr = r.rates.update(ctx, r.channels(), now)
		r.counted = now
	}
	return &View{At: now, Pace: pace, Channels: r.watched(all, now), Err: r.err, RatesErr: r.ratesErr}
}

// list reads the catalog. If that fails, the channels are those of before.
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
			w.Sent, w.Done = r.rates.of(l.Channel)
			if age, ok := r.rates.oldest[l.Channel]; ok && w.Oldest < 0 {
				w.Oldest = age
			}
		}
	}
	return ws
}
