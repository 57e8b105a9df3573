package conformance

import (
	"context"
	"flag"
	"reflect"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sts"
	"github.com/godwitmq/godwit/localaws/tagging"
	"github.com/godwitmq/godwit/localaws/wire"
)

// watchTopics records which actions and parameters of SNS and related services the cases use. Names begin with the
// service, because SQS has actions of the same name.
func watchTopics(server *localaws.Server) {
	for _, service := range []string{"sns", "sts", "tagging"} {
		server.Control(service+".*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
			covered.Lock()
			defer covered.Unlock()
			name := service + ":" + r.Action
			covered.names[name] = true
			note(name, reflect.ValueOf(r.Input).Elem())
			return localaws.Outcome{}
		})
	}
}

// This file is the last one about SNS, so this test runs after the cases.
func TestSNSEveryParameterHasACase(t *testing.T) {
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
	for _, service := range []*wire.Service{server.SNS().Wire(), tagging.New().Wire(), sts.New("").Wire()} {
		for _, a := range service.Actions {
			for _, member := range append([]string{""}, a.Members()...) {
				name := strings.TrimSuffix(service.Name+":"+a.Name+"."+member, ".")
				if !covered.names[name] {
					t.Errorf("no case uses %s", name)
				}
			}
		}
	}
}
