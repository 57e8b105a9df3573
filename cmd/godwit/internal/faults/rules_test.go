package faults

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// The first rule that means a call applies, latency and failure together; the same seed repeats the choices.
func TestRules(t *testing.T) {
	rules := func() *Rules {
		f, err := New([]string{"sqs.SendMessage=10ms-20ms", "sqs.*=5ms", "sqs.SendMessage=1h"},
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
