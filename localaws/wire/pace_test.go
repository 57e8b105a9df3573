package wire_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// pipes is a listener without sockets, so that time can be virtual.
type pipes struct{ accepted chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.accepted
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error {
	close(p.accepted)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// TestABodyThatPauses: a body without a byte for ten seconds is cut, one that is slow is not.
func TestABodyThatPauses(t *testing.T) {
	const body = `{"QueueUrl":"u"}`
	send := func(t *testing.T, pauses []time.Duration) (status int, text string, took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			l := pipes{make(chan net.Conn, 1)}
			server := &http.Server{Handler: mux(wire.Options{})}
			over := make(chan struct{})
			go func() {
				defer close(over)
				_ = server.Serve(l)
			}()
			client, accepted := net.Pipe()
			l.accepted <- accepted
			begin, written := time.Now(), make(chan struct{})
			go func() {
				defer close(written)
				_, _ = io.WriteString(client, "POST / HTTP/1.1\r\nHost: localaws\r\nConnection: close\r\n"+
					"X-Amz-Target: AmazonSQS.Echo\r\nContent-Length: 16\r\n\r\n")
				for i, pause := range pauses {
					time.Sleep(pause)
					part := len(body) / len(pauses)
					_, _ = io.WriteString(client, body[i*part:(i+1)*part])
				}
			}()
			answer, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			status, text, took = answer.StatusCode, string(whole), time.Since(begin)
			_ = client.Close()
			_ = server.Close()
			<-over
			<-written
		})
		return status, text, took
	}
	if status, text, took := send(t, []time.Duration{8e9, 8e9, 8e9, 8e9}); status != 200 || took != 32e9 {
		t.Errorf("a slow body: %d %s after %v", status, text, took)
	}
	status, text, took := send(t, []time.Duration{0, time.Hour})
	if status != 400 || !strings.Contains(text, "RequestTimeout") || !strings.Contains(text, "after 8 bytes") {
		t.Errorf("a body that pauses: %d %s", status, text)
	}
	if took < wire.Idle || took > wire.Idle+time.Second {
		t.Errorf("it was cut after %v", took)
	}
}
