package conformance

import (
	"testing"

	"github.com/godwitmq/godwit/localaws"
)

// This file is the last one about CloudWatch, so this test runs after the cases.
func TestCloudWatchEveryParameterHasACase(t *testing.T) {
	if onlySome() {
		t.Skip("only some cases ran")
	}
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, name := range uncovered(server) {
		t.Errorf("no case uses %s", name)
	}
}
