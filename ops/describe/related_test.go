package describe

import (
	"testing"

	"github.com/godwitmq/godwit/driver"
)

func TestRelatedLaterMessages(t *testing.T) {
	later := driver.Channel{Queue: "orders", Later: true}
	for ch, want := range map[driver.Channel]bool{
		{Queue: "orders"}: true, {Queue: "orders", Ordered: true}: true, {Queue: "orders", DeadLetter: true}: true,
		{Exchange: "orders"}: true, {Exchange: "orders", Queue: "one"}: false, {Queue: "bills"}: false,
	} {
		if related(ch, later) != want || related(later, ch) != want {
			t.Errorf("%s and %s: want %v", ch, later, want)
		}
	}
}
