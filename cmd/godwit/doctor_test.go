package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// What Godwit has made is healthy; what is wrong is told with its meaning and what mends it, and status 4.
func TestDoctor(t *testing.T) {
	onServer(t)
	provisioned(t, "orders", nil)
	out, errOut, status := call(t, "doctor")
	if status != exitDone || out != "" ||
		!strings.Contains(errOut, "2 channels were looked at as arn:aws:iam::000000000000:user/localaws (EnvConfigCredentials): 0 problems") {
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
		"doctor --yes": exitUsage, "doctor [": exitUsage, "doctor a b": exitUsage,
		"doctor order": exitNothing, "doctor zz*": exitNothing,
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
	wants(t, out, "WARNING orders: topic orders has one replica", "  mend:  kafka-reassign-partitions.sh")
}

// With three replicas, --fix requires that two of them have a message, of the brokers' default as well.
func TestDoctorFixesKafka(t *testing.T) {
	onCluster(t, 3)
	b, err := kafka.Open(t.Context(), &kafka.Options{Replication: 3})
	if err != nil {
		t.Fatal(err)
	}
	_, err = godwit.NewConsumer(t.Context(), b, "orders", nil)
	if err := errors.Join(err, b.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
	out, errOut, status := call(t, "doctor")
	if status != exitWrong {
		t.Fatalf("status %d: %s%s", status, out, errOut)
	}
	wants(t, out, "WARNING orders: topic orders has 3 replicas, and min.insync.replicas 1",
		"  mend (--fix does it):  kafka-configs.sh", "WARNING orders@dlq: topic ")
	for range 2 {
		out, errOut, _ = call(t, "doctor", "--fix")
		wants(t, out, "orders", "min.insync.replicas", "1", "2", "orders@dlq")
		wants(t, errOut, "risk: ", "2 changes would mend 2 findings")
	}
	if _, errOut, status = call(t, "doctor", "--fix", "--yes"); status != exitDone {
		t.Errorf("status %d: %s", status, errOut)
	}
	wants(t, errOut, "done: 2 changes mend 2 findings; 0 are left")
	if out, errOut, status = call(t, "doctor"); status != exitDone || out != "" {
		t.Errorf("after --fix: status %d: %s%s", status, out, errOut)
	}
}

// What is wrong is mended by --fix, and after that nothing is: dead letters that go too soon, and a missing bucket. A
// dry run changes nothing.
func TestDoctorFixes(t *testing.T) {
	onServer(t)
	provisioned(t, "orders", &godwit.ConsumerOptions{DeadLetterRetention: 24 * time.Hour})
	doctor := func(want int, args ...string) (string, string) {
		t.Helper()
		out, errOut, status := call(t, append([]string{"doctor", "--bucket", "payloads"}, args...)...)
		if status != want {
			t.Fatalf("%v: status %d, want %d: %s%s", args, status, want, out, errOut)
		}
		return out, errOut
	}
	out, errOut := doctor(exitWrong)
	wants(t, out, "PROBLEM: bucket payloads: ", "  mend (--fix does it): ",
		"PROBLEM orders: messages are kept for 14 days, and its dead letters for 24h0m0s\n", "  mend (--fix does it): ")
	wants(t, errOut, "as arn:aws:", "2 of them can be mended by --fix",
		"allowed: tag:GetResources, cloudwatch:ListMetrics")
	for range 2 {
		out, errOut = doctor(exitDone, "--fix")
		wants(t, out, "bucket", "lifecycle", "orders", "MessageRetentionPeriod", "86400", "1209600")
		wants(t, errOut, "nothing was changed: ", "add --yes to do it")
	}
	out, errOut = doctor(exitDone, "--fix", "--yes", "-o", "jsonl")
	wants(t, out, `{"resource":"bucket"`, `"attribute":"MessageRetentionPeriod","from":"86400","to":"1209600"`)
	wants(t, errOut, "mend 2 findings; 0 are left")
	if out, _ = doctor(exitDone); out != "" {
		t.Errorf("after --fix: %s", out)
	}
	_, errOut = doctor(exitDone, "--fix")
	wants(t, errOut, "--fix mends none of 0 findings")
}

// An expired token is a finding that says what to do, and the end of the examination. Other commands say what to do as
// well, and not that a permission is missing.
func TestDoctorWithAnExpiredToken(t *testing.T) {
	server := onServer(t)
	provisioned(t, "orders", nil)
	server.Control("sts.GetCallerIdentity", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Err: &wire.Error{Code: "ExpiredToken", Message: "expired", Status: 403}}
	})
	out, errOut, status := call(t, "doctor")
	if status != exitWrong {
		t.Errorf("status %d: %s", status, errOut)
	}
	wants(t, out, "PROBLEM: the service does not accept the credentials: the credentials have expired: sign in again")
	server.Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Err: &wire.Error{Code: "ExpiredToken", Message: "expired", Status: 403}}
	})
	for _, args := range []string{"ls", "describe orders", "send orders x", "peek orders", "purge orders"} {
		_, errOut, status := call(t, strings.Fields(args)...)
		if status != exitFailed || !strings.Contains(errOut, "sign in again") ||
			strings.Contains(errOut, "needs permission") {
			t.Errorf("godwit %s: status %d: %s", args, status, errOut)
		}
	}
}
