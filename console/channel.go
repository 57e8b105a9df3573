package console

import (
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
)

// tabs are the pages of a channel.
type tabs struct {
	Name, Exchange, ExchangeHref          string
	Overview, Messages, Dead              string
	Here                                  string
	IsExchange, IsDead, HasDead, CanPause bool
	Letters                               int64
}

// tabsOf returns the pages of a channel; here is the one that is shown.
func tabsOf(c *Console, name, here string, seen *ops.View) *tabs {
	base := strings.TrimSuffix(name, "@dlq")
	t := &tabs{
		Name: name, Here: here, Overview: c.url("channel", base), Messages: c.url("channel", base, "messages"),
		Dead: c.url("channel", base+"@dlq", "dead"), Letters: -1, IsDead: base != name,
	}
	t.HasDead = find(seen, base+"@dlq") != nil
	if w := find(seen, name); w != nil {
		t.IsExchange, t.Letters = w.Channel.Role() == driver.RoleExchange, w.DeadLetters
		if t.IsDead {
			t.Letters = w.Waiting + w.InFlight + w.Delayed
		}
		if w.Channel.Exchange != "" && !t.IsExchange {
			t.Exchange = driver.Channel{Exchange: w.Channel.Exchange}.String()
			t.ExchangeHref = c.url("channel", t.Exchange)
		}
	}
	return t
}

// span of the charts.
type reach struct {
	Name, Href string
	Here       bool
	span       time.Duration
}

// channelData is what the page of a channel shows.
type channelData struct {
	Name                      string
	Tabs                      *tabs
	Row                       *row // nil: the sampler has not seen it
	At                        time.Time
	Flow                      template.HTML
	Reaches                   []reach
	Depth, Age, Rates, Times  template.HTML
	Info                      *describe.Channel // nil: a stream does not read it again
	Filter                    *filterData       // nil: it has none
	Tags                      []describe.Setting
	Related                   []row
	Pause, Resume, Plan, Here string
	May                       bool
	CanPause                  bool // the service can
	OrderIsOf                 bool // order is chosen by consumers, not by the channel
	Uncounted                 bool // the service does not count what is done
	Past                      bool // the service has counted times in which nobody has looked
	PastErr                   error
}

// spans are how far back the charts go.
func spans() []reach {
	return []reach{{Name: "1 h", span: time.Hour}, {Name: "6 h", span: 6 * time.Hour}}
}

// chartPoints is how many steps a chart has at most.
const chartPoints = 180

// channelPage shows one channel.
func channelPage(r *request) (*view, error) {
	c, name := r.c, r.PathValue("name")
	seen, changed := c.watch.last(r.Context())
	d := &channelData{
		Name: name, Tabs: tabsOf(c, name, "overview", seen), May: r.may >= LevelAct,
		Pause: c.url("channel", name, "pause"), Resume: c.url("channel", name, "resume"),
		Plan: c.url("channel", name, "plan"), Here: r.URL.RequestURI(), CanPause: driver.OperationsOf(c.b).Pause != nil,
	}
	w := find(seen, name)
	known := indexOf(seen)
	if !r.streams {
		info, err := describe.Read(r.Context(), c.b, name, nil)
		if err != nil {
			return nil, err
		}
		d.Info = info
		d.Tabs.IsExchange = info.Channel.Role() == driver.RoleExchange
		d.describe(c, known)
		d.OrderIsOf = !onAWS(info.Address)
		d.Uncounted = info.Activity != nil && errors.Is(info.Activity.Deleted.Err, driver.ErrNotCounted) &&
			info.Channel.Role() == driver.RoleQueue
		if d.Filter, err = readFilter(r, info); err != nil {
			info.Problems = append(info.Problems, err)
		}
		if s := c.estate.kept.Load(); s != nil && w != nil && d.Filter != nil {
			_, d.Filter.Shut = s.shut(w)
		}
	} else if w == nil && seen != nil && seen.Err == nil {
		return nil, &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("channel %s does not exist any more", name)}
	}
	if w != nil {
		d.draw(r, seen, known, w)
	}
	return &view{
		title: name, name: "channel", nav: "now", data: d, changed: changed,
		live: []string{"channel-state", "channel-flow", "channel-charts"},
	}, nil
}

// onAWS reports whether an address is an ARN.
func onAWS(address string) bool { return strings.HasPrefix(address, "arn:") }

// describe fills in what does not change by itself.
func (d *channelData) describe(c *Console, seen index) {
	for name, value := range d.Info.Tags {
		d.Tags = append(d.Tags, describe.Setting{Name: name, Value: value})
	}
	slices.SortFunc(d.Tags, func(a, b describe.Setting) int { return strings.Compare(a.Name, b.Name) })
	for i := range d.Info.Related {
		one := &d.Info.Related[i]
		w := seen[one.Channel]
		if w == nil {
			w = &ops.Watched{ChannelInfo: one.ChannelInfo, Err: one.Err, Sample: ops.Sample{
				Waiting: one.Depth.Waiting, InFlight: one.Depth.InFlight, Delayed: one.Depth.Delayed,
				Oldest:      one.Depth.Oldest,
				DeadLetters: -1, Sent: -1, Done: -1,
			}}
		}
		related := newRow(c, w, seen)
		if i < rowsMost {
			related.recall(c, time.Now())
		}
		related.Exchange = one.Channel.Role() == driver.RoleExchange
		if one.Channel.DeadLetter {
			related.Href, related.Waiting, related.InFlight = related.Dead, w.Waiting, w.InFlight
		}
		d.Related = append(d.Related, related)
	}
}

