package drivertest

import (
	"slices"

	"github.com/godwitmq/godwit/driver"
)

func catalogCases() []testCase {
	return []testCase{{
		name:  "catalog/channels",
		shows: "the catalog lists queues, exchanges and dead letters that were provisioned, once each",
		run:   catalogChannels,
		needs: need("Operations.Catalog and a driver.Provisioner", func(h *Harness) bool {
			return h.Can.Lists && h.Can.Provisions && h.Can.DeadLetters && h.Can.Exchanges
		}),
	}, {
		name:  "catalog/empty",
		shows: "a look at a channel that does not exist does not create it",
		run:   catalogEmpty,
		needs: need("Operations.Catalog and Operations.Inspect", func(h *Harness) bool {
			return h.Can.Lists && h.Can.Inspects
		}),
	}}
}

// listed are the names of the listed channels whose names are among wanted.
func (k *kit) listed(wanted ...string) (names []string) {
	k.Helper()
	all, err := k.do.Catalog(k.ctx)
	if err != nil {
		k.Fatal(err)
	}
	for _, c := range all {
		if c.Address == "" {
			k.Errorf("%v has no address", c.Channel)
		}
		if slices.Contains(wanted, c.Channel.String()) {
			names = append(names, c.Channel.String())
		}
	}
	return names
}

func catalogChannels(k *kit) {
	own, many := driver.Channel{Queue: "listed"}, driver.Channel{Exchange: "listing", Queue: "one"}
	for _, ch := range []driver.Channel{own, many} {
		k.open(k.spec(ch), driver.Filter{})
	}
	want := []string{"listed", "listed@dlq", "listing.*", "listing.one", "listing.one@dlq"}
	if got := k.listed(want...); !slices.Equal(got, want) {
		k.Errorf("listed %v, want %v", got, want)
	}
}

func catalogEmpty(k *kit) {
	ch := driver.Channel{Queue: "unseen"}
	if _, err := k.do.Inspect(k.ctx, ch); driver.ClassOf(err) != driver.NotFound || err == nil {
		k.Errorf("inspect a channel that does not exist: %v, want it of class %s", err, driver.NotFound)
	}
	if got := k.listed("unseen", "unseen@dlq"); len(got) > 0 {
		k.Errorf("%v was created by a look", got)
	}
}
