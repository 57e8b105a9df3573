package chart_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
)

func TestFlow(t *testing.T) {
	golden(t, "flow.html", []drawn{
		{"busy", chart.Flow{
			Label: "orders, the last five minutes", Window: 5 * time.Minute,
			Sent: 42, Started: 40.5, Done: 36, Retried: 4.1, Rejected: 0.4,
			Waiting: 12_400, Running: 64, Delayed: 310, Dead: 118, DeadHref: "/channels/orders/dead",
		}},
		{"idle", chart.Flow{Label: "orders, the last five minutes", Window: 5 * time.Minute}},
		{"nothing is known but the depth", chart.Flow{
			Label: "orders", Sent: unknown, Started: unknown, Done: unknown, Retried: unknown, Rejected: unknown,
			Waiting: 12, Running: 3, Delayed: unknown, Dead: unknown,
		}},
	})
}

func TestMap(t *testing.T) {
	golden(t, "map.html", []drawn{
		{"two exchanges", small()},
		{"none", chart.Map{Label: "map"}},
	})
}

func small() chart.Map {
	return chart.Map{
		Label: "the map", Nodes: []chart.Node{
			{ID: "w", Kind: chart.Exchange, Label: "wishlist_events", Href: "/exchanges/wishlist_events"},
			{ID: "p", Kind: chart.Exchange, Label: "payments"},
			{ID: "audit", Kind: chart.Queue, Label: "wishlist_events.audit_log", Detail: "12.4k", Class: "c-warn"},
			{ID: "mail", Kind: chart.Queue, Label: "wishlist_events.mails", Detail: "3"},
			{ID: "stock", Kind: chart.Queue, Label: "wishlist_events.stock", Detail: "0"},
			{ID: "book", Kind: chart.Queue, Label: "payments.channel_of_a_long_name.books", Detail: "unknown"},
			{ID: "orders", Kind: chart.Queue, Label: "orders", Detail: "7"},
			{ID: "c1", Kind: chart.Consumer, Label: "auditor", Detail: "4 workers"},
			{ID: "c2", Kind: chart.Consumer, Label: "mailer"},
			{ID: "c3", Kind: chart.Consumer, Label: "shop"},
			{ID: "d1", Kind: chart.DeadLetters, Label: "dead letters", Detail: "118", Class: "c-bad", Href: "/dead"},
			{ID: "d2", Kind: chart.DeadLetters, Label: "dead letters", Detail: "0"},
		},
		Links: []chart.Link{
			{From: "w", To: "audit", Rate: 42},
			{From: "w", To: "mail", Rate: 3.2, Filter: `type = "gift"`},
			{From: "w", To: "stock", Filter: `type = "gfit" and country in ("NL", "BE")`, Blocked: true},
			{From: "p", To: "book", Rate: unknown},
			{From: "audit", To: "c1", Rate: 38},
			{From: "audit", To: "d1", Rate: 0.3},
			{From: "mail", To: "c2", Rate: 3.1},
			{From: "mail", To: "d2"},
			{From: "orders", To: "c3", Rate: 11},
			{From: "stock", To: "c3"},
			{From: "book", To: "nobody", Rate: 4},
		},
	}
}

// many returns a map of n queues, with an exchange for each ten, and a consumer and dead letters for each.
func many(n int) (m chart.Map) {
	m.Label = "the map"
	for i := range n {
		id, exchange := strconv.Itoa(i), "e"+strconv.Itoa(i/10)
		if i%10 == 0 {
			m.Nodes = append(m.Nodes, chart.Node{ID: exchange, Kind: chart.Exchange, Label: "exchange " + exchange})
		}
		m.Nodes = append(m.Nodes,
			chart.Node{ID: id, Kind: chart.Queue, Label: "queue " + id, Detail: "12", Href: "/channels/" + id},
			chart.Node{ID: "c" + id, Kind: chart.Consumer, Label: "consumer " + id},
			chart.Node{ID: "d" + id, Kind: chart.DeadLetters, Label: "dead letters", Href: "/dead/" + id})
		m.Links = append(m.Links,
			chart.Link{From: exchange, To: id, Rate: float64(i), Filter: "type = " + id},
			chart.Link{From: id, To: "c" + id, Rate: float64(i)}, chart.Link{From: id, To: "d" + id})
	}
	return m
}

// No two boxes of a map meet, and a map of 200 boxes is a part of a page.
func TestBoxesDoNotMeet(t *testing.T) {
	m := many(65)
	crossed := small()
	crossed.Links = append(crossed.Links,
		chart.Link{From: "p", To: "audit"}, chart.Link{From: "d1", To: "audit", Rate: 2},
		chart.Link{From: "w", To: "w", Rate: 1}, chart.Link{From: "orders", To: "c1"}, chart.Link{From: "w", To: "c2"})
	for name, m := range map[string]chart.Map{"200 boxes": m, "crossed": crossed, "no links": {Nodes: m.Nodes}} {
		svg := string(m.SVG())
		check(t, name, svg)
		if len(svg) > 110_000 {
			t.Errorf("%s: %d bytes", name, len(svg))
		}
		seen := map[string][]float64{} // the y of the boxes of each x
		for part := range strings.SplitSeq(svg, `<rect class="c-box`) {
			attribute := func(name string) string {
				_, rest, _ := strings.Cut(part, " "+name+`="`)
				value, _, _ := strings.Cut(rest, `"`)
				return value
			}
			if strings.HasPrefix(part, "<svg") {
				continue
			}
			var x, y float64
			if tag, _, _ := strings.Cut(part, ">"); strings.Contains(tag, ` x="`) {
				if _, err := fmt.Sscan(attribute("x"), &x); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := fmt.Sscan(attribute("y"), &y); err != nil {
				t.Fatal(err)
			}
			at := strconv.Itoa(int(x))
			for _, other := range seen[at] {
				if y-other < 24 && other-y < 24 {
					t.Errorf("%s: two boxes at %s, %v and %v", name, at, y, other)
				}
			}
			seen[at] = append(seen[at], y)
		}
		n := 0
		for _, column := range seen {
			n += len(column)
		}
		if len(seen) != 3 || n != len(m.Nodes) {
			t.Errorf("%s: %d boxes in %d columns, want %d in 3", name, n, len(seen), len(m.Nodes))
		}
	}
}
