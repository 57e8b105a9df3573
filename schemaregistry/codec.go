package schemaregistry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/godwitmq/godwit"
)

const (
	defaultCache   = 1000
	maxCache       = 1_000_000
	defaultTimeout = 5 * time.Second
	minTimeout     = 10 * time.Millisecond
	maxTimeout     = 5 * time.Minute
	// timeoutPart is the part of the rest of a handler's processing timeout that a request to the registry may take: a
	// registry that hangs must not use up that timeout, which rejects the delivery.
	timeoutPart = 3
)

// Options of a codec. The zero value decodes.
type Options struct {
	// Subject is the name in the registry under which the schema of sent values is registered. Set it to send; it is
	// TopicName, RecordName or TopicRecordName of the names that the other programs use. "": the codec only decodes.
	Subject string
	// Schema is the schema of sent values, which must be registered under Subject. Set it if the program has its schema
	// with it, as generated code does, so that a newer version in the registry does not change what the program says
	// that it sends. nil: the version that is the latest when the codec first encodes.
	Schema *sr.Schema
	// Register registers Schema under Subject if it is not registered yet. Set it for development; elsewhere a
	// deployment should do it, because a program that may register schemas may change what all others accept.
	Register bool
	// Index is the position of the message in its file, for protocol buffers: godwitproto.Index returns it. Set it for
	// them, also to decode: a body with another message is then an error. nil: the first message of the file, and any
	// message is decoded.
	Index []int
	// Cache is how many schemas of received bodies are kept, the ones that were used last; 0: 1,000. Raise it if
	// messages have more different schemas than that.
	Cache int
	// Timeout is how long a request to the registry may take, up to 5 min; 0: 5 s. Raise it if the registry is slow.
	// A handler that runs waits for at most a third of the rest of its processing timeout.
	Timeout time.Duration
}

// Codec encodes and decodes bodies with the ids of their schemas. It is safe for concurrent use.
type Codec struct {
	client   *sr.Client
	serde    Serde
	o        Options
	sent     *lookups // has one schema, that of sent values
	received *lookups
}

var _ godwit.ContextCodec = (*Codec)(nil)

// New makes a codec. It makes no request. Several codecs may share a client.
func New(client *sr.Client, serde Serde, o *Options) (*Codec, error) {
	c := &Codec{client: client, serde: serde}
	c.o = *cmp.Or(o, &Options{})
	if err := c.o.check(); err != nil {
		return nil, err
	}
	switch {
	case client == nil:
		return nil, fmt.Errorf("%w: the client of the registry is nil: make one with sr.NewClient", godwit.ErrInvalid)
	case serde.Decode == nil && serde.Encode == nil:
		return nil, fmt.Errorf("%w: the Serde has no functions: use Payload, or set Encode and Decode", godwit.ErrInvalid)
	case serde.Encode == nil && c.o.Subject != "":
		return nil, fmt.Errorf("%w: Serde.Encode is nil, and Options.Subject is %q: set the function to send values, or "+
			"remove the subject", godwit.ErrInvalid, c.o.Subject)
	}
	c.o.Index = slices.Clone(c.o.Index)
	c.sent, c.received = newLookups(1, false), newLookups(c.o.Cache, true)
	return c, nil
}

// check sets defaults, and refuses what cannot be right.
func (o *Options) check() error {
	o.Cache = cmp.Or(o.Cache, defaultCache)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	switch {
	case o.Cache < 0 || o.Cache > maxCache:
		return fmt.Errorf("%w: Options.Cache is %d: use 1 to %d, or 0 for %d", godwit.ErrInvalid, o.Cache, maxCache,
			defaultCache)
	case o.Timeout < minTimeout || o.Timeout > maxTimeout:
		return fmt.Errorf("%w: Options.Timeout is %v: use %v to %v, or 0 for %v", godwit.ErrInvalid, o.Timeout,
			minTimeout, maxTimeout, defaultTimeout)
	case o.Subject == "" && (o.Schema != nil || o.Register):
		return fmt.Errorf("%w: Options.Schema or Register is set, and Subject is empty: both are about the schema of sent "+
			"values, so set the subject that it has", godwit.ErrInvalid)
	case o.Register && o.Schema == nil:
		return fmt.Errorf("%w: Options.Register is set, and Schema is nil: set the schema to register", godwit.ErrInvalid)
	case len(o.Index) > maxIndex || slices.ContainsFunc(o.Index, func(i int) bool { return i < 0 }):
		return fmt.Errorf("%w: Options.Index is %v: use the result of godwitproto.Index", godwit.ErrInvalid, o.Index)
	}
	return nil
}

// ContentType implements godwit.Codec. It is empty, as the bodies of other programs that use a registry have none.
func (c *Codec) ContentType() string { return "" }

