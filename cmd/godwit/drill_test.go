package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/fullrun"
)

// brokenWorker handles most messages, and rejects three kinds of them, with texts that differ in numbers.
const brokenWorker = `#!/bin/sh
read -r hello
echo '{"godwit":1,"ready":true}'
while read -r line; do
	request=${line#*'"request":'}
	request=${request%%,*}
	number=${line#*'\"n\":'}
	number=${number%%[!0-9]*}
	fail() { echo "{\"request\":$request,\"action\":\"reject\",\"error\":\"$1\"}"; }
	case $line in
	*'\"price\":\"'*) fail "order $number: the price is no number" ;;
	*'\"city\":\"Bonn\"'*) fail "order $number: no answer of 10.0.0.7:8080 for 5003ms" ;;
	*'\"account\":null'*) fail "bill $number: unknown account" ;;
	*) echo "$number" >>"handled.$GODWIT_DRILL" && echo "{\"request\":$request,\"action\":\"done\"}" ;;
	esac
done
`

// An incident, from the first look to the last dead letter, by the command alone: 3,000 messages of two channels (600
// in the short form), and a quarter die for three causes. One cause is mended in the messages, one has passed, and
// one is mended in the worker. A requeue is killed in the middle. Every message is handled, and only those that the
// journal names may be handled twice.
func TestIncident(t *testing.T) {
	if apart(t) {
		return
	}
	server := onServer(t)
	t.Chdir(t.TempDir())
	size := fullrun.Pick(1, 5)
	worker := func(script string) {
		if err := os.WriteFile("worker", []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	worker(brokenWorker)
	orders, bills := &strings.Builder{}, &strings.Builder{}
	for n := range 400 * size {
		body := fmt.Sprintf(`{"n":%d,"price":%d}`, n, n%90)
		switch {
		case n%20 < 3: // 60, times the size
			body = fmt.Sprintf(`{"n":%d,"price":"%d"}`, n, n%90)
		case n%20 < 5: // 40
			body = fmt.Sprintf(`{"city":"Bonn","n":%d,"price":%d}`, n, n%90)
		}
		line, _ := json.Marshal(map[string]string{"body": body})
		fmt.Fprintf(orders, "%s\n", line)
	}
	for n := range 200 * size {
		body := fmt.Sprintf(`{"account":7,"n":%d}`, n)
		if n%4 == 0 { // 50
			body = fmt.Sprintf(`{"account":null,"n":%d}`, n)
		}
		line, _ := json.Marshal(map[string]string{"body": body})
		fmt.Fprintf(bills, "%s\n", line)
	}
	for channel, text := range map[string]string{"orders": orders.String(), "bills": bills.String()} {
		provisioned(t, channel, nil)
		if err := os.WriteFile(channel, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errOut, status := call(t, "send", channel, "--jsonl", channel); status != exitDone {
			t.Fatalf("status %d: %s", status, errOut)
		}
	}
	handle := func(channel string, dead int) {
		t.Setenv("GODWIT_DRILL", channel)
		runUntil(t, server, channel, dead, channel, "--worker", "./worker", "-j", "4")
	}
	handle("orders", 100*size)
	handle("bills", 50*size)

	// What is wrong?
	out, _, _ := call(t, "ls", "--problems", "--sort", "waiting", "--no-headers")
	wants(t, out, fmt.Sprint("orders@dlq  dead-letters  ", 100*size), "bills@dlq   dead-letters  ")
	groups := groupsOf(t, "orders@dlq")
	if len(groups) != 2 || groups[0].Count != 60*size || groups[1].Count != 40*size {
		t.Fatalf("%+v", groups)
	}
	if bad := groupsOf(t, "bills@dlq"); len(bad) != 1 || bad[0].Count != 50*size {
		t.Fatalf("%+v", bad)
	}

	// The first cause is mended in the messages; the run is killed on its way, and again.
	price := []string{
		"requeue", "orders@dlq", "--group", groups[0].ID, "--edit", ".price |= tonumber", "--yes",
		"--journal", "journal",
	}
	kills := 0
	for _, at := range []place{{"SendMessageBatch", 3, true}, {"DeleteMessageBatch", 2, false}, {"none", 0, false}} {
		if !runAndKill(t, server, at, price...) {
			kills++
		}
		server.Advance(20 * time.Minute) // what the killed process held can be received again
	}
	if kills != 2 {
		t.Errorf("it was killed %d times", kills)
	}
	// The second has passed, and the third is mended in the worker.
	mended := strings.NewReplacer(`*'\"city\":\"Bonn\"'*)`, `none)`, `*'\"account\":null'*)`, `none)`)
	worker(mended.Replace(brokenWorker))
	for _, args := range [][]string{{"orders@dlq", "--group", groups[1].ID}, {"bills@dlq"}} {
		if _, errOut, status := call(t, append([]string{"requeue", "--yes"}, args...)...); status != exitDone {
			t.Errorf("%s: status %d: %s", args, status, errOut)
		}
	}
	handle("orders", 0)
	handle("bills", 0)
	if out, errOut, _ := call(t, "ls", "--problems", "--no-headers"); out != "" {
		t.Errorf("there are problems: %s%s", out, errOut)
	}
	if out, errOut, status := call(t, "doctor"); status != exitDone {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
	named := len(namedBy(t, "journal"))
	for channel, n := range map[string]int{"orders": 400 * size, "bills": 200 * size} {
		text, err := os.ReadFile("handled." + channel)
		if err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for number := range strings.FieldsSeq(string(text)) {
			times[number]++
		}
		twice := 0
		for i := range n {
			switch k := times[fmt.Sprint(i)]; {
			case k == 0:
				t.Errorf("message %d of %s was not handled", i, channel)
			case k > 1:
				twice++
			}
		}
		if channel == "bills" && twice > 0 || twice > named {
			t.Errorf("%d messages of %s were handled twice, and %d are named", twice, channel, named)
		}
	}
}

// groupsOf are the causes of the dead letters of a channel, the largest first.
func groupsOf(t *testing.T, channel string) (all []group) {
	t.Helper()
	out, errOut, status := call(t, "peek", channel, "--groups", "-o", "json")
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != exitDone {
		t.Fatalf("status %d, %v: %s%s", status, err, out, errOut)
	}
	return all
}
