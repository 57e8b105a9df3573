package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// What Godwit has made is healthy; what is wrong is told with its meaning and what mends it, and status 4.
func TestDoctor(t *testing.T) {
	onServer(t)
	provisioned(t, "orders", nil)
	out, errOut, status := call(t, "doctor")
	if status != exitDone || out != "" ||
		!strings.Contains(errOut, "2 channels were looked at: 0 problems and warnings") {
		t.Fatalf("status %d: %s%s", status, out, errOut)
	}
	if _, errOut, status := call(t, "send", "orders@dlq", "x"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	out, errOut, status = call(t, "doctor")
	if status != exitWrong || strings.Contains(errOut, "godwit:") {
		t.Errorf("status %d: %s", status, errOut)
	}
	wants(t, out, "WARNING orders@dlq: 1 dead letters wait\n", "  means: ",
		"  mend:  godwit peek orders@dlq --groups\n")
	out, _, status = call(t, "doctor", "orders@*", "-o", "json")
	var all []foundWrong
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != exitWrong || len(all) != 1 ||
		all[0].Level != "warning" {
		t.Errorf("status %d, %v: %s", status, err, out)
	}
	for args, want := range map[string]int{
		"doctor [": exitUsage, "doctor a b": exitUsage, "doctor order": exitNothing, "doctor zz*": exitNothing,
	} {
		if _, errOut, status := call(t, strings.Fields(args)...); status != want {
			t.Errorf("%s: status %d, want %d: %s", args, status, want, errOut)
		}
	}
}

// A broker on one machine has one replica, which is a warning.
func TestDoctorOnKafka(t *testing.T) {
	onBrokers(t)
	if _, errOut, status := call(t, "send", "orders", "x", "--create"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	out, errOut, status := call(t, "doctor")
	if status != exitWrong {
		t.Fatalf("status %d: %s%s", status, out, errOut)
	}
	wants(t, out, "WARNING orders: topic orders has one replica")
}
