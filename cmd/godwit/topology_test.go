package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/topology"
)

// declaration is a file of declared channels.
func declaration(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "godwit.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const shopFile = "name: shop\nnamespace: prod\nowner: team-shop\nexchanges: {wishes: {}}\n" +
	"channels:\n  orders: {retention: 4d}\n  wishes.mobile: {filter: {prefix: [M.]}}\n"

// A declaration is planned, applied by a written plan, changed, adopted and destroyed, with the statuses for scripts.
func TestTopology(t *testing.T) {
	onServer(t)
	file := declaration(t, shopFile)
	call := func(want int, has string, args ...string) string {
		t.Helper()
		var out, errOut bytes.Buffer
		got := run(t.Context(), args, &out, &errOut)
		if text := out.String() + errOut.String(); got != want || !strings.Contains(text, has) {
			t.Fatalf("%q: status %d, want %d and %q\n%s", args, got, want, has, text)
		}
		return out.String()
	}
	plan := filepath.Join(t.TempDir(), "plan.json")
	call(exitWrong, "6 create, 0 change; 0 exchanges and channels are as declared", "plan", file, "--out", plan)
	call(exitDone, "nothing was changed: 6 create", "apply", plan)
	call(exitDone, "done: 6 create", "apply", plan, "--yes")
	call(exitDone, "0 create, 0 change; 3 exchanges and channels are as declared", "plan", file)
	call(exitFailed, "has changed since the plan was made", "apply", plan)
	call(exitFailed, "has changed since the plan was made", "apply", plan, "--yes")

	shorter := declaration(t, strings.ReplaceAll(shopFile, "4d", "2d"))
	call(exitWrong, "risk: orders queue MessageRetentionPeriod: messages that are older than 172800 seconds", "plan",
		shorter)
	var steps []topology.Step
	text := call(exitWrong, "", "plan", shorter, "-o", "json")
	if err := json.Unmarshal([]byte(text), &steps); err != nil || len(steps) != 1 || steps[0].From != "345600" {
		t.Errorf("in JSON: %+v, %v", steps, err)
	}
	call(exitUsage, "3:5: channels.orders.delay: it is 1h", "plan",
		declaration(t, "channels:\n  orders:\n    delay: 1h"))
	call(exitUsage, "name one file", "plan")

	ordered := declaration(t, strings.ReplaceAll(shopFile, "retention: 4d", "ordered: true"))
	call(exitWrong, "by hand: orders dead letters Ordered: 1. stop the producers", "plan", ordered)
	call(exitPart, "a person has to do", "apply", ordered, "--yes")

	text = call(exitDone, "team-shop", "topology", "ls", "--namespace", "prod", "-o", "json")
	var resources []map[string]any
	if err := json.Unmarshal([]byte(text), &resources); err != nil || len(resources) != 5 ||
		resources[0]["topology"] != "shop" {
		t.Errorf("%v, %v", resources, err)
	}
	text = call(exitDone, "retention: 4d", "topology", "import", "--namespace", "prod", "--name", "shop")
	imported := declaration(t, text)
	call(exitDone, "3 exchanges and channels are as declared", "plan", imported)
	for as, has := range map[string]string{
		"mermaid": "flowchart LR", "markdown": "| `orders` |", "schema": `"additionalProperties": false`,
		"iam": `"sqs:ReceiveMessage"`, "terraform": "aws_sqs_queue", "cloudformation": "AWS::SQS::Queue",
		"asyncapi": `"asyncapi": "3.0.0"`, "keda": "kind: ScaledObject",
	} {
		call(exitDone, has, "topology", "export", file, "--as", as)
	}
	call(exitDone, "arn:aws:sns:us-east-1:000000000000:prod---wishes", "topology", "export", file, "--as", "terraform",
		"--imports")
	call(exitDone, "queue: arn:aws:sqs:us-east-1:000000000000:legacy_jobs", "topology", "import", "--namespace", "prod",
		"--terraform", filepath.Join("..", "..", "topology", "testdata", "shop.tfstate"))
	call(exitUsage, "--terraform", "topology", "import", "--terraform", filepath.Join(t.TempDir(), "none"))
	call(exitUsage, "use mermaid", "topology", "export", file, "--as", "xml")
	call(exitUsage, "is for --as terraform", "topology", "export", file, "--as", "mermaid", "--imports")
	call(exitDone, "0 resources would be marked", "topology", "adopt", file)
	fewer := declaration(t, strings.ReplaceAll(shopFile, "  orders: {retention: 4d}\n", ""))
	call(exitWrong, "2 orphan", "plan", fewer)
	call(exitDone, "2 resources with 0 messages are deleted", "topology", "destroy", fewer, "--orphans", "--yes")
	call(exitDone, "3 resources with 0 messages would be deleted", "topology", "destroy", file)
	call(exitDone, "3 resources with 0 messages are deleted", "topology", "destroy", file, "--yes")
	call(exitUsage, "--prices", "topology", "ls", "--prices", filepath.Join(t.TempDir(), "none"))
	call(exitUsage, `unknown field "que"`, "topology", "ls", "--prices", declaration(t, `{"que": 1}`))
}

// On Kafka the file has the partitions, which only grow.
func TestTopologyOnKafka(t *testing.T) {
	onBrokers(t)
	text := "namespace: prod\nkafka: {partitions: 2, replication: 1}\n" +
		"channels: {orders: {kafka: {retries: park, tiers: [1m]}}}\n"
	for _, one := range []struct {
		text string
		want int
		has  string
		args []string
	}{
		{text, exitWrong, "3 create", []string{"plan"}},
		{text, exitDone, "done: 3 create", []string{"apply", "--yes"}},
		{text, exitDone, "1 exchanges and channels are as declared", []string{"plan"}},
		{strings.ReplaceAll(text, "partitions: 2", "partitions: 3"), exitDone, "2 change", []string{"apply", "--yes"}},
		{text, exitWrong, "because Kafka removes none", []string{"plan"}},
		{strings.ReplaceAll(text, "replication: 1", "replication: 9"), exitWrong, "replace", []string{"plan"}},
		{
			strings.ReplaceAll(text, "replication: 1", "replication: 9") + "exchanges: {e: {}}",
			exitUsage, ":2:24: kafka.replication: more replicas than brokers",
			[]string{"plan"},
		},
		{text, exitDone, "0 resources", []string{"topology", "destroy"}},
		{text, exitFailed, "only the resources of SNS and SQS", []string{"topology", "export", "--as", "terraform"}},
		{text, exitDone, "are deleted", []string{"topology", "destroy", "--untagged", "orders,orders@dlq", "--yes"}},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), append(one.args, declaration(t, one.text)), &out, &errOut)
		if all := out.String() + errOut.String(); status != one.want || !strings.Contains(all, one.has) {
			t.Fatalf("%q: status %d, want %d and %q\n%s", one.args, status, one.want, one.has, all)
		}
	}
	var out, errOut bytes.Buffer
	status := run(t.Context(), []string{"topology", "ls", "--namespace", "prod"}, &out, &errOut)
	if status != exitNothing || out.Len() > 0 {
		t.Errorf("topology ls: status %d\n%s%s", status, &out, &errOut)
	}
}
