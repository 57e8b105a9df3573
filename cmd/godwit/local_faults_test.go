package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// The first rule that means a call applies, latency and failure together; the same seed repeats the choices.
func TestLocalFaults(t *testing.T) {
	rules := func() *localFaults {
		f, err := newLocalFaults([]string{"sqs.SendMessage=10ms-20ms", "sqs.*=5ms", "sqs.SendMessage=1h"},
			[]string{"sqs.SendMessage=25%", "sns.*=100%", "*=0%"}, 7)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	call := func(service, action string) *localaws.Request {
		return &localaws.Request{Call: wire.Call{Service: service, Action: action}}
	}
	f, again, failed := rules(), rules(), 0
	for range 1000 {
		o := f.decide(call("sqs", "SendMessage"))
		if o.Delay < 10*time.Millisecond || o.Delay > 20*time.Millisecond {
			t.Fatalf("a delay of %v", o.Delay)
		}
		if o.Err != nil {
			failed++
		}
		if same := again.decide(call("sqs", "SendMessage")); same.Delay != o.Delay {
			t.Fatalf("the same seed gave a delay of %v, and then %v", o.Delay, same.Delay)
		}
	}
	if failed < 200 || failed > 300 {
		t.Errorf("%d of 1000 calls failed, want about 250", failed)
	}
	if o := f.decide(call("sqs", "ReceiveMessage")); o.Delay != 5*time.Millisecond || o.Err != nil {
		t.Errorf("ReceiveMessage: %+v", o)
	}
	if o := f.decide(call("sns", "Publish")); o.Delay != 0 || o.Err == nil || o.Err.Status != 503 {
		t.Errorf("Publish: %+v", o)
	}
	if o := f.decide(call("s3", "GetObject")); o.Delay != 0 || o.Err != nil {
		t.Errorf("GetObject: %+v", o)
	}
}

// Wrong rules are refused before anything is served.
func TestLocalFaultsWrongRules(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--latency", "50ms", "not of the form ACTION=VALUE"},
		{"--latency", "SendMessage=50ms", "not of the form ACTION=VALUE"},
		{"--latency", "sqs.*=50", "neither a duration"},
		{"--latency", "*=20ms-10ms", "neither a duration"},
		{"--latency", "*=-1ms", "neither a duration"},
		{"--error-rate", "*=5", "not a share"},
		{"--error-rate", "*=101%", "not a share"},
		{"--error-rate", "*=NaN%", "not a share"},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), []string{"local", "--addr", "127.0.0.1:0", c.flag, c.value}, &out, &errOut)
		if status != exitUsage || !strings.Contains(errOut.String(), c.want) || out.Len() > 0 {
			t.Errorf("%s %s: status %d, errors %q; want %q", c.flag, c.value, status, &errOut, c.want)
		}
	}
}
