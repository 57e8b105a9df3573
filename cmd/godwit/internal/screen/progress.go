package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The pauses between two lines of progress: short on a terminal, where a line replaces the one before, and longer in a
// log.
const (
	liveEvery = time.Second / 4
	logEvery  = time.Second
)

// barWidth is how many characters a bar has.
const barWidth = 20

// Progress tells how far long work is: on a terminal with a bar that is drawn again and again, elsewhere with a line a
// second. Work that is done before the first line is due has none.
type Progress struct {
	to    io.Writer
	width int // of the terminal; 0: there is no terminal
	begun time.Time

	stop, ended chan struct{}

	mu    sync.Mutex
	count int64   // what the rate counts
	share float64 // of the work that is done; negative: unknown
	text  string  // "": nothing is known yet
}

// NewProgress begins to tell the progress on a command's standard error, until End.
func NewProgress(errOut io.Writer) *Progress {
	p := &Progress{
		to: errOut, begun: time.Now(), share: -1, stop: make(chan struct{}), ended: make(chan struct{}),
	}
	every := logEvery
	if terminal := TerminalOf(errOut); terminal != nil {
		p.to, p.width, every = terminal, max(widthOf(errOut), 1), liveEvery
	}
	go p.tell(every)
	return p
}

// At says how far the work is: how many messages the rate counts, which share of the work that is, negative if it is
// unknown, and a text of these numbers.
func (p *Progress) At(count int64, share float64, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count, p.share, p.text = count, share, text
}

// End ends the telling, and clears the line of a terminal. Nothing is written after it.
func (p *Progress) End() {
	close(p.stop)
	<-p.ended
}

func (p *Progress) tell(every time.Duration) {
	defer close(p.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.write()
		case <-p.stop:
			if p.width > 0 {
				fmt.Fprint(p.to, "\r\x1b[K")
			}
			return
		}
	}
}

// write writes a line. An error is no reason to stop the work.
func (p *Progress) write() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch line := p.line(time.Since(p.begun)); {
	case p.text == "":
	case p.width > 0:
		fmt.Fprintf(p.to, "\r\x1b[K%s", cut(Escape(bar(p.share)+line), p.width-1))
	default:
		fmt.Fprintln(p.to, line)
	}
}

// line is the text with the rate, and the time that is left. The caller holds the lock.
func (p *Progress) line(took time.Duration) string {
	line := p.text
	if took >= time.Second {
		line += fmt.Sprintf(", %.0f/s", float64(p.count)/took.Seconds())
	}
	if p.share > 0 && p.share < 1 {
		if left := time.Duration(float64(took) * (1 - p.share) / p.share); left > time.Second {
			line += ", about " + Ago(left.Round(time.Second)) + " left"
		}
	}
	return line
}

// bar draws a share; "": it is unknown.
func bar(share float64) string {
	if share < 0 {
		return ""
	}
	share = min(share, 1)
	full := int(share * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%% ", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), share*100)
}

// cut is the beginning of a text that fits a number of columns.
func cut(text string, columns int) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns])
}
