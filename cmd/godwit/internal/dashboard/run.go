package dashboard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/godwitmq/godwit/ops"
)

// Open opens the terminal of this process.
func Open() (tcell.Screen, error) {
	s, err := tcell.NewScreen()
	if err == nil {
		err = s.Init()
	}
	if err != nil {
		return nil, fmt.Errorf("draw on this terminal (TERM): %w: use godwit ls --watch", err)
	}
	return s, nil
}

// answered is the result of a command.
type answered struct {
	to   *command
	text string
	err  error
}

// Run shows channels on a screen until somebody ends it, or ctx ends. It restores the terminal.
func Run(ctx context.Context, on tcell.Screen, o *Options) {
	ctx, stop := context.WithCancel(ctx)
	var working sync.WaitGroup
	defer working.Wait()
	defer on.Fini()
	defer stop()
	d := &Dashboard{o: *o}
	events, answers, views := make(chan tcell.Event), make(chan answered), make(chan ops.View)
	working.Go(func() { on.ChannelEvents(events, ctx.Done()) })
	working.Go(func() {
		for v := range o.Watch(ctx) {
			select {
			case views <- v:
			case <-ctx.Done():
			}
		}
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !d.ended {
		d.draw(on, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case v := <-views:
			d.see(&v, time.Now())
		case a := <-answers:
			d.answer(a.to, a.text, a.err)
		case e, ok := <-events:
			if !ok {
				return // the terminal has gone
			}
			_, height := on.Size()
			if c := d.take(e, on, max(1, height-rest)); c != nil {
				working.Go(func() {
					a := answered{to: c}
					if c.what == describing {
						a.text, a.err = o.Describe(ctx, c.channel)
					} else {
						a.text, a.err = o.Requeue(ctx, c.channel, c.dry)
					}
					select {
					case answers <- a:
					case <-ctx.Done():
					}
				})
			}
		}
	}
}

// take takes an event of the terminal.
func (d *Dashboard) take(e tcell.Event, on tcell.Screen, height int) *command {
	switch e := e.(type) {
	case *tcell.EventResize:
		on.Sync()
	case *tcell.EventKey:
		return d.key(nameOf(e), height)
	}
	return nil
}

// nameOf is the name of a key.
func nameOf(e *tcell.EventKey) string {
	if e.Key() == tcell.KeyRune {
		if e.Rune() == ' ' {
			return "space"
		}
		return string(e.Rune())
	}
	names := map[tcell.Key]string{
		tcell.KeyCtrlC: "ctrl-c", tcell.KeyEscape: "esc", tcell.KeyEnter: "enter", tcell.KeyUp: "up",
		tcell.KeyDown: "down",
		tcell.KeyLeft: "left", tcell.KeyRight: "right", tcell.KeyPgUp: "pgup", tcell.KeyPgDn: "pgdn",
		tcell.KeyHome: "home", tcell.KeyEnd: "end", tcell.KeyBackspace: "backspace", tcell.KeyBackspace2: "backspace",
	}
	return names[e.Key()]
}