// Encode implements godwit.Codec.
func (c *Codec) Encode(v any) ([]byte, error) { return c.EncodeContext(context.Background(), v) }

// EncodeContext implements godwit.ContextCodec. The first call asks the registry for the id of the schema, and so does
// each one after it until the registry has answered.
func (c *Codec) EncodeContext(ctx context.Context, v any) ([]byte, error) {
	if c.o.Subject == "" {
		return nil, errors.New("the codec has no subject, under which the registry has the schema of sent values: set " +
			"Options.Subject")
	}
	s, err := c.sent.get(ctx, 0, c.o.Timeout, c.own)
	if err != nil {
		return nil, fmt.Errorf("find the schema of subject %s: %w", c.o.Subject, err)
	}
	payload, err := c.serde.Encode(s, v)
	if err != nil {
		return nil, fmt.Errorf("encode with schema %d of subject %s: %w", s.ID, c.o.Subject, err)
	}
	return append(header(s), payload...), nil
}

// own asks the registry for the schema of sent values.
func (c *Codec) own(ctx context.Context, _ int) (Schema, error) {
	out := Schema{Index: c.o.Index}
	var err error
	switch {
	case c.o.Schema == nil:
		var latest sr.SubjectSchema
		latest, err = c.client.SchemaByVersion(ctx, c.o.Subject, -1)
		out.Schema, out.ID = latest.Schema, latest.ID
	case c.o.Register:
		out.Schema = *c.o.Schema
		out.ID, err = c.client.RegisterSchema(ctx, c.o.Subject, *c.o.Schema, -1, -1)
	default:
		var found sr.SubjectSchema
		found, err = c.client.LookupSchema(ctx, c.o.Subject, *c.o.Schema)
		out.Schema, out.ID = *c.o.Schema, found.ID
	}
	switch {
	case missing(err) && c.o.Schema == nil:
		err = fmt.Errorf("%w: register a schema under the subject", err)
	case missing(err):
		err = fmt.Errorf("%w: register the schema under the subject, or set Options.Register", err)
	}
	switch {
	case out.Type != sr.TypeProtobuf:
		out.Index = nil
	case out.Index == nil:
		out.Index = []int{0}
	}
	return out, err
}

// Decode implements godwit.Codec.
func (c *Codec) Decode(body []byte, v any) error {
	return c.DecodeContext(context.Background(), body, v)
}

// DecodeContext implements godwit.ContextCodec. It asks the registry for a schema that it does not have yet. Its error
// is marked with godwit.HoldFor if the registry does not answer, and with godwit.RetryAfter if it does not know the
// schema.
func (c *Codec) DecodeContext(ctx context.Context, body []byte, v any) error {
	if c.serde.Decode == nil {
		return errors.New("the codec only encodes: set Serde.Decode")
	}
	id, rest, err := readID(body)
	if err != nil {
		return err
	}
	s, err := c.received.get(ctx, id, c.o.Timeout, c.byID)
	if err != nil {
		return judged(fmt.Errorf("find schema %d, which the body was encoded with: %w", id, err))
	}
	if s.Type == sr.TypeProtobuf {
		if s.Index, rest, err = readIndex(rest); err != nil {
			return fmt.Errorf("schema %d is of protocol buffers: %w", id, err)
		}
		if c.o.Index != nil && !slices.Equal(s.Index, c.o.Index) {
			return fmt.Errorf("the body is message %v of schema %d, and Options.Index is %v: it is another message; decode "+
				"each with a codec of its own", s.Index, id, c.o.Index)
		}
	}
	if err := c.serde.Decode(s, rest, v); err != nil {
		return fmt.Errorf("decode with schema %d: %w", id, err)
	}
	return nil
}

// byID asks the registry for the schema of a received body.
func (c *Codec) byID(ctx context.Context, id int) (Schema, error) {
	s, err := c.client.SchemaByID(ctx, id)
	return Schema{Schema: s, ID: id}, err
}

// judged marks an error of the registry about a received body, so that the consumer does not take it for one of the
// message.
func judged(err error) error {
	var out *outageError
	if errors.As(err, &out) {
		return godwit.HoldFor(out.wait, err)
	}
	if missing(err) {
		return godwit.RetryAfter(unknownWait, err)
	}
	return godwit.HoldFor(unknownWait, err)
}

// missing reports whether the registry has answered that it does not know a schema, a subject or a version. A 404 of
// anything else than a registry, such as a proxy, has no such code.
func missing(err error) bool {
	var answer *sr.ResponseError
	return errors.As(err, &answer) && slices.Contains([]int{40401, 40402, 40403}, answer.ErrorCode)
}
