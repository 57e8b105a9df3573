package kafka_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/drivertest"
	"github.com/godwitmq/godwit/kafka"
)

// A real broker (GODWIT_KAFKA=host:port) passes the same cases, in real time.
func TestDriverOnABroker(t *testing.T) {
	brokers := os.Getenv("GODWIT_KAFKA")
	if brokers == "" {
		t.Skip("GODWIT_KAFKA names no broker")
	}
	for name, o := range modes() {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "key" {
				t.Skip("not in the short form")
			}
			t.Parallel()
			h := harness(name, o, func(t testing.TB, o kafka.Options) driver.Backend {
				o.Brokers = strings.Split(brokers, ",")
				o.Namespace = "t" + strconv.FormatInt(time.Now().UnixNano(), 36) // no channel exists there yet
				b, err := kafka.Open(t.Context(), &o)
				if err != nil {
					t.Fatal(err)
				}
				return b
			})
			h.Lease = time.Second // there is no lease, so no case has to wait for its end
			if h.Can.Leases {
				h.Lease = 30 * time.Second // the brokers' default
				h.Skip["receive/wakes"] = "the first record after joining a share group takes longer than a poll of " +
					"the kit"
			}
			drivertest.Run(t, h)
		})
	}
}

// modes are the kinds of channels on Kafka.
func modes() map[string]kafka.Options {
	return map[string]kafka.Options{
		"key": {}, "partition": {
			ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderByPartition},
		}, "park": {ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}},
		"unordered": {ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone}},
		"consumer":  {ChannelOptions: kafka.ChannelOptions{GroupProtocol: kafka.GroupConsumer}}, "share": {
			ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare},
		},
	}
}

func harness(mode string, o kafka.Options, open func(t testing.TB, o kafka.Options) driver.Backend) drivertest.Harness {
	unordered := o.Ordering == kafka.OrderNone
	return drivertest.Harness{
		Can: drivertest.Abilities{
			Ordered: !unordered && o.Ordering != kafka.OrderByPartition, Delays: true, Later: true,
			Cancels: true, Expedites: true,
			Retries: unordered || o.Retries == kafka.RetryPark,
			Leases:  o.GroupProtocol == kafka.GroupShare, DeadLetters: true, Provisions: true, Exchanges: true,
			Inspects: true, LongPolls: true, Lists: true, Purges: true, Removes: true, Meters: true,
			Snapshots:  true,
			Plans:      true,
			Rewinds:    o.GroupProtocol != kafka.GroupShare,
			Transforms: o.GroupProtocol != kafka.GroupShare, Large: true, KeepsBodies: true, Forwards: true,
			Peeks:   true,
			Follows: true,
			Orphans: true, Members: true, Access: true, Replicates: true,
		},
		Open: func(t testing.TB) driver.Backend {
			o := o
			o.Store = &bodies{}
			return open(t, o)
		},
		Skip: skips(mode),
	}
}

// skips are the cases that apply only to queues.
func skips(mode string) map[string]string {
	all := map[string]string{
		"order/duplicate":   "a log keeps every record; handlers remove duplicates",
		"large/duplicate":   "a log keeps every record; handlers remove duplicates",
		"send/badheader":    "any bytes travel as the value of a header",
		"exchange/kind":     "a topic has no kind: any group may read it, and so it is a queue and an exchange",
		"snapshot/exchange": "a queue of an exchange is a group, which its consumer makes again",
		"exchange/refilter": "members of one group share its partitions, also with one that does not poll",
	}
	if mode == "share" {
		all["lease/extend"] = "a lock is renewed by its own length, not by more"
		all["lease/superseded"] = "a released record goes to any member, even one that does not receive"
		all["lease/finished"] = all["lease/superseded"]
		all["inspect/depth"] = "brokers do not report records in flight"
	}
	return all
}
