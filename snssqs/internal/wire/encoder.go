package wire

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// Encoder makes messages of one channel ready to be sent.
type Encoder struct {
	To       driver.Channel
	Dest     string // the destination's name in errors about limits
	MaxBytes int    // of a message
	Form     Form
	Trusted  trust.Topics // topics whose JSON is opened, of forwarded messages
	Uploads  *Uploads     // of large bodies; nil: there is no store
	Waits    bool         // messages whose delay the service does not keep wait beside the channel
	// Cancelling makes ids of messages that can be cancelled; nil: no message of the channel can be.
	Cancelling *Cancelling
	// Delay is that of the channel's queue, which is a part of the delay of messages that wait.
	Delay time.Duration

	sequence atomic.Int64 // of the last message that waits
}

// Prepare encodes a message. If its body is large, Prepare writes it to the store, after everything else was checked.
func (e *Encoder) Prepare(ctx context.Context, m *driver.Message) (driver.Prepared, error) {
	apart := e.Uploads.mine(m)
	w, err := e.encode(m, apart)
	if err == nil && !apart && e.Uploads != nil && w.bytes() > e.Uploads.Above { // with its attributes or its encoding
		apart = true
		w, err = e.encode(m, apart)
	}
	if err != nil {
		return driver.Prepared{}, err
	}
	room := 0
	if apart {
		room = pointerRoom
	}
	if size := w.bytes() + room; size > e.MaxBytes {
		return driver.Prepared{}, e.tooLarge(m, w, size)
	}
	if apart {
		if err := e.Uploads.put(ctx, w, m, e.To.Ordered); err != nil {
			return driver.Prepared{}, err
		}
		if size := w.bytes(); size > e.MaxBytes {
			return driver.Prepared{}, e.tooLarge(m, w, size)
		}
	}
	return driver.Prepared{Wire: w, OrderKey: m.OrderKey, Size: w.bytes()}, nil
}

func (e *Encoder) encode(m *driver.Message, apart bool) (*prepared, error) {
	w, err := encode(e, m, apart)
	if err != nil {
		return nil, &driver.Error{Class: driver.Permanent, Err: err}
	}
	pointer := ""
	if apart {
		pointer = e.Uploads.Format.Attribute()
	}
	return w, w.checkCount(pointer)
}

// tooLarge is the error of a message that the service does not accept.
func (e *Encoder) tooLarge(m *driver.Message, w *prepared, size int) error {
	err := fmt.Errorf("the message has %d bytes with its attributes, and %s accepts %d", size, e.Dest, e.MaxBytes)
	if len(w.body) > len(m.Body) {
		err = fmt.Errorf("%w; its body of %d bytes has characters that SQS refuses, so it is sent as base64, which has "+
			"%d bytes", err, len(m.Body), len(w.body))
	}
	if e.Uploads == nil {
		err = fmt.Errorf("%w; with a store (snssqs.Options.Store, s3store.Open) larger bodies are sent through S3", err)
	}
	return &driver.Error{Class: driver.TooLarge, Err: err}
}

// Forward implements driver.Forwarder: it prepares a message with the body, the attributes with their types, the group
// and the trace header that were received.
func (e *Encoder) Forward(ctx context.Context, f *driver.Forward) (driver.Prepared, error) {
	p, err := e.forward(ctx, f)
	if err != nil {
		return driver.Prepared{}, fmt.Errorf("forward message %s to %s: %w", f.ID, e.Dest, err)
	}
	return p, nil
}

func (e *Encoder) forward(ctx context.Context, f *driver.Forward) (driver.Prepared, error) {
	if f.Raw.Format != rawFormat {
		return driver.Prepared{}, client.Permanent("its format is %q, and SQS and SNS carry only messages of the format %q",
			f.Raw.Format, rawFormat)
	}
	w := &prepared{sent: &sentOn{header: slices.Clone(f.Raw.Header)}, group: string(f.Raw.Key)}
	if e.To.Queue != "" {
		w.sent.trace = f.Raw.Trace
	}
	if err := e.regroup(w, f.ID); err != nil {
		return driver.Prepared{}, err
	}
	o := opened(string(f.Raw.Body), w.sent.header, e.Trusted)
	if f.Revive {
		o.revive()
	}
	o.since(f)
	var err error
	if f.Edited {
		err = e.edit(ctx, o, f.Body)
	} else {
		err = e.keepBody(ctx, o)
	}
	if err != nil {
		return driver.Prepared{}, err
	}
	w.body, w.sent.header = o.closed()
	if err := w.sent.check(w.body, e.To.Queue == ""); err != nil {
		return driver.Prepared{}, err
	}
	if size := w.bytes(); size > e.MaxBytes {
		return driver.Prepared{}, e.forwardTooLarge(size)
	}
	p := driver.Prepared{Wire: w, Size: w.bytes()}
	if w.group != defaultGroup {
		p.OrderKey = w.group
	}
	return p, nil
}

