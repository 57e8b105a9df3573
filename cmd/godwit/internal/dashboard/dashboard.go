package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// Options are the options of Run.
type Options struct {
	Title string // what is looked at
	// Watch yields what is seen, until its context ends.
	Watch func(ctx context.Context) iter.Seq[ops.View]
	// History has the samples of a channel.
	History func(ch driver.Channel) []ops.Sample
	// Describe tells all about a channel.
	Describe func(ctx context.Context, channel string) (string, error)
	// Requeue sends dead letters back, or with dry says what would happen.
	Requeue func(ctx context.Context, channel string, dry bool) (string, error)
	Refuse  string        // why nothing may be changed; "": it may
	Old     time.Duration // an older message is a problem
	Color   bool
}

// row is a channel with its dead letters.
type row struct {
	ops.Watched
	dead    int64          // negative: unknown, or it has none
	letters driver.Channel // the dead letters; zero: there are none
	spark   []float64      // what has waited in the last hour; NaN: unknown
}

// mode is what the screen shows.
type mode uint8

const (
	listing mode = iota
	describing
	asking
)

// Dashboard is the state of the screen. One goroutine uses it.
type Dashboard struct {
	o        Options
	view     *ops.View // nil: none yet
	rows     []row
	selected driver.Channel
	order    int // an index of orders
	mode     mode
	text     []string // of the described channel, or the question
	shown    []string // the text in lines of the screen's width, since it was drawn
	top      int      // the first of them that is shown
	notice   string   // the last line but one; "": none
	busy     bool     // an answer is waited for
	confirm  string   // the channel whose requeue is asked about
	ended    bool
}

// orders are the names of the ways in which the rows are sorted.
var orders = [...]string{"name", "waiting", "age", "dead letters"}

// see takes a view.
func (d *Dashboard) see(v *ops.View, now time.Time) {
	d.view = v
	letters := map[driver.Channel]*ops.Watched{}
	queues := map[driver.Channel]bool{}
	for i := range v.Channels {
		if c := &v.Channels[i]; c.Channel.DeadLetter {
			letters[queueOf(c.Channel)] = c
		} else {
			queues[c.Channel] = true
		}
	}
	d.rows = d.rows[:0]
	for _, c := range v.Channels {
		if c.Channel.DeadLetter && queues[queueOf(c.Channel)] {
			continue // it is in the row of its queue
		}
		r := row{Watched: c, dead: -1, spark: lastHour(d.o.History(c.Channel), now)}
		switch dead := letters[queueOf(c.Channel)]; {
		case c.Channel.Queue == "" || dead == nil:
		default:
			r.letters = dead.Channel
			if dead.Err == nil {
				r.dead = dead.Waiting + dead.InFlight + dead.Delayed
			}
		}
		d.rows = append(d.rows, r)
	}
	d.sort()
}

// queueOf is the queue that dead letters belong to. Its dead letters may have another order.
func queueOf(ch driver.Channel) driver.Channel {
	ch.DeadLetter, ch.Ordered = false, false
	return ch
}

func (d *Dashboard) sort() {
	slices.SortStableFunc(d.rows, func(a, b row) int {
		by := 0
		switch d.order {
		case 1:
			by = cmp.Compare(b.Waiting, a.Waiting)
		case 2:
			by = cmp.Compare(b.age(), a.age())
		case 3:
			by = cmp.Compare(b.dead, a.dead)
		}
		return cmp.Or(by, cmp.Compare(a.Channel.String(), b.Channel.String()))
	})
	if d.index() < 0 && len(d.rows) > 0 {
		d.selected = d.rows[0].Channel
	}
}

// age is the age of the oldest message; negative: there is none, or it is unknown.
func (r *row) age() time.Duration {
	if r.Waiting == 0 || r.Channel.Queue == "" {
		return -1
	}
	return r.Oldest
}

// index is the place of the selected row; negative: it is gone.
func (d *Dashboard) index() int {
	return slices.IndexFunc(d.rows, func(r row) bool { return r.Channel == d.selected })
}

// sparkSteps is how many steps a sparkline has, of five minutes each.
const sparkSteps = 12

// lastHour are what has waited in the steps of the last hour, on average.
func lastHour(samples []ops.Sample, now time.Time) []float64 {
	var sums, counts [sparkSteps]float64
	for _, s := range samples {
		if ago := now.Sub(s.At); ago >= 0 && ago < time.Hour {
			step := sparkSteps - 1 - int(ago/(time.Hour/sparkSteps))
			sums[step] += float64(s.Waiting)
			counts[step]++
		}
	}
	values := make([]float64, sparkSteps)
	for i, n := range counts {
		if values[i] = math.NaN(); n > 0 {
			values[i] = sums[i] / n
		}
	}
	return values
}

