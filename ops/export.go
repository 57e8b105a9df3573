package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/walk"
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
	// Progress is called after every batch; not concurrently. Set it to show how far the run is.
	Progress func(p ExportProgress)
}

// ExportProgress is how far an Export is.
type ExportProgress struct {
	// Waiting is how many messages there were at the beginning; approximate where the service counts approximately.
	// Negative: unknown.
	Waiting         int64
	Looked, Written int64
}

// Export writes the messages of a channel to a file, one line of JSON each; see [Record]. They stay where they are. It
// returns how many were written.
func Export(ctx context.Context, b driver.Backend, channel string, to io.Writer, o *ExportOptions) (int, error) {
	x := &export{to: json.NewEncoder(to), channel: channel}
	x.to.SetEscapeHTML(false)
	x.o = *cmp.Or(o, &ExportOptions{})
	x.o.Hold = cmp.Or(x.o.Hold, DefaultHold)
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
	x.count(ctx, b, found.Channel)
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

	waiting int64 // for Progress

	mu              sync.Mutex
	looked, written int
}

// count counts what waits, if somebody is told.
func (x *export) count(ctx context.Context, b driver.Backend, c driver.Channel) {
	x.waiting = -1
	if inspect := driver.OperationsOf(b).Inspect; inspect != nil && x.o.Progress != nil {
		if d, err := inspect(ctx, c); err == nil {
			x.waiting = d.All()
		}
	}
}

// progress tells how far the run is.
func (x *export) progress() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.o.Progress != nil {
		x.o.Progress(ExportProgress{Waiting: x.waiting, Looked: int64(x.looked), Written: int64(x.written)})
	}
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
		x.progress()
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
	w, err := walk.Open(ctx, b, c, x.o.Hold)
	if err != nil {
		return err
	}
	visit := func(ctx context.Context, ds []driver.Delivery) ([]driver.Delivery, error) {
		for i := range ds {
			e := Entry{Delivery: ds[i]}
			if !w.Receiver().As(ds[i].Handle, &e.Raw) {
				return ds, errors.New("this backend has no raw messages: As of its receivers does not know *driver.Raw")
			}
			if err := x.write(ctx, &e); err != nil {
				return ds, err
			}
		}
		x.progress()
		return ds, nil
	}
	if err = w.Run(ctx, walk.Plan{Visit: visit, Enough: x.enough}); err != nil || x.enough() {
		return err
	}
	n, _, err := w.Unseen(ctx)
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
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.looked++; err != nil || !ok {
		return err
	}
	if x.o.Most > 0 && x.written >= x.o.Most {
		return nil
	}
	if err := x.to.Encode(NewRecord(x.channel, e)); err != nil {
		return err
	}
	x.written++
	return nil
}

// Record is a message as a line of JSON. What is in Raw is the message itself; the other fields explain it to readers,
// and an import ignores them.
type Record struct {
	Channel    string        `json:"channel"`
	ID         string        `json:"id"`
	Sent       *time.Time    `json:"sent,omitempty"`
	Received   int32         `json:"received,omitempty"`
	Attempts   int32         `json:"attempts,omitempty"`
	OrderKey   string        `json:"order_key,omitempty"`
	RoutingKey string        `json:"routing_key,omitempty"`
	Size       int64         `json:"size"`
	Death      *RecordDeath  `json:"death,omitempty"`
	Problem    string        `json:"problem,omitempty"` // why a consumer could not decode it
	Raw        RecordMessage `json:"raw"`
}

// RecordDeath says why a message died.
type RecordDeath struct {
	Kind     string     `json:"kind"`
	Error    string     `json:"error"`
	Consumer string     `json:"consumer,omitempty"`
	Channel  string     `json:"channel,omitempty"`
	ID       string     `json:"id,omitempty"` // of the message that was rejected
	Deaths   int        `json:"deaths,omitempty"`
	First    *time.Time `json:"first,omitempty"`
	Last     *time.Time `json:"last,omitempty"`
}

// RecordMessage is a raw message. What is no UTF-8 is in base64.
type RecordMessage struct {
	Format string         `json:"format"`
	Body   *string        `json:"body,omitempty"`
	Body64 []byte         `json:"body_base64,omitempty"`
	Key    *string        `json:"key,omitempty"`
	Key64  []byte         `json:"key_base64,omitempty"`
	Header []RecordHeader `json:"headers,omitempty"`
	Trace  string         `json:"trace,omitempty"`
}

// RecordHeader is a header of a raw message.
type RecordHeader struct {
	Name    string  `json:"name"`
	Name64  []byte  `json:"name_base64,omitempty"`
	Type    string  `json:"type,omitempty"`
	Value   *string `json:"value,omitempty"` // neither this nor the next: the header has no value
	Value64 []byte  `json:"value_base64,omitempty"`
}

// NewRecord returns an entry as a record.
func NewRecord(channel string, e *Entry) Record {
	r := Record{
		Channel: channel, ID: e.ID, Sent: moment(e.SentAt), Received: e.Received, Attempts: e.Attempts(),
		OrderKey: e.OrderKey, RoutingKey: e.RoutingKey, Size: int64(len(e.Body)),
		Raw: RecordMessage{Format: e.Raw.Format, Trace: e.Raw.Trace},
	}
	if e.Opener != nil {
		r.Size = e.Size
	}
	if e.Err != nil {
		r.Problem = e.Err.Error()
	}
	if o := e.Origin; o != nil {
		r.Death = &RecordDeath{
			Kind: o.Death.Kind, Error: o.Death.Error, Consumer: o.Death.Consumer, Channel: o.Channel.String(), ID: o.ID,
			Deaths: o.Deaths, First: moment(o.Death.First), Last: moment(o.Death.Last),
		}
	}
	r.Raw.Body, r.Raw.Body64 = texted(e.Raw.Body)
	if e.Raw.Body == nil {
		r.Raw.Body = nil
	}
	if e.Raw.Key != nil {
		r.Raw.Key, r.Raw.Key64 = texted(e.Raw.Key)
	}
	for _, h := range e.Raw.Header {
		out := RecordHeader{Name: h.Name, Type: h.Type}
		if !utf8.ValidString(h.Name) {
			out.Name, out.Name64 = "", []byte(h.Name)
		}
		if h.Value != nil {
			out.Value, out.Value64 = texted(h.Value)
		}
		r.Raw.Header = append(r.Raw.Header, out)
	}
	return r
}

// Message returns the raw message of a record.
func (r *Record) Message() driver.Raw {
	m := &r.Raw
	raw := driver.Raw{Format: m.Format, Body: bytesOf(m.Body, m.Body64), Key: bytesOf(m.Key, m.Key64), Trace: m.Trace}
	for _, h := range m.Header {
		name := h.Name
		if h.Name64 != nil {
			name = string(h.Name64)
		}
		raw.Header = append(raw.Header, driver.RawHeader{Name: name, Type: h.Type, Value: bytesOf(h.Value, h.Value64)})
	}
	return raw
}

// ParseRecord reads a line of JSON.
func ParseRecord(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("it is no exported message: %w", err)
	}
	if r.Raw.Format == "" {
		return r, fmt.Errorf("it is no exported message: it has no raw.format")
	}
	return r, nil
}

// texted returns bytes as a text or, if they are no UTF-8, as they are.
func texted(b []byte) (*string, []byte) {
	if utf8.Valid(b) {
		text := string(b)
		return &text, nil
	}
	return nil, b
}

func bytesOf(text *string, b []byte) []byte {
	if text != nil {
		return []byte(*text)
	}
	return b
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
