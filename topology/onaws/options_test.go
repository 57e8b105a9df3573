package onaws_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/snssqs"
	"github.com/godwitmq/godwit/topology"
	"github.com/godwitmq/godwit/topology/onaws"
)

// A declaration says the namespace, and which existing resources its channels are.
func TestOptions(t *testing.T) {
	o := onaws.Options(&topology.Spec{
		Namespace: "prod", Exchanges: map[string]topology.Exchange{"wishes": {Topic: "legacy-wishes"}, "news": {}},
		Channels: map[string]topology.Channel{
			"orders": {Queue: "legacy", DeadLetters: "legacy-dead"}, "invoices": {}, "wishes.mobile": {},
		},
	})
	if diff := cmp.Diff(map[string]snssqs.Resource{
		"orders": {Queue: "legacy", DeadLetters: "legacy-dead"}, "wishes.*": {Topic: "legacy-wishes"},
	}, o.Names); diff != "" || o.Namespace != "prod" {
		t.Errorf("of namespace %q (-want +got):\n%s", o.Namespace, diff)
	}
}
