package ops

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/calling"
)

// ImportOptions are the options of Import. The zero value imports all lines.
type ImportOptions struct {
	// Revive removes what a rejection added to dead letters, as a requeue does. Set it to import exported dead letters
	// into a channel whose consumer is to handle them.
	Revive bool
	// From is the number of the first line that is imported. Set it to go on after an error, which names its line. 0
	// and 1: the first.
	From int
	// PerSecond bounds how many messages are sent in a second. 0: no limit.
	PerSecond float64
	// Dry reads and checks all lines, and sends nothing. Set it to check a file first.
	Dry bool
	// Progress is called after every request; not concurrently. Set it to show how far the run is.
	Progress func(r ImportResult)
}

// ImportResult is what an Import has done.
type ImportResult struct {
	Sent int // messages; in a dry run, those that would be sent
	// Next is the line with which the next run goes on.
	Next int
}

// importLine is the longest line: a body of 1 MiB, escaped, and its headers.
const importLine = 16 << 20

// Import sends the messages of an exported file to a channel, as they were. An error names the line, and the result the
// line with which to go on. If the service stops answering, some of the lines from there on may have been sent.
func Import(ctx context.Context, b driver.Backend, channel string, from io.Reader, o *ImportOptions) (
	ImportResult, error,
) {
	im := &imports{result: ImportResult{Next: 1}}
	im.o = *cmp.Or(o, &ImportOptions{})
	if im.o.From < 0 || im.o.PerSecond < 0 {
		return im.result, fmt.Errorf("ops: ImportOptions has From %d and PerSecond %v: neither can be negative",
			im.o.From, im.o.PerSecond)
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return im.result, err
	}
	s, err := b.Sender(ctx, found.Channel)
	if err != nil {
		return im.result, fmt.Errorf("ops: open %s: %w", channel, err)
	}
	var ok bool
	if im.to, ok = s.(driver.Forwarder); !ok {
		return im.result, errors.Join(errors.New("ops: this backend cannot send raw messages: its senders are no "+
			"driver.Forwarders"), s.Close(ctx))
	}
	im.ordered, im.rate.PerSecond = found.Channel.Ordered, im.o.PerSecond
	err = im.run(ctx, from)
	if err != nil {
		before := fmt.Sprintf("the lines before line %d were sent", im.result.Next)
		if im.o.Dry {
			before = "nothing was sent"
		}
		err = fmt.Errorf("ops: import to %s: %w; %s", channel, err, before)
	}
	return im.result, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
}

// imports is one run of Import.
type imports struct {
	o       ImportOptions
	to      driver.Forwarder
	ordered bool
	rate    calling.Rate
	result  ImportResult

	batch   []driver.Prepared
	numbers []int // the lines of the batch
	bytes   int
	lines   int             // that were read for the batch, with empty ones
	keys    map[string]bool // order keys of the batch
}

func (im *imports) run(ctx context.Context, from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 1<<16), importLine)
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if n < im.o.From || len(text) == 0 {
			if im.lines++; len(im.batch) == 0 {
				im.sent()
			}
			continue
		}
		p, err := im.prepare(ctx, text)
		if err != nil {
			return im.failed(ctx, n, fmt.Errorf("line %d: %w", n, err))
		}
		if im.full(p) {
			if err := im.flush(ctx); err != nil {
				return err
			}
		}
		im.batch, im.bytes, im.lines = append(im.batch, p), im.bytes+p.Size, im.lines+1
		im.numbers = append(im.numbers, n)
		im.keys[p.OrderKey] = true
	}
	if err := lines.Err(); err != nil {
		return im.failed(ctx, im.result.Next+im.lines, err)
	}
	return im.flush(ctx)
}

// failed sends the lines before a bad one, so that the result tells where to go on.
func (im *imports) failed(ctx context.Context, line int, err error) error {
	if sent := im.flush(ctx); sent != nil {
		return sent
	}
	im.result.Next = line
	return err
}

// prepare reads one line.
func (im *imports) prepare(ctx context.Context, line []byte) (driver.Prepared, error) {
	r, err := ParseRecord(line)
	if err != nil {
		return driver.Prepared{}, err
	}
	f := driver.Forward{Raw: r.Message(), ID: "import " + r.ID, Revive: im.o.Revive}
	if r.Sent != nil {
		f.First = *r.Sent
	}
	return im.to.Forward(ctx, &f)
}

// full reports whether the batch is sent before another message is added: also if it has a message of the same key,
// since a batch keeps no order.
func (im *imports) full(p driver.Prepared) bool {
	if im.keys == nil {
		im.keys = map[string]bool{}
	}
	lim := im.to.Limits()
	most := lim.Batch
	most = cmp.Or(most, 500)
	return len(im.batch) > 0 && (len(im.batch) == most || lim.Bytes > 0 && im.bytes+p.Size > lim.Bytes ||
		(im.ordered || p.OrderKey != "" && lim.Batch == 0) && im.keys[p.OrderKey])
}

// flush sends the batch.
func (im *imports) flush(ctx context.Context) error {
	var refused []error
	for len(im.batch) > 0 && !im.o.Dry {
		n, err := im.rate.Take(ctx, len(im.batch))
		if err != nil {
			return err
		}
		errs, err := im.send(ctx, im.batch[:n])
		if err != nil {
			return err
		}
		for i := range n {
			if errs[i] != nil {
				refused = append(refused, fmt.Errorf("line %d is refused: %w", im.numbers[i], errs[i]))
			} else {
				im.result.Sent++
			}
		}
		im.batch, im.numbers = im.batch[n:], im.numbers[n:]
		im.progress()
	}
	im.result.Sent += len(im.batch) // of a dry run
	im.batch, im.numbers, im.bytes = im.batch[:0], im.numbers[:0], 0
	clear(im.keys)
	im.sent()
	im.progress()
	return errors.Join(refused...)
}

// progress tells how far the run is.
func (im *imports) progress() {
	if im.o.Progress != nil {
		im.o.Progress(im.result)
	}
}

// sent moves the beginning of the next run behind the lines that were read.
func (im *imports) sent() {
	im.result.Next += im.lines
	im.lines = 0
}

// send sends messages, and repeats what fails for the moment. errs are the errors of those that were refused, by index.
func (im *imports) send(ctx context.Context, batch []driver.Prepared) (errs map[int]error, err error) {
	sent := calling.Patiently(ctx, batch, im.to.Send)
	if sent.Whole != nil {
		return sent.Errs, errors.Join(sent.Whole, ctx.Err())
	}
	for i := range batch {
		if err := sent.Errs[i]; driver.ClassOf(err).Passing() {
			return sent.Errs, errors.Join(err, ctx.Err())
		}
	}
	return sent.Errs, nil
}
