package topology_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/topology"
)

// What was written is read again.
func TestFormat(t *testing.T) {
	same := func(s *topology.Spec) {
		t.Helper()
		text := topology.Format(s)
		again, err := topology.Read("godwit.yaml", text)
		diff := cmp.Diff(s, again, cmpopts.EquateEmpty())
		if err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s\n%s", err, diff, text)
		}
	}
	for seed := range uint64(200) {
		same(random(rand.New(rand.NewPCG(seed, 4))))
	}
	s := shop(t)
	s.Defaults = topology.Channel{}
	same(s)
	golden(t, "testdata/shop.formatted.yaml", string(topology.Format(s)))
	tags := map[string]string{"a": "0x1: @"}
	same(&topology.Spec{
		Owner: "no", Namespace: "1", Channels: map[string]topology.Channel{"on": {Tags: tags}},
	})
}

// The plan of an imported declaration is empty. If the declaration gets another name, the plan changes only the tag.
func TestImport(t *testing.T) {
	for seed := range uint64(fullrun.Pick(15, 500)) {
		inWorld(t, func(w *world) {
			s := random(rand.New(rand.NewPCG(seed, 5)))
			s.Namespace = "prod"
			w.apply(s, nil)
			found, err := topology.Import(w.Context(), w.b, "random", "prod")
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			text := topology.Format(found)
			read, err := topology.Read("imported.yaml", text)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			w.planIs(fmt.Sprintf("seed %d, imported", seed), read)
			read.Name = "other"
			for _, step := range w.plan(read).Steps {
				if step.Attribute != "tag topology" {
					t.Errorf("seed %d: with another name: %+v", seed, step)
				}
			}
		})
		if t.Failed() {
			return
		}
	}
}
