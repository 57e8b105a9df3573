package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/snssqs"
)

func TestMappings(t *testing.T) {
	b := &backendFlags{maps: []string{
		"orders=Legacy", "orders@dlq=arn:aws:sqs:eu-west-1:123456789012:Dead", "wishes.*=Wishes", "wishes.mine=https://q/a=b",
	}}
	got, err := b.names()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]snssqs.Resource{
		"orders":      {Queue: "Legacy", DeadLetters: "arn:aws:sqs:eu-west-1:123456789012:Dead"},
		"wishes.*":    {Topic: "Wishes"},
		"wishes.mine": {Queue: "https://q/a=b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for bad, part := range map[string]string{
		"orders": "CHANNEL=RESOURCE", "=x": "CHANNEL=RESOURCE", "orders=": "CHANNEL=RESOURCE", "@dlq=x": "CHANNEL=RESOURCE",
		"a=1 a=2": "two resources", "a@dlq=1 a@dlq=2": "two resources",
	} {
		b := &backendFlags{maps: strings.Fields(bad)}
		if _, err := b.names(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if names, err := new(backendFlags).names(); names != nil || err != nil {
		t.Errorf("without the flag: %v, %v", names, err)
	}
}
