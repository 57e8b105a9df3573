package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Brokers answer a token that they refuse with a challenge. The error has their answer, and denies the access.
func TestRefusedToken(t *testing.T) {
	m, err := (&SASL{
		Mechanism: "OAUTHBEARER", Token: func(context.Context) (string, error) { return "token", nil },
	}).mechanism()
	if err != nil {
		t.Fatal(err)
	}
	for answer, refused := range map[string]bool{"": false, `{"status":"invalid_token"}`: true} {
		s, first, err := m.Authenticate(t.Context(), "broker:9092")
		if err != nil || !strings.Contains(string(first), "token") {
			t.Fatalf("the first message is %q, error %v", first, err)
		}
		done, _, err := s.Challenge([]byte(answer))
		if done == refused || errors.Is(err, kerr.SaslAuthenticationFailed) != refused {
			t.Errorf("after the answer %q: done %v, error %v", answer, done, err)
		}
		if refused && !strings.Contains(err.Error(), "invalid_token") {
			t.Errorf("the error %q lacks the broker's answer", err)
		}
	}
}

// A token that cannot be had is an error, too.
func TestNoToken(t *testing.T) {
	broken := errors.New("no token today")
	m, err := (&SASL{
		Mechanism: "OAUTHBEARER", Token: func(context.Context) (string, error) { return "", broken },
	}).mechanism()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Authenticate(t.Context(), "broker:9092"); !errors.Is(err, broken) {
		t.Errorf("got the error %v, want %v", err, broken)
	}
}
