package console

import (
	"cmp"
	"html/template"
	"slices"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/prices"
)

const (
	// month is the time that costs are told for.
	month = 30 * 24 * time.Hour
	// flightMost is how many messages of a standard queue, flightFIFO of an ordered one, may be in flight.
	flightMost, flightFIFO = 120_000, 20_000
	// costsMost is how many channels the picture has.
	costsMost = 25
)

// costRow is a channel with what it costs and uses up.
type costRow struct {
	Name, Href string
	// Single and Batched are dollars a month: with a request for each message, and with full batches; negative:
	// unknown.
	Single, Batched      float64
	PerMessage           float64 // requests a message, if each is single; negative: unknown
	Chunks               float64 // as how many requests an average message is billed; 0: unknown, or by bytes
	Size                 int64   // of an average message; negative: unknown
	Messages, Empty      int64   // sent in the last hour, and receives that returned nothing; negative: unknown
	Retention, Oldest    time.Duration
	Kept                 int64 // percent of the retention that the oldest message has used
	Flight               int64 // percent of the quota of messages in flight
	InFlight             int64
	Expires, FlightsHigh bool
	Dead, Exchange       bool   // it is dead letters, or an exchange
	Mend                 string // where its messages are
}

// costsData is what the page about costs and limits shows.
type costsData struct {
	Looked  bool
	Rows    []costRow
	Bars    template.HTML
	Total   float64
	Ideal   float64
	Left    int
	Err     error
	At      time.Time
	Priced  string // the date of the prices; "": the service has none that are known
	Expires int
}

// costsPage shows what channels cost, and how close they are to their limits.
func costsPage(r *request) (*view, error) {
	seen, _ := r.c.watch.last(r.Context())
	d := &costsData{Total: -1, Ideal: -1}
	v := &view{title: "Cost and limits", name: "costs", nav: "costs", data: d}
	if seen == nil {
		v.again = 2
		return v, nil
	}
	s, err := r.c.estate.survey(r.Context(), r.c.b, seen)
	if err != nil {
		return nil, err
	}
	d.Looked, d.Left, d.Err, d.At = true, s.Left, s.Err, s.At
	for i := range seen.Channels {
		w := &seen.Channels[i]
		c := s.All[w.Channel.String()]
		if c == nil {
			continue
		}
		one := costRow{
			Name: w.Channel.String(), Href: r.c.url("channel", w.Channel.String()), Oldest: w.Oldest,
			InFlight: w.InFlight, Exchange: w.Channel.Role() == driver.RoleExchange,
			Retention: -1, Messages: -1, Empty: -1, Single: -1, Batched: -1, PerMessage: -1, Size: -1,
		}
		if w.Waiting == 0 && w.Oldest < 0 && w.Err == nil {
			one.Oldest = 0
		}
		if one.Retention = retentionOf(c); one.Retention > 0 && !one.Exchange {
			one.Kept = percent(int64(one.Oldest/time.Second), int64(one.Retention/time.Second))
			_, one.Expires = s.expires(w)
		}
		one.Dead = w.Channel.DeadLetter
		if one.Mend = r.c.url("channel", one.Name, "messages"); one.Dead {
			one.Mend = r.c.url("channel", one.Name, "dead")
			one.Href = one.Mend
		}
		a, counted := s.Acts[one.Name]
		if counted && a.Sent.Known() {
			one.Messages = a.Sent.Value
		}
		if onAWS(c.Address) {
			quota := int64(flightMost)
			if w.Channel.Ordered {
				quota = flightFIFO
			}
			one.Flight = percent(w.InFlight, quota)
			one.FlightsHigh = one.Flight >= 75
			if counted {
				listed := prices.Listed()
				d.Priced = listed.Date
				one.price(&a, &listed)
			}
		}
		if one.Expires {
			d.Expires++
		}
		if one.Single >= 0 {
			d.Total, d.Ideal = max(0, d.Total)+one.Single, max(0, d.Ideal)+one.Batched
		}
		d.Rows = append(d.Rows, one)
	}
	slices.SortStableFunc(d.Rows, func(a, b costRow) int {
		return cmp.Or(cmp.Compare(b.Kept/expiresAt, a.Kept/expiresAt), cmp.Compare(b.Single, a.Single),
			cmp.Compare(b.Kept, a.Kept))
	})
	if d.Priced != "" {
		d.draw()
	}
	return v, nil
}

// price estimates requests of a month from those of the last hour. The service counts messages, not requests, so the
// truth is between a request for each message and full batches.
func (one *costRow) price(a *driver.Activity, listed *prices.Table) {
	hours := a.Until.Sub(a.Since).Hours()
	t := prices.Traffic{
		Topic: one.Exchange, Ordered: a.Channel.Ordered, Sent: a.Sent.Value, Received: a.Received.Value,
		Deleted: a.Deleted.Value,
	}
	if !a.Sent.Known() || !one.Exchange && (!a.Received.Known() || !a.Deleted.Known()) || hours <= 0 {
		return
	}
	if a.EmptyReceives.Known() {
		one.Empty = a.EmptyReceives.Value
		t.Empty = one.Empty
	}
	if a.SentBytes.Known() && t.Sent > 0 {
		t.Bytes = a.SentBytes.Value
		if one.Size = t.Bytes / t.Sent; !t.Topic || !t.Ordered {
			one.Chunks = t.Chunks()
		}
	}
	alone, months := listed.Alone(t), month.Hours()/hours
	one.Single, one.Batched = alone.Dollars*months, listed.Batched(t).Dollars*months
	if t.Sent > 0 {
		one.PerMessage = alone.Requests / float64(t.Sent)
	}
}

// draw makes the picture of the dearest channels.
func (d *costsData) draw() {
	rows := slices.Clone(d.Rows)
	slices.SortStableFunc(rows, func(a, b costRow) int { return cmp.Compare(b.Single, a.Single) })
	bars := chart.Bars{
		Label: "dollars a month by channel", Unit: chart.Dollars, Name: "single requests", Second: "full batches",
	}
	for i := range rows {
		if i == costsMost || rows[i].Single <= 0 {
			break
		}
		bars.Rows = append(bars.Rows, chart.Bar{
			Label: rows[i].Name, Value: rows[i].Single, Second: rows[i].Batched, Href: rows[i].Href,
		})
	}
	if len(bars.Rows) > 0 {
		d.Bars = forScreens(slimWidth, func(w int) template.HTML { bars.Width = w; return bars.SVG() })
	}
}
