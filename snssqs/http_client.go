package snssqs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// pollConnections bounds the long polls of one process that keep a connection each.
	pollConnections = 1024
	// workConnections is how many connections for sends and settles are kept open between requests.
	workConnections = 128
	// maxAnswer is what ten messages of the largest size take as JSON that spells each character as \u0000, and a
	// mebibyte for their receipt handles and attributes.
	maxAnswer = maxBatch*defaultMaxBytes*6 + 1<<20
)

// newClients makes one HTTP client for long polls and one for all else, so that open polls never keep a delete
// waiting for a connection. A transport given by the caller carries both.
func newClients(given http.RoundTripper) (polls, work *http.Client) {
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

// inMemory hands net/http request bodies that it knows to be in memory. With a body of the SDK's own type it sends the
// header first and the body later; a fast server has answered by then, and net/http takes that for a broken
// connection and drops the answer. For a ReceiveMessage that means up to ten messages nobody has.
type inMemory struct{ next http.RoundTripper }

func (t inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	out, err := loaded(req)
	if err != nil {
		return nil, err
	}
	return bounded(t.next.RoundTrip(out))
}

// loaded is a request with its body in memory.
func loaded(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close() // it has been read to its end
	if err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	out := req.Clone(req.Context())
	out.ContentLength = int64(len(body))
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return out, nil
}

// httpClient is what the SDK asks of a client.
type httpClient interface {
	Do(*http.Request) (*http.Response, error)
}

// foreignClient does for a client of the caller's what inMemory does for ours.
type foreignClient struct{ next httpClient }

func (c foreignClient) Do(req *http.Request) (*http.Response, error) {
	out, err := loaded(req)
	if err != nil {
		return nil, err
	}
	return bounded(c.next.Do(out))
}

// bounded refuses an answer that no service gives, before it fills the memory.
func bounded(answer *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil || answer.Body == nil:
		return answer, err
	case answer.ContentLength > maxAnswer:
		_ = answer.Body.Close() // nothing of it is wanted
		return nil, errTooMuch
	}
	answer.Body = &boundedBody{answer.Body, maxAnswer}
	return answer, nil
}

// boundedBody is the body of an answer; reading more than there is left of it fails.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}

var errTooMuch = permanent("the answer is larger than %d MiB, which ten messages of SQS never are: "+
	"see to it that the endpoint is SQS, or a server like it", maxAnswer>>20)

// withBodies wraps a client that is not ours.
func withBodies(c httpClient) httpClient {
	if own, ok := c.(*http.Client); ok {
		if _, ok := own.Transport.(inMemory); ok {
			return c
		}
	}
	return foreignClient{c}
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the transport.
func (t inMemory) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
