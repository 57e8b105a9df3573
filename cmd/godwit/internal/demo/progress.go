package demo

import (
	"context"
	"fmt"
	"io"
	"time"
)

// How often progress is shown: often enough to look alive on a terminal, seldom enough to be read in a log.
const (
	liveEvery = 100 * time.Millisecond
	logEvery  = time.Second
)

// progress shows the ledger while it fills.
type progress struct {
	ledger *ledger
	out    io.Writer
	live   bool // a terminal: one line, written over and over
	began  time.Time
}

// show writes until ctx ends, then once more, so that the last line is the last state.
func (p *progress) show(ctx context.Context) {
	every := logEvery
	if p.live {
		every = liveEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.write()
		case <-ctx.Done():
			p.write()
			if p.live {
				fmt.Fprintln(p.out)
			}
			return
		}
	}
}

// write shows the present state. What a terminal cannot take is no reason to stop the work, so errors are not looked at.
func (p *progress) write() {
	c := p.ledger.counts()
	line := fmt.Sprintf("%6.1fs  sent %d, handled %d, retried %d, open %d", time.Since(p.began).Seconds(), c.Sent, c.Handled, c.Retried, c.Open)
	if p.live {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line) // back to the start of the line, and clear it
		return
	}
	fmt.Fprintln(p.out, line)
}
