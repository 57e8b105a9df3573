package sns_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/godwitmq/godwit/localaws/sns"
)

func TestPlant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		seed := sns.Seed{
			Name: "t", Attributes: map[string]string{"DisplayName": "d"}, Tags: map[string]string{"k": "v"},
			Subscriptions: []sns.SeedSubscription{{
				Queue:      "q",
				Attributes: map[string]string{"RawMessageDelivery": "true"},
			}, {Queue: queue("r")}, {Endpoint: endpoint}},
		}
		if err := f.service.Plant(f.ctx, seed, "http://aws"); err != nil {
			t.Fatal(err)
		}
		topics := f.service.Topics()
		if len(topics) != 1 || topics[0].Tags["k"] != "v" || topics[0].Attributes["DisplayName"] != "d" ||
			len(topics[0].Subscriptions) != 3 {
			t.Fatalf("got %+v", topics)
		}
		if e := topics[0].Subscriptions[0]; e.Endpoint != queue("q") || e.Attributes["RawMessageDelivery"] != "true" {
			t.Errorf("got %+v", e)
		}
		synctest.Wait()
		if subscribe := f.document(0)["SubscribeURL"]; !strings.HasPrefix(subscribe, "http://aws/?") {
			t.Errorf("SubscribeURL %s", subscribe)
		}
		for want, seed := range map[string]sns.Seed{
			`topic "a b": InvalidParameter: Invalid parameter: Topic Name`: {Name: "a b"},
			`topic "u", subscriptions[0]: exactly one of queue and endpoint must be set, not "" and ""`: {
				Name:          "u",
				Subscriptions: []sns.SeedSubscription{{}},
			},
			`topic "u", subscriptions[0]: endpoint "x" is not an http or https URL, and has no protocol`: {
				Name:          "u",
				Subscriptions: []sns.SeedSubscription{{Endpoint: "x"}},
			},
			`topic "u", subscriptions[1]: queue "absent" does not exist`: {
				Name:          "u",
				Subscriptions: []sns.SeedSubscription{{Queue: "q"}, {Queue: "absent"}},
			},
		} {
			if err := f.service.Plant(f.ctx, seed, "http://aws"); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}