// regroup gives a message the group and the id for duplicates that its destination needs. The id derives from the
// message's own: that of its original would make the copy a duplicate, which SQS accepts and drops.
func (e *Encoder) regroup(w *prepared, id string) error {
	if w.group != "" && !legalToken(w.group) {
		return client.Permanent("its group %q is not one that SQS accepts", w.group)
	}
	switch {
	case !e.To.Ordered:
		if w.group == defaultGroup {
			w.group = "" // otherwise all messages without an order key would be one tenant's
		}
		return nil
	case id == "":
		return client.Permanent("it has no id, from which an ordered channel recognizes a message that is forwarded twice")
	case w.group == "":
		w.group = defaultGroup
	}
	w.dedup = "fwd-" + hashed(id+"\x00"+e.Dest)
	return nil
}

// edit replaces the body, as Prepare would encode a new one. A foreign message that has no room for the attribute of a
// pointer keeps its body, if the destination takes it.
func (e *Encoder) edit(ctx context.Context, o *openedMessage, body []byte) error {
	o.remove(claim.Announces)
	text, enc := envelope.Encode(body)
	o.setText(text, enc)
	u := e.Uploads
	size := o.bytes()
	if u == nil || size <= u.Above || !o.room() {
		return nil
	}
	if size += pointerRoom - len(text); size > e.MaxBytes {
		return e.forwardTooLarge(size)
	}
	p, err := claim.Write(ctx, u.Store, u.Folder, &driver.Message{Body: body}, u.Zip, nil)
	if err != nil {
		return err
	}
	o.setText(p.Text(u.Format), envelope.Plain)
	o.add(u.Format.Attribute(), numberType, strconv.FormatInt(p.Size, 10))
	return nil
}

// keepBody makes sure that the object of a pointer lasts for as long as the message. The object of another program
// stays where its readers expect it, and nobody here knows how long it lasts.
func (e *Encoder) keepBody(ctx context.Context, o *openedMessage) error {
	texts := o.texts()
	if !claim.Announced(texts) {
		return nil
	}
	p, err := claim.Parse(o.text, texts)
	if err != nil || !p.Ours() {
		return nil //nolint:nilerr // the message's consumer has the same error; it can be forwarded without its body
	}
	if e.Uploads == nil {
		return client.Permanent("its body is in S3, and the backend cannot see whether it is deleted there soon: set " +
			"snssqs.Options.Store (s3store.Open)")
	}
	var now claim.Pointer
	if e.To.Queue == "" && !sharedKey(p.At.Key) { // the first of several readers would delete it
		now, err = claim.Copy(ctx, e.Uploads.Store, e.Uploads.Folder, p)
	} else {
		now, err = claim.Renew(ctx, e.Uploads.Store, e.Uploads.Folder, p, LongestStay)
	}
	if err != nil || now.At == p.At {
		return err
	}
	if o.text, err = claim.Moved(o.text, now.At); err == nil {
		o.changed = true
	}
	return err
}

func (e *Encoder) forwardTooLarge(size int) error {
	return &driver.Error{Class: driver.TooLarge, Err: fmt.Errorf(
		"it has %d bytes with its attributes, and %s accepts %d: raise the limit there, or send it elsewhere", size, e.Dest,
		e.MaxBytes)}
}

// sentOn is what a forwarded message has instead of an envelope of its own.
type sentOn struct {
	header []driver.RawHeader
	trace  string
}

// bytes is the size of the attributes, as the services count it. A trace header does not count.
func (f *sentOn) bytes() (n int) {
	for _, h := range f.header {
		n += len(h.Name) + len(h.Type) + len(h.Value)
	}
	return n
}

// check refuses what would fail the whole request.
func (f *sentOn) check(body string, topic bool) error {
	switch {
	case body == "":
		return client.Permanent("it has no body, and SQS accepts no message without one")
	case !envelope.Text(body):
		return client.Permanent("its body has characters that SQS does not accept")
	case !envelope.Text(f.trace):
		return client.Permanent("its trace header has characters that SQS does not accept")
	case len(f.header) > maxAttributes:
		return client.Permanent("it has %d attributes, and SQS accepts %d", len(f.header), maxAttributes)
	}
	seen := map[string]bool{}
	for _, h := range f.header {
		if seen[h.Name] {
			return client.Permanent("attribute %s occurs twice", h.Name)
		}
		seen[h.Name] = true
		if err := checkAttribute(h, topic); err != nil {
			return err
		}
	}
	return nil
}
