package worker_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/worker"
)

// The status of the answer decides.
func TestPost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status, after, _ := strings.Cut(string(body), " ")
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		if status == "cut" {
			panic(http.ErrAbortHandler)
		}
		code, _ := strconv.Atoi(status)
		if code/100 == 3 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(code)
		if code >= 400 {
			_, _ = io.WriteString(w, "no "+status)
		}
	}))
	defer server.Close()
	p := &worker.Post{URL: server.URL + "/mail", Backoff: constant, Client: worker.NewClient(2)}
	for _, c := range []struct{ body, want string }{
		{"200", "done"},
		{"204", "done"},
		{"429 3", "retry after 3s"},
		{"503", "retry after 7s"},
		{"503 Thu, 01 Jan 1970 00:00:00 GMT", "retry after 0s"},
		{"429 99999999999", "retry after 8760h0m0s"},
		{"429 soon", "retry after 7s"},
		{"404", "reject: 404 Not Found no 404"},
		{"408", "retry: 408 Request Timeout no 408"},
		{"301", "retry: 301 Moved Permanently"}, // a redirect may lose the body
		{"500", "retry: 500 Internal Server Error no 500"},
		{"cut", "EOF"},
	} {
		if got := verdict(t.Context(), p.Handle, message(c.body)); got != c.want && !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
	server.Close()
	if got := verdict(t.Context(), p.Handle, message("200")); !strings.HasPrefix(got, "retry: ") {
		t.Errorf("without a server: %s", got)
	}
}

// Headers describe the message, whatever is in it, and a secret signs it.
func TestPostHeaders(t *testing.T) {
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	defer server.Close()
	p := &worker.Post{URL: server.URL, Backoff: constant, Client: worker.NewClient(1), Secret: []byte("key")}
	d := &godwit.Delivery{
		ID: "m1", Channel: "mail.eu", Body: []byte("hello"), Attempt: 2, OrderKey: "a\r\nB: ü", RoutingKey: "A.B",
		ContentType: "text/plain\r\nEvil: 1", Type: "order", Version: 3, SentAt: time.Unix(1, 0),
		Headers: godwit.Headers{}.With("name", "ü\U0001F426"),
	}
	if got := verdict(t.Context(), p.Handle, d); got != "done" {
		t.Fatal(got)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "X-Godwit-Id": "m1", "X-Godwit-Channel": "mail.eu",
		"X-Godwit-Attempt": "2", "X-Godwit-Order-Key": "a%0D%0AB:%20%C3%BC", "X-Godwit-Routing-Key": "A.B",
		"X-Godwit-Type": "order", "X-Godwit-Version": "3", "X-Godwit-Sent": "1970-01-01T00:00:01Z",
		"X-Godwit-Headers": `[{"name":"name","value":"\u00fc\ud83d\udc26"}]`, "Evil": "",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Header.Get(name), want)
		}
	}
	at, sum, _ := strings.Cut(strings.TrimPrefix(got.Header.Get("X-Godwit-Signature"), "t="), ",v1=")
	if sum != worker.Sign([]byte("key"), at, "m1", []byte("hello")) || at == "" {
		t.Errorf("signature %s", got.Header.Get("X-Godwit-Signature"))
	}
	for _, wrong := range []string{"", "foo", "ftp://host/", "http://"} {
		if worker.CheckURL(wrong) == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