// command is something that a key asks for and that takes time; its result comes to answer.
type command struct {
	what    mode
	channel string
	dry     bool
}

// key takes a key by its name, and returns what is to be done for it; nil: nothing. height is how many rows are shown.
func (d *Dashboard) key(name string, height int) *command {
	switch {
	case name == "ctrl-c", name == "q" && d.mode != asking:
		d.ended = true
	case d.mode == asking:
		return d.reply(name)
	case d.mode == describing:
		d.scroll(name, height)
	default:
		return d.choose(name, height)
	}
	return nil
}

// reply takes the answer to the question. Whatever is not yes is no.
func (d *Dashboard) reply(name string) *command {
	channel := d.confirm
	d.mode, d.confirm, d.notice = listing, "", "nothing was sent"
	if name != "y" {
		return nil
	}
	d.notice, d.busy = "requeueing "+channel+" …", true
	return &command{asking, channel, false}
}

func (d *Dashboard) scroll(name string, height int) {
	last := max(0, len(d.shown)-height)
	switch name {
	case "esc", "enter", "left", "backspace":
		d.mode, d.text, d.top = listing, nil, 0
	default:
		d.top = min(max(0, moved(d.top, name, height, len(d.shown))), last)
	}
}

// moved is a place after a key of movement.
func moved(at int, name string, page, count int) int {
	switch name {
	case "up", "k":
		return at - 1
	case "down", "j":
		return at + 1
	case "pgup":
		return at - page
	case "pgdn", "space":
		return at + page
	case "home":
		return 0
	case "end":
		return count - 1
	}
	return at
}

// choose takes a key of the list.
func (d *Dashboard) choose(name string, height int) *command {
	i := d.index()
	if i < 0 {
		return nil
	}
	switch r := &d.rows[i]; {
	case name == "s":
		d.order = (d.order + 1) % len(orders)
		d.notice = "sorted by " + orders[d.order]
		d.sort()
	case d.busy:
		d.notice = "wait for the answer: " + d.notice
	case name == "enter", name == "right":
		d.notice, d.busy = "looking at "+r.Channel.String()+" …", true
		return &command{describing, r.Channel.String(), false}
	case name == "r" && d.o.Refuse != "":
		d.notice = d.o.Refuse
	case name == "r" && r.letters == (driver.Channel{}):
		d.notice = r.Channel.String() + " has no dead letters"
	case name == "r":
		d.notice, d.busy = "looking at "+r.letters.String()+" …", true
		return &command{asking, r.letters.String(), true}
	default:
		d.selected = d.rows[min(max(0, moved(i, name, height, len(d.rows))), len(d.rows)-1)].Channel
	}
	return nil
}

// answer takes the result of a command.
func (d *Dashboard) answer(c *command, text string, err error) {
	d.busy = false
	switch {
	case err != nil:
		d.notice = err.Error()
	case c.what == describing:
		d.mode, d.text, d.top, d.notice = describing, lines(text), 0, ""
	case c.dry:
		d.mode, d.confirm, d.text, d.notice = asking, c.channel, lines(text), ""
	default:
		d.notice = text
	}
}

// wide is a screen with room for words.
const wide = 80

// problem reports whether somebody should look at a row.
func (r *row) problem(old time.Duration) bool {
	return r.Err != nil || r.dead > 0 || r.Paused || r.age() > old
}

// summary is the head of the screen. A narrow one has the numbers alone.
func (d *Dashboard) summary(now time.Time, width int) string {
	if d.view == nil {
		return d.o.Title + ": looking …"
	}
	bad := 0
	for i := range d.rows {
		if d.rows[i].problem(d.o.Old) {
			bad++
		}
	}
	channels := "channels"
	if len(d.rows) == 1 {
		channels = "channel"
	}
	text := fmt.Sprintf("%d %s, %d with problems", len(d.rows), channels, bad)
	if width >= wide {
		text = fmt.Sprintf("%s: %s, seen %s ago", d.o.Title, text, now.Sub(d.view.At).Round(time.Second))
	}
	switch {
	case d.view.Err != nil:
		text += ": " + d.view.Err.Error()
	case d.view.RatesErr != nil:
		text += "; rates are not known: " + d.view.RatesErr.Error()
	}
	return text
}