// draw makes the pictures.
func (d *channelData) draw(r *request, seen *ops.View, known index, w *ops.Watched) {
	c := r.c
	one := newRow(c, w, known)
	history := c.watch.sampler.History(w.Channel)
	one.Sent, one.Done = lately(history, seen.At, one.Sent, one.Done)
	d.Row, d.At, d.PastErr = &one, seen.At, seen.PastErr
	d.Past = d.PastErr == nil && driver.OperationsOf(c.b).Past != nil
	width := time.Hour
	for _, s := range spans() {
		s.Here = r.FormValue("span") == s.Name || r.FormValue("span") == "" && s.span == width
		if s.Here {
			width = s.span
		}
		s.Href = r.with("span", s.Name)
		d.Reaches = append(d.Reaches, s)
	}
	consumers := consumersOf(r.Context(), c.processes, d.Name)
	d.flow(c, w, endsOf(consumers, time.Now()))
	step, points := grain(width, chartPoints, seen.Pace.Interval)
	values := func(value func(s *ops.Sample) float64) []float64 {
		return steps(history, seen.At, step, points, value)
	}
	if w.Channel.Role() != driver.RoleExchange {
		d.Depth = chart.Lines{
			Label: "messages", Step: step, End: seen.At.UTC(), Width: 600,
			Series: []chart.Series{
				{Name: "waiting", Values: values(func(s *ops.Sample) float64 { return float64(s.Waiting) })},
				{Name: "in flight", Values: values(func(s *ops.Sample) float64 { return float64(s.InFlight) })},
				{Name: "delayed", Values: values(func(s *ops.Sample) float64 { return float64(s.Delayed) })},
			},
		}.SVG()
		d.Age = chart.Lines{
			Label: "age of the oldest message", Step: step, End: seen.At.UTC(), Width: 600, Unit: chart.Seconds,
			Limit: ops.ThresholdsOf(&w.ChannelInfo).Age.Seconds(),
			Series: []chart.Series{{Name: "oldest", Values: values(func(s *ops.Sample) float64 {
				if s.Oldest < 0 && s.Waiting == 0 {
					return 0
				}
				return s.Oldest.Seconds()
			})}},
		}.SVG()
	}
	d.Times = handlerTimes(consumers, seen.At, step, points)
	rates := chart.Lines{
		Label: "messages a second", Step: step, End: seen.At.UTC(), Width: 600, Unit: chart.Rate,
		Series: []chart.Series{{Name: "sent", Values: values(func(s *ops.Sample) float64 { return s.Sent })}},
	}
	if w.Channel.Role() != driver.RoleExchange {
		done := chart.Series{Name: "done", Values: values(func(s *ops.Sample) float64 { return s.Done })}
		rates.Series = append(rates.Series, done)
	}
	d.Rates = rates.SVG()
}

// flow draws the way of the channel's messages. Only processes know how many handlers start, and how they end.
func (d *channelData) flow(c *Console, w *ops.Watched, e endRates) {
	if w.Channel.Role() == driver.RoleExchange {
		return
	}
	done := d.Row.Done
	if done < 0 { // the service does not count it, or not yet
		done = e.done
	}
	f := chart.Flow{
		Label: d.Name + ", the last five minutes", Window: flowOver,
		Sent: d.Row.Sent, Started: e.all, Done: done, Retried: e.retried, Rejected: e.rejected,
		Waiting: float64(w.Waiting), Running: float64(w.InFlight), Delayed: float64(w.Delayed),
		Dead:        float64(w.DeadLetters),
		WaitingHref: c.url("channel", d.Name, "messages"), DeadHref: d.Tabs.Dead,
	}
	if w.Channel.DeadLetter {
		f.Dead, f.DeadHref = -1, ""
	}
	d.Flow = f.SVG()
}

// pauseAction pauses or resumes a channel.
func pauseAction(pause bool) func(r *request) (string, error) {
	return func(r *request) (string, error) {
		name, action, do := r.PathValue("name"), "resume", ops.Resume
		if pause {
			action, do = "pause", ops.Pause
		}
		return r.c.url("channel", name), r.c.change(r, action, name, "", func() error {
			_, err := do(r.Context(), r.c.b, name, nil)
			if err == nil {
				r.c.pauses.note(name, pause)
			}
			return err
		})
	}
}

// pauses are the channels that the console has paused or resumed lately, because the sampler reads the list of channels
// only every few minutes.
type pauses struct {
	mu   sync.Mutex
	last map[string]pauseNote
}

type pauseNote struct {
	at     time.Time
	paused bool
}

// pauseKnown is after how long the sampler knows of a pause.
const pauseKnown = 10 * time.Minute

func (p *pauses) note(channel string, paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[string]pauseNote{}
	}
	p.last[channel] = pauseNote{time.Now(), paused}
}

// now reports whether a channel is paused, as the sampler says.
func (p *pauses) now(channel string, seen bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	note, ok := p.last[channel]
	switch {
	case !ok:
		return seen
	case time.Since(note.at) > pauseKnown:
		delete(p.last, channel)
		return seen
	}
	return note.paused
}
