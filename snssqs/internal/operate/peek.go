package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// peekPage is how many messages are requested at once: they may have a megabyte each.
const peekPage = 100

// Peek reads messages from localaws's page of a queue, whose large bodies are in a store (nil: there is none). Another
// server has no such page, and the error wraps errors.ErrUnsupported.
func Peek(ctx context.Context, e *estate.Estate, store driver.Store, ch driver.Channel, from driver.PeekFrom, most int,
) ([]driver.Peeked, error) {
	if err := e.Clients.Open(); err != nil {
		return nil, err
	}
	if ch.Queue == "" {
		return nil, client.Permanent("channel %s: an exchange holds no messages: look at one of its queues", ch)
	}
	base := e.Clients.SQS.Options().BaseEndpoint
	if base == nil || strings.Contains(*base, ".amazonaws.com") {
		return nil, cannotPeek()
	}
	q, err := e.Queues.Of(ctx, ch)
	if err != nil {
		return nil, err
	}
	trusted, err := e.Queues.Trusts(ctx, ch, q)
	if err != nil {
		return nil, err
	}
	p := &peek{
		http:    e.Clients.SQS.Options().HTTPClient,
		decoder: wire.Decoder{From: ch, Trusted: trusted, Routing: e.Form(ch).Routing, Store: store},
		from:    from, most: most,
		page: strings.TrimSuffix(*base, "/") + "/_localaws/queues/" + url.PathEscape(cmp.Or(q.ARN(), q.Name)) +
			"/messages",
	}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	if from.ID != "" && !p.begun {
		return nil, client.NotFound("channel %s has no message %s", ch, from.ID)
	}
	return p.found, nil
}

// cannotPeek says that the service is not localaws.
func cannotPeek() error {
	return client.Permanent("SQS can only receive messages, which counts as a receive and hides them; looking at them without "+
		"that is possible on localaws: %w", errors.ErrUnsupported)
}

// peek looks at the messages of one queue.
type peek struct {
	http    sqs.HTTPClient
	decoder wire.Decoder
	page    string // the address of the list
	from    driver.PeekFrom
	most    int

	begun bool // the message was seen with which it begins
	found []driver.Peeked
}

// run reads pages until it has enough messages; for the last ones, until the end.
func (p *peek) run(ctx context.Context) error {
	for after := ""; ; {
		some, err := p.list(ctx, after)
		if err != nil {
			return err
		}
		for i := range some.Messages {
			if p.add(ctx, &some.Messages[i]); !p.from.Last && len(p.found) == p.most {
				return nil
			}
		}
		if after = some.Next; after == "" {
			return nil
		}
	}
}

// add adds a message, if it is selected.
func (p *peek) add(ctx context.Context, l *listed) {
	m := &wire.Message{Message: l.message()}
	one := driver.Peeked{Raw: m.Raw()}
	_ = p.decoder.Decode(ctx, m, &one.Delivery) // no MD5 and no signature is checked here
	one.Cancellable = m.Cancellable
	p.begun = p.begun || one.Delivery.ID == p.from.ID || p.from.ID == ""
	if !p.begun || l.Sent.Before(p.from.Time) || p.most <= 0 {
		return
	}
	if len(p.found) == p.most { // the last ones are wanted
		p.found = append(p.found[:0], p.found[1:]...)
	}
	p.found = append(p.found, one)
}

// listed is a message in localaws's list.
type listed struct {
	ID           string
	Sent         time.Time
	Body         string
	Group        string
	Trace        string
	ReceiveCount int
	DeadLetterOf string

	MessageAttributes map[string]struct {
		Type, Text string
		Binary     []byte
	}
}

// message is a listed message as a receive returns it.
func (l *listed) message() types.Message {
	m := types.Message{MessageId: &l.ID, Body: &l.Body, Attributes: map[string]string{
		"SentTimestamp":           strconv.FormatInt(l.Sent.UnixMilli(), 10),
		"ApproximateReceiveCount": strconv.Itoa(l.ReceiveCount),
	}}
	for name, value := range map[string]string{
		"MessageGroupId": l.Group, wire.TraceHeader: l.Trace, "DeadLetterQueueSourceArn": l.DeadLetterOf,
	} {
		if value != "" {
			m.Attributes[name] = value
		}
	}
	if len(l.MessageAttributes) > 0 {
		m.MessageAttributes = make(map[string]types.MessageAttributeValue, len(l.MessageAttributes))
	}
	for name, a := range l.MessageAttributes {
		v := types.MessageAttributeValue{DataType: &a.Type, StringValue: &a.Text}
		if wire.Binary(a.Type) {
			v.StringValue, v.BinaryValue = nil, a.Binary
		}
		m.MessageAttributes[name] = v
	}
	return m
}

// page is a page of localaws's list.
type page struct {
	Messages []listed
	Next     string
}

// list reads one page. An answer of another form comes from another server than localaws.
func (p *peek) list(ctx context.Context, after string) (some page, err error) {
	at := p.page + "?limit=" + strconv.Itoa(peekPage) + "&after=" + url.QueryEscape(after)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return some, client.Permanent("the endpoint of SQS is no address: %v", err)
	}
	answer, err := p.http.Do(req)
	if err != nil {
		return some, client.Transient("read %s: %w", p.page, err)
	}
	defer func() { _ = answer.Body.Close() }() // it is read, or not wanted
	switch {
	case answer.StatusCode >= http.StatusInternalServerError:
		return some, client.Transient("read %s: %s", p.page, answer.Status)
	case answer.StatusCode != http.StatusOK:
		return some, cannotPeek()
	}
	some.Messages = nil
	if err := json.NewDecoder(answer.Body).Decode(&some); err != nil || some.Messages == nil {
		if ctx.Err() != nil {
			return some, context.Cause(ctx)
		}
		return some, cannotPeek()
	}
	return some, nil
}
