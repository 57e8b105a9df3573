package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// An order that is posted twice is handled once, health and metrics answer, and a stop ends without an error.
func TestService(t *testing.T) {
	public, admin := listen(t), listen(t)
	ctx, stop := context.WithCancel(t.Context())
	handled, ended := make(chan string, 10), make(chan error, 1)
	go func() {
		ended <- run(ctx, public, admin, func(order, body string) { handled <- order + " " + body })
	}()
	for _, order := range []string{"17", "17", "18"} {
		answer, err := http.Post("http://"+public.Addr().String()+"/orders/"+order, "text/plain", strings.NewReader("a kite"))
		if err != nil || answer.StatusCode != http.StatusAccepted {
			t.Fatalf("%v, %v", answer, err)
		}
	}
	got := map[string]bool{<-handled: true, <-handled: true}
	if !got["17 a kite"] || !got["18 a kite"] {
		t.Errorf("handled %v", got)
	}
	for path, want := range map[string]string{"/readyz": "", "/metrics": "messaging_client_sent_messages_total"} {
		answer, err := http.Get("http://" + admin.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s: %s", path, answer.Status, body)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(handled) > 0 {
		t.Errorf("%s was handled twice", <-handled)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
