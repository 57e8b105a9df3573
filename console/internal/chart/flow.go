package chart

import (
	"html/template"
	"time"
)

// Flow draws the way of the messages of one channel: sent, waiting, running, done, with the branches retried and dead.
// The width of a link is its rate.
type Flow struct {
	Label  string
	Window time.Duration // the time for which the rates are the mean

	Sent, Started, Done, Retried, Rejected float64 // messages a second

	Waiting, Running, Delayed, Dead float64 // messages now; Delayed are those that wait for a retry

	WaitingHref, RunningHref, DelayedHref, DeadHref string // where the boxes lead; "": nowhere
}

// Sizes of Flow, in pixels.
const (
	flowWidth, flowHeight   = 640, 152
	stageWidth, stageHeight = 104, 44
	upper, lower            = 8, 98
	thickest                = 14
)

// SVG returns the chart.
func (c Flow) SVG() template.HTML {
	links := local(c.WaitingHref) || local(c.RunningHref) || local(c.DelayedHref) || local(c.DeadHref)
	f := flow{drawing: begin("c-flow", c.Label, flowWidth, flowHeight, links)}
	for _, v := range [...]float64{c.Sent, c.Started, c.Done, c.Retried, c.Rejected} {
		if known(v) {
			f.high = max(f.high, v)
		}
	}
	const sent, waiting, running, done = 1, 179, 357, 535
	const middle = upper + stageHeight/2
	f.straight("sent", c.Sent, sent+stageWidth, waiting, middle)
	f.straight("started", c.Started, waiting+stageWidth, running, middle)
	f.straight("done", c.Done, running+stageWidth, done, middle)
	f.branches(c, waiting, running, done)
	f.stage("c-exchange", "sent", f.count(c.Sent, c.Window), "", sent, upper)
	f.stage("c-queue", "waiting", Count.format(c.Waiting), c.WaitingHref, waiting, upper)
	f.stage("c-consumer", "running", Count.format(c.Running), c.RunningHref, running, upper)
	f.stage("c-exchange", "done", f.count(c.Done, c.Window), "", done, upper)
	f.stage("c-queue", "delayed", Count.format(c.Delayed), c.DelayedHref, waiting, lower)
	class := "c-dead"
	if known(c.Dead) && c.Dead > 0 {
		class += " c-bad"
	}
	f.stage(class, "dead letters", Count.format(c.Dead), c.DeadHref, done, lower)
	return f.end()
}

// A flow is a drawing with links whose widths are rates.
type flow struct {
	*drawing
	high float64 // the largest rate
}

// count writes how many messages a rate was in a window.
func (f *flow) count(rate float64, window time.Duration) string {
	if window <= 0 || !known(rate) {
		return Rate.format(rate)
	}
	return Count.format(rate*window.Seconds()) + " in " + age(window)
}

// straight draws a link between two stages of one row.
func (f *flow) straight(name string, rate, left, right, y float64) {
	f.curve(name, rate, "c-plain", path(nil).move(left, y).line(right-8, y))
	f.arrow(rate, "c-plain", path(nil).move(right-9, y-5).line(right-1, y).line(right-9, y+5))
	f.text("c-text c-halo", (left+right)/2, y-10, around, Rate.format(rate))
}

// branches draws the links to and from the lower row.
func (f *flow) branches(c Flow, waiting, running, done float64) {
	const middle, under = lower + stageHeight/2, upper + stageHeight
	from, to := running+24, waiting+stageWidth
	f.curve("retried", c.Retried, "c-warn", path(nil).move(from, under).
		to('C', from, middle, from, middle, to+8, middle))
	f.arrow(c.Retried, "c-warn", path(nil).move(to+9, middle-5).line(to+1, middle).line(to+9, middle+5))
	back := waiting + stageWidth/2
	f.curve("retried", c.Retried, "c-warn", path(nil).move(back, lower).line(back, under+8))
	f.arrow(c.Retried, "c-warn", path(nil).move(back-5, under+9).line(back, under+1).line(back+5, under+9))
	f.branch("retried", c.Retried, (from+to)/2-4, middle)

	from = running + stageWidth - 24
	f.curve("rejected", c.Rejected, "c-bad", path(nil).move(from, under).
		to('C', from, middle, from, middle, done-8, middle))
	f.arrow(c.Rejected, "c-bad", path(nil).move(done-9, middle-5).line(done-1, middle).line(done-9, middle+5))
	f.branch("rejected", c.Rejected, (from+done)/2+6, middle)
}

// branch writes the name of a link above it, and its rate below.
func (f *flow) branch(name string, rate, x, y float64) {
	f.text("c-text c-name c-halo", x, y-13, around, name)
	f.text("c-text c-halo", x, y+20, around, Rate.format(rate))
}

// state returns the class of a link with a rate.
func state(rate float64, class string) string {
	switch {
	case !known(rate):
		return "c-unknown"
	case rate == 0:
		return "c-idle"
	}
	return class
}

func (f *flow) curve(name string, rate float64, class string, p path) {
	f.wide("c-link "+state(rate, class), p, f.thickness(rate), name+" "+Rate.format(rate))
}

func (f *flow) arrow(rate float64, class string, p path) { f.path(state(rate, class), p.to('z'), "") }

// thickness returns the width of a link.
func (f *flow) thickness(rate float64) float64 {
	if !known(rate) || rate == 0 || f.high == 0 {
		return 1
	}
	return 1 + (thickest-1)*rate/f.high
}

// wide draws a path of a width.
func (d *drawing) wide(class string, p path, width float64, title string) {
	d.open("path", class).attribute("stroke-width", width).raw(` d="`).raw(string(p)).raw(`"`).shut("path", title)
}

// stage draws a box with a name and a number.
func (f *flow) stage(class, name, amount, href string, x, y float64) {
	end := f.link(href)
	f.rect("c-box "+class, box{x, y, stageWidth, stageHeight}, 4, name+": "+amount)
	f.text("c-text c-name", x+stageWidth/2, y+16, around, name)
	f.text("c-text c-number", x+stageWidth/2, y+34, around, amount)
	end()
}
