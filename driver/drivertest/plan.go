package drivertest

import (
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func planCases() []testCase {
	plans := need("Operations.Plan and a driver.Provisioner",
		func(h *Harness) bool { return h.Can.Plans && h.Can.Provisions })
	return []testCase{{
		name:  "plan/empty",
		shows: "a plan of what was declared is empty, names exactly what changes, and changes nothing itself",
		run:   planEmpty,
		needs: plans,
	}, {
		name:  "plan/exchange",
		shows: "a plan of an exchange and its queues is empty when they are provisioned in any order",
		run:   planExchange,
		needs: need("Operations.Plan, a driver.Provisioner and exchanges",
			func(h *Harness) bool { return h.Can.Plans && h.Can.Provisions && h.Can.Exchanges }),
	}, {
		name:  "plan/tags",
		shows: "a tag that was set is in the catalog, and a consumer leaves what a topology has declared",
		run:   planTags,
		needs: need("Operations.Tag, Operations.Plan, Operations.Catalog and a driver.Provisioner",
			func(h *Harness) bool { return h.Can.Tags && h.Can.Plans && h.Can.Lists && h.Can.Provisions }),
	}}
}

// planned returns the kinds, resources and attributes of a plan.
func planned(k *kit, specs ...driver.ChannelSpec) (all []string) {
	k.Helper()
	differ, err := k.do.Plan(k.ctx, specs)
	for try := 0; err != nil && driver.ClassOf(err).Passing() && try < 10; try++ {
		time.Sleep(time.Second)
		differ, err = k.do.Plan(k.ctx, specs)
	}
	if err != nil {
		k.Fatalf("plan: %v", err)
	}
	for _, d := range differ {
		all = append(all, d.Kind.String()+" "+d.Resource+" "+d.Attribute)
	}
	return all
}

func declared(k *kit, ch driver.Channel) driver.ChannelSpec {
	s := k.spec(ch)
	s.Mode, s.Retention = driver.Declare, 2*time.Hour
	return s
}

func planEmpty(k *kit) {
	s := declared(k, driver.Channel{Queue: "planned"})
	missing := planned(k, s)
	if len(missing) < 2 || slices.ContainsFunc(missing, func(d string) bool { return d[:6] != "create" }) {
		k.Errorf("the plan of what does not exist: %v", missing)
	}
	if again := planned(k, s); !slices.Equal(again, missing) {
		k.Errorf("a plan changes something: %v, and before %v", again, missing)
	}
	k.ensure(s)
	if left := planned(k, s); len(left) > 0 {
		k.Errorf("after it was provisioned: %v", left)
	}
	if k.do.Specs != nil {
		read, err := k.do.Specs(k.ctx, []driver.Channel{s.Channel})
		if err != nil || len(read) != 1 || read[0].Retention != s.Retention {
			k.Fatalf("the specification of what exists is %+v, %v", read, err)
		}
		if left := planned(k, read...); len(left) > 0 {
			k.Errorf("the specification of what exists differs from it: %v", left)
		}
	}
	if k.do.Wanted != nil {
		all, err := k.do.Wanted([]driver.ChannelSpec{s}, func(_, name string) string { return name })
		if n := len(slices.DeleteFunc(missing, inStore)); err != nil || len(all) != n {
			k.Errorf("%d resources are wanted, and %d were created: %+v, %v", len(all), n, all, err)
		}
	}
	for _, keep := range []time.Duration{3 * time.Hour, time.Hour} {
		s.Retention = keep
		differ, err := k.do.Plan(k.ctx, []driver.ChannelSpec{s})
		if err != nil || len(differ) != 1 || differ[0].Kind != driver.DiffersValue || differ[0].Channel != s.Channel ||
			(differ[0].Risk != "") != (keep == time.Hour) {
			k.Errorf("the retention changes to %v: %+v, %v", keep, differ, err)
		}
		k.ensure(s)
		if left := planned(k, s); len(left) > 0 {
			k.Errorf("after the retention was changed to %v: %v", keep, left)
		}
	}
}

// inStore reports whether a difference is in the backend's store.
func inStore(difference string) bool { return strings.Contains(difference, "bucket") }

func planExchange(k *kit) {
	whole := driver.ChannelSpec{Channel: driver.Channel{Exchange: "planned"}, Owner: true, Mode: driver.Declare}
	one, two := declared(k, driver.Channel{Exchange: "planned", Queue: "one"}),
		declared(k, driver.Channel{Exchange: "planned", Queue: "two"})
	two.Filter = driver.Filter{Prefix: []string{"A."}}
	for _, s := range []driver.ChannelSpec{one, whole, two} {
		k.ensure(s)
	}
	if left := planned(k, whole, one, two); len(left) > 0 {
		k.Errorf("after they were provisioned: %v", left)
	}
}

func planTags(k *kit) {
	s := declared(k, driver.Channel{Queue: "tagged"})
	k.ensure(s)
	if err := k.do.Tag(k.ctx, s.Channel, map[string]string{driver.TagTopology: "shop"}); err != nil {
		k.Fatal(err)
	}
	all, err := k.do.Catalog(k.ctx)
	if err != nil || !slices.ContainsFunc(all, func(c driver.ChannelInfo) bool {
		return c.Channel == s.Channel && c.Tags[driver.TagTopology] == "shop"
	}) {
		k.Errorf("the catalog has %+v, %v", all, err)
	}
	consumer := s
	consumer.Mode, consumer.Delay = driver.Auto, time.Minute
	k.ensure(consumer)
	s.Tags = map[string]string{driver.TagTopology: "shop"}
	if left := planned(k, s); len(left) > 1 { // its dead letters do not have the tag
		k.Errorf("after a consumer with other options: %v", left)
	}
	if err := k.do.Tag(k.ctx, driver.Channel{Queue: "none"}, s.Tags); driver.ClassOf(err) != driver.NotFound {
		k.Errorf("tag what does not exist: %v", err)
	}
}
