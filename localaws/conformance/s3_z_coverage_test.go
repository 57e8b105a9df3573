package conformance

import (
	"flag"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws"
)

// This file is the last one about S3, so this test runs after the cases.
func TestS3EveryParameterHasACase(t *testing.T) {
	if *endpoint != "" || flag.Lookup("test.run").Value.String() != "" {
		t.Skip("only some cases ran")
	}
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	covered.Lock()
	defer covered.Unlock()
	for _, a := range server.S3().Wire().Actions {
		for _, member := range append([]string{""}, a.Members()...) {
			if name := strings.TrimSuffix("s3:"+a.Name+"."+member, "."); !covered.names[name] {
				t.Errorf("no case uses %s", name)
			}
		}
	}
}
