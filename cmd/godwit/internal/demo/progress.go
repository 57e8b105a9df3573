package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// These are the intervals at which progress is shown: short on a terminal, longer in a log.
const (
	liveEvery = 100 * time.Millisecond
	logEvery  = time.Second
)

// progress shows the ledgers while they grow.
type progress struct {
	branches []*branch
	sent     func() int64
	out      io.Writer
	live     bool // a terminal: one line, which is overwritten
	began    time.Time
}

// show writes until ctx ends, and then once more, so that the last line is the final state.
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

// write shows the current state. An error of the terminal is no reason to stop the work, so it is ignored.
func (p *progress) write() {
	var handled strings.Builder
	retried, open := 0, 0
	for _, b := range p.branches {
		c := b.ledger.counts()
		fmt.Fprintf(&handled, " %s %d", b.name, c.Handled)
		retried, open = retried+c.Retried, open+c.Open
	}
	line := fmt.Sprintf("%5.1fs  sent %d, handled%s, retried %d, open %d", time.Since(p.began).Seconds(), p.sent(),
		&handled, retried, open)
	if p.live {
		// Return to the start of the line, clear it, and let a narrow terminal truncate it: a second line would not be
		// cleared.
		fmt.Fprintf(p.out, "\r\x1b[K\x1b[?7l%s\x1b[?7h", line)
		return
	}
	fmt.Fprintln(p.out, line)
}
