package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// exportPage is how many messages are read at once where the service lets look without receiving.
const exportPage = 1000

// ExportOptions are the options of Export. The zero value exports all messages.
type ExportOptions struct {
	// Select selects messages. Set it to export some only.
	Select Selection
	// Most is the largest number of messages that are exported. 0: no limit.
	Most int
	// Receive allows to receive messages and to release them, where the service has no other way to look at them. Set
	// it on SQS.
	Receive bool
	// Hold is how many messages are held at once. 0: [DefaultHold]. Lower it on a queue that allows fewer messages in
	// flight.
	Hold int
}

// Export writes the messages of a channel to a file, one line of JSON each; see [Record]. They stay where they are. It
// returns how many were written.
func Export(ctx context.Context, b driver.Backend, channel string, to io.Writer, o *ExportOptions) (int, error) {
	x := &export{to: json.NewEncoder(to), channel: channel}
	x.to.SetEscapeHTML(false)
	if o != nil {
		x.o = *o
	}
	if x.o.Hold == 0 {
		x.o.Hold = DefaultHold
	}
	if x.o.Most < 0 || x.o.Hold < 0 {
		return 0, fmt.Errorf("ops: ExportOptions has Most %d and Hold %d: neither can be negative", x.o.Most, x.o.Hold)
	}
	if err := x.o.Select.check(); err != nil {
		return 0, err
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return 0, err
	}
	if found.Channel.Queue == "" {
		return 0, fmt.Errorf("ops: %s is an exchange, which keeps no messages: export one of its queues", channel)
	}
	if err = x.pages(ctx, b, found.Channel); errors.Is(err, errors.ErrUnsupported) {
		err = x.walk(ctx, b, found.Channel)
	}
	if err != nil {
		err = fmt.Errorf("ops: export %s: %w", channel, err)
	}
	return x.written, err
}

// export is one run of Export.
type export struct {
	o       ExportOptions
	channel string
	to      *json.Encoder

	mu      sync.Mutex
	written int
}

// pages reads a channel without receiving.
func (x *export) pages(ctx context.Context, b driver.Backend, c driver.Channel) error {
	for from := (driver.PeekFrom{}); !x.enough(); {
		peeked, err := peekAt(ctx, b, c, from, exportPage)
		if err != nil {
			return err
		}
		fresh := peeked
		if from.ID != "" && len(fresh) > 0 { // the last one of the page before
			fresh = fresh[1:]
		}
		for i := range fresh {
			if err := x.write(ctx, &Entry{Delivery: fresh[i].Delivery, Raw: fresh[i].Raw}); err != nil {
				return err
			}
		}
		if len(peeked) < exportPage {
			return nil
		}
		from.ID = peeked[len(peeked)-1].Delivery.ID
	}
	return nil
}

// walk receives all messages, and releases them.
func (x *export) walk(ctx context.Context, b driver.Backend, c driver.Channel) error {
	if !x.o.Receive {
		return ErrMustReceive
	}
	w, err := newWalk(ctx, b, c, x.o.Hold)
	if err != nil {
		return err
	}
	raw, ok := w.recv.(driver.RawReader)
	if !ok {
		return errors.Join(errors.New("this backend has no raw messages: its receivers are no driver.RawReaders"),
			w.recv.Close(ctx))
	}
	w.enough = x.enough
	w.visit = func(ctx context.Context, ds []driver.Delivery) ([]driver.Delivery, error) {
		for i := range ds {
			if err := x.write(ctx, &Entry{Delivery: ds[i], Raw: raw.Raw(ds[i].Handle)}); err != nil {
				return ds, err
			}
		}
		return ds, nil
	}
	if err = w.run(ctx); err != nil || x.enough() {
		return err
	}
	n, _, err := w.unseen(ctx)
	if err == nil && n > 0 {
		err = fmt.Errorf("about %d messages were not seen: consumers held them, or they stand behind a seen one of their "+
			"order key, and an ordered queue returns those only after it is deleted", n)
	}
	return err
}

func (x *export) enough() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.o.Most > 0 && x.written >= x.o.Most
}

// write writes a message if it is selected.
func (x *export) write(ctx context.Context, e *Entry) error {
	ok, err := x.o.Select.Selects(ctx, e, time.Now())
	if err != nil || !ok {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.o.Most > 0 && x.written >= x.o.Most {
		return nil
	}
	if err := x.to.Encode(NewRecord(x.channel, e)); err != nil {
		return err
	}
	x.written++
	return nil
}
