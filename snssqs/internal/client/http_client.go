package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
)

const (
	// pollConnections bounds the connections for long polls of one process.
	pollConnections = 1024
	// workConnections bounds the idle connections for sends and settlements that are kept open: as many as a thousand
	// handlers of 10 ms need when a settlement takes 50 ms.
	workConnections = 512
	// maxAnswer is the size of ten messages of the largest size, as JSON that writes each character as \u0000, plus a
	// mebibyte for receipt handles and attributes.
	maxAnswer = MaxBatch*MaxBytes*6 + 1<<20
	// maxShortAnswer is the size of an answer about ten entries without a body, with long texts of errors.
	maxShortAnswer = 64 << 10
)

// newPools returns one HTTP client for long polls and one for other calls, so that a delete never waits for a
// connection that open polls hold. A transport of the caller is used by both.
func newPools(given http.RoundTripper) (polls, work *http.Client) {
	if given != nil {
		c := &http.Client{Transport: inMemory{given}}
		return c, c
	}
	own := func(connections int) *http.Client {
		return &http.Client{Transport: inMemory{newTransport(connections)}}
	}
	return own(pollConnections), own(workConnections)
}

func newTransport(connections int) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, addr)
		},
		MaxIdleConns:          connections,
		MaxIdleConnsPerHost:   connections,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   5 * time.Second,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
	}
}

// inMemory passes request bodies to net/http as byte readers. For a body of the SDK's own type, net/http sends the
// header first and the body later. A fast server answers in between, and net/http then treats the connection as broken
// and drops the answer. For a ReceiveMessage this would strand up to ten messages.
type inMemory struct{ next http.RoundTripper }

func (t inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	return carry(req, t.next.RoundTrip)
}

// carry makes a request with its body in memory, and bounds the answer.
func carry(req *http.Request, do func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	out, err := withBodyInMemory(req)
	if err != nil {
		return nil, err
	}
	return bounded(out, do)
}

// withBodyInMemory returns a request whose body is in memory.
func withBodyInMemory(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := readBody(req.Body, req.ContentLength)
	_ = req.Body.Close() // it has been read to its end
	if err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	out := req.WithContext(req.Context()) // a shallow copy: nothing below changes the header
	out.ContentLength = int64(len(body))
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return out, nil
}

// readBody reads a body, in one piece where the request says how long it is, as the SDK's requests do. A body that ends
// before is an error.
func readBody(body io.Reader, length int64) ([]byte, error) {
	if length <= 0 {
		return io.ReadAll(body)
	}
	all := make([]byte, length)
	if _, err := io.ReadFull(body, all); err != nil {
		return nil, err
	}
	return all, nil
}

// doer is the interface that the SDK needs.
type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// foreignClient does the same as inMemory for a client of the caller.
type foreignClient struct{ next doer }

func (c foreignClient) Do(req *http.Request) (*http.Response, error) { return carry(req, c.next.Do) }

// bounded makes a request, and refuses an answer that is larger than any of the service's, so that it cannot fill the
// memory.
func bounded(req *http.Request, do func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	answer, err := do(req)
	most := mostOf(req)
	switch {
	case err != nil || answer.Body == nil:
		return answer, err
	case answer.ContentLength > most:
		_ = answer.Body.Close() // the body is not used
		return nil, tooMuch(most)
	}
	answer.Body = &boundedBody{answer.Body, most, most}
	return answer, nil
}

// mostOf is the size of the largest answer to a request. Those to sends, deletes and renewals have no bodies, and there
// may be hundreds of them at the same time.
func mostOf(req *http.Request) int64 {
	_, action, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	switch action {
	case "SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch":
		return maxShortAnswer
	case "":
		if publishes(req) {
			return maxShortAnswer
		}
	}
	return maxAnswer
}

// publishes reports whether a request is one of SNS's protocol that publishes.
func publishes(req *http.Request) bool {
	if req.GetBody == nil || req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	const publish = "Action=PublishBatch&"
	begin := make([]byte, len(publish))
	_, err = io.ReadFull(body, begin)
	return err == nil && string(begin) == publish
}

// boundedBody is the body of an answer; reading beyond the limit fails.
type boundedBody struct {
	io.ReadCloser
	left, most int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooMuch(b.most)
	}
	return n, err
}

func tooMuch(most int64) error {
	return Permanent("the answer is larger than %d KiB, which one of SQS or SNS to this call never is: see to it that the "+
		"endpoint is SQS, or a server like it", most>>10)
}

// withBodies wraps a client of the caller.
func withBodies(c doer) doer {
	if own, ok := c.(*http.Client); ok {
		if _, ok := own.Transport.(inMemory); ok {
			return c
		}
	}
	return foreignClient{c}
}

// CloseIdleConnections makes http.Client.CloseIdleConnections reach the transport.
func (t inMemory) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// AnswerWithin bounds one call, from the first byte of the request to the last byte of the answer, including the SDK's
// retries of provisioning calls. It limits the damage of a connection that broke silently, or of a service that stops
// in the middle of an answer. A batch of 1 MiB fits at 100 KiB a second.
const AnswerWithin = 10 * time.Second

// MaxWait is the longest long poll of SQS.
const MaxWait = 20 * time.Second

// deadlines gives each call of a client a deadline; a long poll gets its wait in addition. A client's own timeout does
// not know the wait, and net/http's timeouts end with the response header.
func deadlines(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("godwitDeadline", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (out middleware.InitializeOutput, meta middleware.Metadata, err error) {
		limit := AnswerWithin
		if poll, ok := in.Parameters.(*sqs.ReceiveMessageInput); ok {
			limit += pollWait(poll)
		}
		timed, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		out, meta, err = next.HandleInitialize(timed, in)
		if err != nil && timed.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("no whole answer within %v: %w", limit, err)
		}
		return out, meta, err
	}), middleware.Before)
}

// pollWait returns how long a poll may stay open. A poll without a wait uses the queue's own.
func pollWait(in *sqs.ReceiveMessageInput) time.Duration {
	if in.WaitTimeSeconds == 0 {
		return MaxWait
	}
	return time.Duration(in.WaitTimeSeconds) * time.Second
}
