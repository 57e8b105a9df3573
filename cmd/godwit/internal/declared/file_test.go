package declared_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/cmd/godwit/internal/declared"
	"github.com/godwitmq/godwit/topology"
)

const text = `
namespace: prod
payloads: {bucket: acme, prefix: big/}
kafka: {replication: 3, partitions: 6, tiers: [1m]}
exchanges:
  wishes: {topic: legacy-wishes, kafka: {partitions: 12}}
channels:
  orders: {queue: legacy, dead_letters: legacy-dead, kafka: {retries: park, ordering: key}}
  wishes.mobile: {kafka: {ordering: none}}
`

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "godwit.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A file says where the bodies of large messages are.
func TestStore(t *testing.T) {
	f, err := declared.Read(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if s, there := f.Store(); !there || s.Bucket != "acme" || s.Prefix != "big/" {
		t.Errorf("the store: %+v", s)
	}
}

// A written plan is read with its declaration. A plan of a later version, and another file, are refused.
func TestPlans(t *testing.T) {
	f, err := declared.Read(write(t, text))
	if err != nil || f.Planned != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(t.TempDir(), "plan.json")
	c := &topology.Changes{Topology: "default", Steps: []topology.Step{{Kind: topology.StepCreate, Channel: "orders"}}}
	if err := f.WritePlan(plan, c); err != nil {
		t.Fatal(err)
	}
	again, err := declared.Read(plan)
	if err != nil || !again.Planned.Equal(c) || again.Spec.Namespace != "prod" {
		t.Errorf("%+v, %v", again, err)
	}
	later := write(t, `{"godwit_plan": 2, "text": ""}`)
	if _, err := declared.Read(later); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("a later version: %v", err)
	}
	if _, err := declared.Read(write(t, `{"channels": {"orders": {}}}`)); err != nil {
		t.Errorf("a declaration in JSON: %v", err)
	}
	if _, err := declared.Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that does not exist is read")
	}
}
